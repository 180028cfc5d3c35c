"""First words that are a command, from a file or built in."""

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from deskmate.app import RunRequest
from deskmate.core.commands.command_words import typed_command
from deskmate.core.commands.prompt_commands import prompt_commands
from deskmate.errors import Refused
from deskmate.faces.common.chat.completions import begins_with_path
from deskmate.faces.common.mentions.file_paths import files_in
from deskmate.queries.stream_reader import workspace_at

if TYPE_CHECKING:
    from deskmate.core.commands.command_prompts import CommandPrompt

SHOWN_LINES = 12


def with_command(request: RunRequest) -> RunRequest:
    """Return the request of a run, with the prompt that its first words ask for. Raises BadInput."""
    if not is_command(request.goal):
        return request
    # Imported here because loading it would slow down every start.
    from deskmate.app.commands.usable_commands import first_command

    prompt = first_command(request.goal or "", request.workspace, request.settings, request.consent)
    if prompt is None:
        return request
    mentioned = files_in(prompt.words, workspace_at(request.workspace), ())
    return replace(request, goal=prompt.words, prompt=prompt, mentioned=mentioned)


def with_known_command(request: RunRequest) -> RunRequest:
    """Return the request of a run that nobody attends, as `with_command` does.

    Raises Refused if there is no such command, because a model would be paid to guess what a mistyped name means. The
    sign is doubled for words that are no command.
    """
    goal = request.goal or ""
    if goal.startswith("//"):
        return replace(request, goal=goal[1:])
    found = with_command(request)
    typed = typed_command(goal) if found is request and is_command(goal) else None
    if typed is None:
        return found
    from deskmate.app.commands.usable_commands import list_commands

    listed = list_commands(request.workspace, request.settings, request.consent)
    waiting = next((one.file for one, _ in listed.untrusted if one.name == typed.name), None)
    if waiting:
        raise Refused(f"/{typed.name} is not used, because you have not trusted {waiting}", "To do so: deskmate trust")
    near = difflib.get_close_matches(typed.name, [*listed.usable, *prompt_commands()], n=1)
    hint = f"Did you mean /{near[0]}? " if near else ""
    raise Refused(
        f"There is no command /{typed.name[:80]}", f"{hint}To send these words as they are: //{typed.name[:80]}"
    )


def with_typed_command(request: RunRequest) -> RunRequest:
    """Return the request of a conversation. First words that are a command are typed there, so that it can ask."""
    found = with_command(request)
    return request if found is request else replace(request, goal=None, typed=request.goal or "")


def with_team(request: RunRequest) -> RunRequest:
    """Return the request with the team that its team file describes. Raises BadInput, BadSettings or Refused."""
    if not request.team_file:
        return request
    # Imported here because loading it would slow down every start.
    from deskmate.app.team_files.team_file_places import with_team_file

    return with_team_file(request)


def is_command(words: str | None) -> bool:
    """Tell whether words may be a command, and not a path."""
    return bool(words and words.startswith("/") and not begins_with_path(words))


def prompt_lines(prompt: "CommandPrompt") -> list[str]:
    """Return the words that a command becomes, and where it is from."""
    lines = prompt.words.splitlines()
    more = [f"  … {len(lines) - SHOWN_LINES:,} more lines"] if len(lines) > SHOWN_LINES else []
    shown = (f"  {line}".rstrip() for line in lines[:SHOWN_LINES])
    return [f"sending /{prompt.name} ({prompt.file or 'built in'}):", *shown, *more]
