"""Kits: what one agent works with. `app` furnishes them; the agent and its calls use them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from deskmate.core.entries import Started
from deskmate.core.members import Joined, Member, Roster
from deskmate.core.policy import Rule
from deskmate.core.prompts import ToolSpec
from deskmate.core.roles import TOOLS, AgentType
from deskmate.core.skills import Skill
from deskmate.core.work_mode import is_offered, work_mode_of
from deskmate.ports import Model, Tool, Workspace


@dataclass(frozen=True, slots=True)
class Kit:
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
    teams: "Teams | None" = None
    rules: tuple[Rule, ...] = ()

    def offered(self, me: Member, roster: Roster, owes_plan: bool) -> tuple[ToolSpec, ...]:
        """Return the tools that the agent's model is shown: those that are of use to it as it may work now."""
        work_mode = work_mode_of(me, roster, owes_plan=owes_plan, rules=self.rules, confined=self.confined)
        own = self.tools.keys() - TOOLS.keys()
        return tuple(spec for spec in self.specs if is_offered(work_mode, me, spec.name, own))


class Teams(Protocol):
    """The teams a lead can have: its home, and one more that it founds and closes."""

    async def found(self, name: str, description: str) -> None:
        """Found a team and go there; raise Refused where one of that name is there already."""

    async def close(self) -> str:
        """Put the team away and go home, once nobody plays a teammate of it; return where it is kept."""


Furnish: TypeAlias = Callable[[str, str, AgentType], tuple[Kit, Started]]
