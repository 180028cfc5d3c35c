"""What one agent is made with: its model, tools, workspace and prompt."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from deskmate.core.agent.entries import Started
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.view import View
from deskmate.core.agent.work_mode import is_offered
from deskmate.core.policy.permissions import PermissionRule
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.roster_records import Joined
from deskmate.core.values import frozen
from deskmate.ports import MemberTree, Model, Tool, ToolContext, Workspace
from deskmate.runtime.team_state import TeamState


@frozen
class AgentParts:
    """What one agent is made with.

    `subagents`: makes the parts of a subagent, and its `Started`. `hires`: completes the description of a teammate
    that the agent wants, or raises if that teammate is not possible. `teams`: opens and closes teams, for a lead.
    `rules`: the user's own permission rules, which apply in addition to the team's. `elsewhere`: what the same lead is
    made with in another of its teams. `tree`: the tree of a member that does not work in the folder of the user.
    `checkpoint`: saves the files of the workspace before a lead acts on the message of the user in this entry. It must
    not raise.
    `profiles`: the agent types that files describe, for a lead.
    """

    model: Model
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]
    workspace: Workspace
    skills: Mapping[str, Skill] = field(default_factory=dict)
    confined: bool = False
    subagents: "MakeSubagent | None" = None
    hires: Callable[[Joined], Joined] = lambda joined: joined
    teams: "LeadTeams | None" = None
    elsewhere: "Callable[[TeamState], AgentParts] | None" = None
    rules: tuple[PermissionRule, ...] = ()
    tree: MemberTree | None = None
    checkpoint: Callable[[int], Coroutine[Any, Any, None]] | None = None
    profiles: Mapping[str, AgentProfile] = field(default_factory=dict)

    def offered(self, view: View) -> tuple[ToolSpec, ...]:
        """Return the tools to show to the model: those it can use in the work mode of this view."""
        return tuple(spec for spec in self.specs if is_offered(view.work_mode, view.me, spec.name, view.own_tools))

    def home_beside(self, team_state: TeamState) -> TeamState | None:
        """Return the first team of a lead that works in this one, if that is another one."""
        return self.teams.first if self.teams and self.teams.first is not team_state else None


@runtime_checkable
class ForeseeingTool(Protocol):
    """A tool that can tell beforehand that a call changes nothing, so that the user is not asked about it."""

    async def foresee(self, arguments: Any, context: ToolContext) -> Result | None:
        """Return the result of a call that would change nothing as of now, otherwise None.

        Raises ToolError if the call would fail. Changes nothing itself.
        """


class LeadTeams(Protocol):
    """The teams a lead can have: its first team, and one more that it creates and closes."""

    @property
    def first(self) -> TeamState:
        """The team that the lead was started in."""

    @property
    def current(self) -> TeamState:
        """The team that the lead works in now."""

    async def found(self, name: str, description: str) -> None:
        """Create a team and move there. Raises Refused if a team of that name exists."""

    async def close(self) -> str:
        """Archive the team once none of its teammates runs, and go back to the first team. Return the archive."""


MakeSubagent: TypeAlias = Callable[[str, str, AgentProfile], tuple[AgentParts, Started]]
