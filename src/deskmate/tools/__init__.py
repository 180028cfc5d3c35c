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
from deskmate.tools import background, errands, files, mail, plan, search, shell, skill, tasks, teams
from deskmate.tools.described import spec

__all__ = ["spec", "tools_for"]


def tools_for(kind: Kind, names: Iterable[str]) -> tuple[Tool, ...]:
    """Return the tools of these names as an agent of that kind has them, in the order of the names.

    Names of tools that are made elsewhere are passed over.
    """
    made = {tool.name: tool for tool in _every(kind)}
    return tuple(made[name] for name in names if name in made)


def _every(kind: Kind) -> Iterable[Tool]:
    yield from shell.tools(may_background=kind is Kind.LEAD)
    yield from files.tools()
    yield from search.tools()
    yield from tasks.tools(kind)
    yield from mail.tools(kind)
    yield from plan.tools()
    yield from errands.tools()
    yield from teams.tools()
    yield from background.tools()
    yield from skill.tools()
