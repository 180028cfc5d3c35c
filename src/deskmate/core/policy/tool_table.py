"""The one table of tools, and which agents have them.

Rules and `decide` read a tool's traits here. Prompt and docs read who has it.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from deskmate.core.values import frozen
from deskmate.errors import BadInput

Home: TypeAlias = Literal["base", "task", "mail", "team", "background", "clock", "skill", "ask", "plan", "mcp", "web"]


@frozen
class ToolTraits:
    """What the rules need to know of a tool.

    `repeatable`: may run again after a crash, since it only reads or its only effect is an append of ours.
    `overlaps`: may run together with other calls of its step. `visits`: it asks a host of the web.
    """

    name: str
    home: Home
    reads: bool = False
    repeatable: bool = False
    overlaps: bool = False
    edits: bool = False
    runs: bool = False
    visits: bool = False


def _reading(name: str, home: Home) -> ToolTraits:
    return ToolTraits(name, home, reads=True, repeatable=True, overlaps=True)


# The user is asked before it runs, and it runs when the user has answered.
ASK_USER = "AskUser"
_TABLE = (
    ToolTraits("bash", "base", runs=True),
    _reading("read_file", "base"),
    ToolTraits("write_file", "base", edits=True),
    ToolTraits("edit_file", "base", edits=True),
    _reading("glob", "base"),
    _reading("grep", "base"),
    ToolTraits("TaskCreate", "task", repeatable=True),
    _reading("TaskGet", "task"),
    # Its only effect is an append. If its `verify` command was cut off, that is reported and not run again.
    ToolTraits("TaskUpdate", "task", repeatable=True),
    _reading("TaskList", "task"),
    # Mail keeps the order in which it was sent, so this never overlaps.
    ToolTraits("SendMessage", "mail", repeatable=True),
    ToolTraits("ExitPlanMode", "plan", repeatable=True),
    ToolTraits("Task", "team", repeatable=True, overlaps=True),
    _reading("TaskOutput", "background"),
    ToolTraits("TaskStop", "background"),
    ToolTraits("CronCreate", "clock", repeatable=True),
    _reading("CronList", "clock"),
    ToolTraits("CronDelete", "clock", repeatable=True),
    _reading("Skill", "skill"),
    _reading(ASK_USER, "ask"),
    # Founding and closing a team move folders and take or release a seat, which is more than an append.
    ToolTraits("TeamCreate", "team"),
    ToolTraits("TeamDelete", "team"),
)

TOOLS: Mapping[str, ToolTraits] = MappingProxyType({tool.name: tool for tool in _TABLE})

# Not in the table, because an agent has them only if MCP servers have more tools than fit into a request.
MCP_PREFIX, MCP_SEARCH, MCP_CALL = "mcp__", "McpSearch", "McpCall"
# Not in the table either: agents have them only if the settings say so.
WEB_FETCH, WEB_SEARCH = "web_fetch", "web_search"
WEB_TOOLS = (WEB_FETCH, WEB_SEARCH)
# No tool: what rules call the hosts that confined commands may reach.
NETWORK = "network"
KNOWN: Mapping[str, ToolTraits] = MappingProxyType(
    {
        **TOOLS,
        MCP_SEARCH: _reading(MCP_SEARCH, "mcp"),
        MCP_CALL: ToolTraits(MCP_CALL, "mcp"),
        **{name: ToolTraits(name, "web", visits=True) for name in WEB_TOOLS},
    }
)

PLANNING = frozenset({"read_file", "glob", "grep", "TaskGet", "TaskList", "SendMessage", "ExitPlanMode", ASK_USER})


class AgentKind(StrEnum):
    """What an agent is: the two roles of the roster, or a one-shot subagent."""

    LEAD = "lead"
    TEAMMATE = "teammate"
    SUBAGENT = "subagent"


class AgentType(StrEnum):
    """How far an agent's base tools reach. All but the first only read."""

    GENERAL = "general-purpose"
    EXPLORE = "Explore"
    PLAN = "Plan"


_HOMES: Mapping[AgentKind, frozenset[Home]] = {
    AgentKind.LEAD: frozenset({"base", "task", "mail", "team", "background", "clock", "skill", "ask"}),
    AgentKind.TEAMMATE: frozenset({"base", "task", "mail", "skill"}),
    AgentKind.SUBAGENT: frozenset({"base", "skill"}),
}
_DELEGATING: frozenset[Home] = frozenset({"task", "mail", "team", "background", "clock", "ask"})


@cache
def tools_of(
    kind: AgentKind,
    agent_type: str,
    *,
    planning: bool = False,
    delegate: bool = False,
    base: tuple[str, ...] | None = None,
) -> tuple[str, ...]:
    """Return the names of the tools an agent has, in the order of the table. `base`: its only base tools, if limited.

    Raises BadInput for an unknown agent type, and if an agent other than the lead would delegate.
    """
    only_reads = _known_type(agent_type) is not AgentType.GENERAL
    homes = _homes(kind, planning=planning, delegate=delegate)
    return tuple(
        tool.name
        for tool in TOOLS.values()
        if tool.home in homes
        and (tool.reads or tool.home != "base" or not only_reads)
        and (base is None or tool.home != "base" or tool.name in base)
        and (tool.name in PLANNING or not planning)
    )


def base_tools_of(agent_type: str) -> tuple[str, ...]:
    """Return the names of the tools for files and commands that a built-in type has. Raises BadInput."""
    return tuple(name for name in tools_of(AgentKind.SUBAGENT, agent_type) if TOOLS[name].home == "base")


def _known_type(agent_type: str) -> AgentType:
    try:
        return AgentType(agent_type)
    except ValueError as error:
        known = ", ".join(AgentType)
        raise BadInput(f"{ascii(agent_type)[:80]} is not an agent type", f"Choose one of {known}.") from error


def _homes(kind: AgentKind, *, planning: bool, delegate: bool) -> frozenset[Home]:
    homes = _HOMES[kind]
    if delegate:
        if kind is not AgentKind.LEAD:
            raise BadInput(f"A {kind} cannot delegate. Only the lead can")
        homes &= _DELEGATING
    # An agent that plans must be able to submit its plan, even if it has given up other tools.
    return homes | {"plan"} if planning and kind is not AgentKind.SUBAGENT else homes


COLOURS = (
    "cyan",
    "yellow",
    "magenta",
    "green",
    "blue",
    "bright_red",
    "bright_cyan",
    "bright_yellow",
    "bright_magenta",
    "bright_green",
    "bright_blue",
    "red",
)


def colour_of(index: int) -> str:
    """Return the colour of the `index`-th teammate that joined, counted from 0, including those that left."""
    return COLOURS[index % len(COLOURS)]
