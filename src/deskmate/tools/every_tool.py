"""All tools, for each kind of agent. Importing this imports every tool, and with `bash` the parser of commands."""

from collections.abc import Iterator, Mapping
from functools import cache

from deskmate.core.policy.tool_table import AgentKind
from deskmate.ports import Tool
from deskmate.tools import background_tools, skill_tool
from deskmate.tools.files import file_tools, search_tools
from deskmate.tools.shell import bash
from deskmate.tools.team import (
    ask_user,
    board_tools,
    exit_plan_mode,
    schedule_tools,
    send_message,
    task_tool,
    team_tools,
)


@cache
def every_tool(kind: AgentKind) -> Mapping[str, Tool]:
    """Return all tools by name, as this kind of agent has them."""
    return {tool.name: tool for tool in _every(kind)}


def _every(kind: AgentKind) -> Iterator[Tool]:
    yield from bash.tools(may_background=kind is AgentKind.LEAD)
    yield from file_tools.tools()
    yield from search_tools.tools()
    yield from board_tools.tools(kind)
    yield from send_message.tools(kind)
    yield from exit_plan_mode.tools()
    yield from task_tool.tools()
    yield from team_tools.tools()
    yield from background_tools.tools()
    yield from schedule_tools.tools()
    yield from skill_tool.tools()
    yield from ask_user.tools()
