"""The ways to run a teammate, by the name of the setting `launcher`."""

from deskmate.app.build import TeamParts
from deskmate.core.hosts.placement import HOST
from deskmate.core.values import frozen
from deskmate.ports import Launcher


def launchers_of(team_parts: TeamParts) -> dict[str, Launcher]:
    """Return what runs the teammates of a team."""
    found: dict[str, Launcher] = {"inline": team_parts, "process": _InProcesses(team_parts)}
    if team_parts.hosts is None:
        return found
    local = found[team_parts.settings.launcher]
    return {**found, HOST: team_parts.hosts.launcher(team_parts.team_state, local)}


@frozen
class _InProcesses:
    """Runs teammates in processes of their own. Few teams do, so what that needs is imported with the first."""

    team_parts: TeamParts

    async def play(self, name: str) -> None:
        """Run a teammate until it leaves."""
        from deskmate.app.teammate_process import in_processes

        await in_processes(self.team_parts).play(name)
