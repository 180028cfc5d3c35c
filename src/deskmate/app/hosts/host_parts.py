"""The hosts of a workspace, for the teams of one lead. Loaded only if its teams are on a server."""

from dataclasses import replace
from pathlib import Path

from deskmate.app.hosts.team_hosts import TeamHosts
from deskmate.core.hosts.host_texts import with_hosts
from deskmate.core.hosts.placement import SeenHost
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.core.team.caps import Caps
from deskmate.core.values import frozen
from deskmate.ports import Launcher
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.team_state import TeamState
from deskmate.trust.chosen_engine import engine_at


class HostParts:
    """What a lead needs to run teammates on hosts. `known`: the hosts that were there when this process started."""

    def __init__(self, place: Path, caps: Caps) -> None:
        self._place, self._caps = place, caps
        self._teams: dict[int, tuple[TeamState, TeamHosts]] = {}
        self.known: list[SeenHost] = []

    def of_team(self, team_state: TeamState) -> TeamHosts:
        """Return the hosts for one team. There is one object for each team that is open."""
        if id(team_state) not in self._teams:
            self._teams[id(team_state)] = team_state, TeamHosts(team_state, engine_at(self._place), self._caps)
        return self._teams[id(team_state)][1]

    def launcher(self, team_state: TeamState, local: Launcher) -> Launcher:
        """Return what runs the teammates of a team on hosts. `local`: runs those that no host has to run."""
        return _OnHosts(self.of_team(team_state), local)

    def told(self, parts: AgentParts) -> AgentParts:
        """Return the parts of a lead, whose model is told of the hosts if there are any."""
        return replace(parts, specs=tuple(self._told(spec) for spec in parts.specs))

    def _told(self, spec: ToolSpec) -> ToolSpec:
        there = [host for host in self.known if host.state == "up"]
        return with_hosts(spec, there) if spec.name == "Task" and there else spec


@frozen
class _OnHosts:
    hosts: TeamHosts
    local: Launcher

    async def play(self, name: str) -> None:
        """Run a teammate until it leaves."""
        await self.hosts.play(name, self.local)
