"""An agent type, and how one is chosen by its name.

Three types are built in. Files of the user or the project describe others.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import TOOLS, WEB_TOOLS, AgentType
from deskmate.core.values import frozen
from deskmate.errors import BadInput

_MOST_NAMED = 50


@frozen
class AgentProfile:
    """An agent type. `prompt`: what its agents are told besides their job. `tools`: their base tools, None for all.

    `skills`: the names of its skills, None for all. `model`, `mode`, `isolation`, `colour`: those of its agents, None
    for the usual ones. `file`: the file that describes it, empty if it is built in. `of_project`: whether that file is
    part of the workspace. `flaws`: what of the file is not used, and why. `hooks`: the hooks of its agents, as YAML.
    """

    name: str
    description: str = ""
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    model: str | None = None
    mode: Mode | None = None
    isolation: Isolation | None = None
    colour: str | None = None
    file: str = ""
    of_project: bool = False
    flaws: tuple[str, ...] = ()
    skills: tuple[str, ...] | None = None
    hooks: str = ""

    @property
    def reach(self) -> AgentType:
        """The built-in type whose limits apply to its agents."""
        if self.name in set(AgentType):
            return AgentType(self.name)
        # It is not known what a tool of an MCP server does.
        writes = self.tools is None or not all(_only_reads(tool) or tool in WEB_TOOLS for tool in self.tools)
        return AgentType.GENERAL if writes else AgentType.EXPLORE

    @property
    def recorded(self) -> dict[str, Any]:
        """The fields of `Joined` that a teammate of this type has from it."""
        return {
            "agent_type": self.reach,
            "custom_type": self.name if self.name not in BUILT_IN else None,
            "instructions": self.prompt or None,
            "tools": self.tools,
            "skills": self.skills,
            "colour": self.colour,
        }

    @property
    def as_subagent(self) -> "AgentProfile":
        """The same for a subagent. It cannot submit a plan, so one that would plan first only reads."""
        if self.mode is not Mode.PLAN:
            return self
        chosen = TOOLS if self.tools is None else self.tools
        return replace(self, tools=tuple(tool for tool in chosen if _only_reads(tool)))

    @property
    def packed(self) -> tuple[str, ...]:
        """What its agents are made from, as texts for a journal. `unpacked` reads them."""
        head = {
            "name": self.name,
            "tools": self.tools,
            "skills": self.skills,
            "model": self.model,
            "mode": self.mode,
            "isolation": self.isolation,
            "colour": self.colour,
            "of_project": self.of_project,
        }
        return json.dumps(head), self.prompt

    def mode_below(self, caller: Mode, team: Mode) -> Mode | None:
        """Return the mode of a new teammate: its own, but never wider than the caller's. None if it has none.

        That of a project's file is not wider than the team's either.
        """
        widest = team if self.of_project and caller.wider_than(team) else caller
        return widest if self.mode is not None and self.mode.wider_than(widest) else self.mode


def _only_reads(tool: str) -> bool:
    return tool in TOOLS and TOOLS[tool].home == "base" and TOOLS[tool].reads


BUILT_IN: Mapping[str, AgentProfile] = MappingProxyType({name.value: AgentProfile(name.value) for name in AgentType})


def unpacked(packed: tuple[str, ...]) -> AgentProfile:
    """Return the agent type that `packed` describes."""
    head, prompt = packed
    found = json.loads(head)
    # Journals of earlier versions have no skills.
    tools, skills = found["tools"], found.get("skills")
    return AgentProfile(
        name=found["name"],
        prompt=prompt,
        tools=None if tools is None else tuple(tools),
        skills=None if skills is None else tuple(skills),
        model=found["model"],
        mode=found["mode"] and Mode(found["mode"]),
        isolation=found["isolation"] and Isolation(found["isolation"]),
        colour=found["colour"],
        of_project=found["of_project"],
    )


def profile_of(name: str, others: Mapping[str, AgentProfile]) -> AgentProfile:
    """Return the agent type of a name; its case does not matter. Raises BadInput that lists the names there are."""
    known = {**others, **BUILT_IN}
    found = {one.lower(): profile for one, profile in known.items()}.get(name.lower())
    if found is None:
        named = [*BUILT_IN, *sorted(others)]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        raise BadInput(
            f"{ascii(name)[:80]} is not an agent type. Choose one of {', '.join(named[:_MOST_NAMED])}{more}."
        )
    return found
