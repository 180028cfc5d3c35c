"""First words that are a command, from a file or built in."""

from dataclasses import replace
from typing import TYPE_CHECKING

from deskmate.app import RunRequest
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
