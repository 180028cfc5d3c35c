"""What one agent works with: its model, tools, workspace and prompt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from deskmate.core.agent.entries import Started
from deskmate.core.agent.view import View
from deskmate.core.agent.work_mode import is_offered
from deskmate.core.policy.permissions import PermissionRule
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.members import Joined
from deskmate.ports import Model, Tool, Workspace


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What one agent works with.

    `subagents`: makes the kit of one it sends on an errand, and its `Started`. `hires`: completes what it says of a
    teammate it wants, or raises for one that cannot be had. `teams`: opens and closes teams, for a lead. `rules`: the
    user's own, which hold beside the team's.
    """

    model: Model
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]
    workspace: Workspace
    skills: Mapping[str, Skill] = field(default_factory=dict)
    confined: bool = False
    subagents: "Furnish | None" = None
    hires: Callable[[Joined], Joined] = lambda joined: joined
    teams: "LeadTeams | None" = None
    rules: tuple[PermissionRule, ...] = ()

    def offered(self, view: View) -> tuple[ToolSpec, ...]:
        """Return the tools that the agent's model is shown: those that are of use to it as it may work in this view."""
        return tuple(spec for spec in self.specs if is_offered(view.work_mode, view.me, spec.name, view.own_tools))


class LeadTeams(Protocol):
    """The teams a lead can have: its home, and one more that it founds and closes."""

    async def found(self, name: str, description: str) -> None:
        """Found a team and go there; raise Refused where one of that name is there already."""

    async def close(self) -> str:
        """Put the team away and go home, once nobody plays a teammate of it; return where it is kept."""


Furnish: TypeAlias = Callable[[str, str, AgentType], tuple[AgentParts, Started]]
