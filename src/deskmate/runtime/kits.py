"""Kits: what one agent works with. `app` furnishes them; the agent and its calls use them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from deskmate.core.entries import Started
from deskmate.core.members import Joined
from deskmate.core.prompts import ToolSpec
from deskmate.core.roles import AgentType
from deskmate.core.skills import Skill
from deskmate.ports import Model, Tool, Workspace


@dataclass(frozen=True, slots=True)
class Kit:
    """What one agent works with.

    `subagents`: makes the kit of one it sends on an errand, and its `Started`. `hires`: completes what it says of a
    teammate it wants, or raises for one that cannot be had.
    """

    model: Model
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]
    workspace: Workspace
    skills: Mapping[str, Skill] = field(default_factory=dict)
    confined: bool = False
    subagents: "Furnish | None" = None
    hires: Callable[[Joined], Joined] = lambda joined: joined


Furnish: TypeAlias = Callable[[str, str, AgentType], tuple[Kit, Started]]
