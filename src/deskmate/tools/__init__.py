"""Tools: what a model can use, each a small object. What a model reads about it is in `texts/tools/NAME.md`.

shell        bash
  shell_commands  every command that a text would run, or that it cannot be told
  shell_programs  the programs among them that run others
  shell_words     what each word of a command certainly is
  shell_heredocs  here-documents
  shell_hints     commands that are plain to see where not all can be told
files        read_file, write_file, edit_file
  kinds        what a file is, by its bytes
  edits        the one place a text is replaced in
  diffs        what changed, for a screen
search       glob, grep
tasks        TaskCreate, TaskGet, TaskUpdate,
               TaskList
  updates      what a TaskUpdate does, step by step
mail         SendMessage
plan         ExitPlanMode
errands      Task
teams        TeamCreate, TeamDelete
background   TaskOutput, TaskStop
skill        Skill
described    what all tools share: name, text, arguments; and how a model is shown them
clips        bounds for all that a model reads
seconds      times, also where a model counts in milliseconds

Their traits and who has them stand in `core.roles`. A tool touches nothing but the `Desk` it is handed.
"""

from collections.abc import Iterable

from deskmate.core.policy.tool_table import Kind
from deskmate.ports import Tool
from deskmate.tools import background_tools, skill_tool
from deskmate.tools.files import file_tools, search_tools
from deskmate.tools.shell import bash
from deskmate.tools.team import board_tools, exit_plan_mode, send_message, task_tool, team_tools
from deskmate.tools.tool_base import spec

__all__ = ["spec", "tools_for"]


def tools_for(kind: Kind, names: Iterable[str]) -> tuple[Tool, ...]:
    """Return the tools of these names as an agent of that kind has them, in the order of the names.

    Names of tools that are made elsewhere are passed over.
    """
    made = {tool.name: tool for tool in _every(kind)}
    return tuple(made[name] for name in names if name in made)


def _every(kind: Kind) -> Iterable[Tool]:
    yield from bash.tools(may_background=kind is Kind.LEAD)
    yield from file_tools.tools()
    yield from search_tools.tools()
    yield from board_tools.tools(kind)
    yield from send_message.tools(kind)
    yield from exit_plan_mode.tools()
    yield from task_tool.tools()
    yield from team_tools.tools()
    yield from background_tools.tools()
    yield from skill_tool.tools()
