"""Tools: what a model can use, each a small object. What a model reads about a tool is in `texts/tools/NAME.md`.

files             read_file, write_file, edit_file, glob, grep
shell             bash, and the parser that tells what a command runs
team              Task, SendMessage, ExitPlanMode, the board and team tools
background_tools  TaskOutput, TaskStop
skill_tool        Skill
tool_base         what all tools share: name, description, arguments
clip              limits for everything a model reads
durations         time limits, in seconds or in the milliseconds that models send

Which agent has which tool is in `core.policy.tool_table`. A tool touches nothing but the `ToolContext` it is given.
"""

from collections.abc import Iterable

from deskmate.core.policy.tool_table import AgentKind
from deskmate.ports import Tool
from deskmate.tools import background_tools, skill_tool
from deskmate.tools.files import file_tools, search_tools
from deskmate.tools.shell import bash
from deskmate.tools.team import board_tools, exit_plan_mode, send_message, task_tool, team_tools
from deskmate.tools.tool_base import spec

__all__ = ["spec", "tools_for"]


def tools_for(kind: AgentKind, names: Iterable[str]) -> tuple[Tool, ...]:
    """Return the named tools for this kind of agent, in the order of the names.

    Names of tools that are built elsewhere are skipped.
    """
    made = {tool.name: tool for tool in _every(kind)}
    return tuple(made[name] for name in names if name in made)


def _every(kind: AgentKind) -> Iterable[Tool]:
    yield from bash.tools(may_background=kind is AgentKind.LEAD)
    yield from file_tools.tools()
    yield from search_tools.tools()
    yield from board_tools.tools(kind)
    yield from send_message.tools(kind)
    yield from exit_plan_mode.tools()
    yield from task_tool.tools()
    yield from team_tools.tools()
    yield from background_tools.tools()
    yield from skill_tool.tools()
