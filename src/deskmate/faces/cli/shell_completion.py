"""Completion for shells.

Completions come from the files of the workspace. Errors give no completions.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from deskmate.errors import DeskmateError
from deskmate.faces.common.command_start import importing
from deskmate.faces.common.terminal_text import one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from deskmate.core.team.tasks import Task

SHELLS = ("bash", "zsh", "fish")

Offered: TypeAlias = Iterable[tuple[str, str]]
Offer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"


class FolderArgument(click.Path):
    """A folder that must exist. During completion any folder is accepted, with `~` expanded as the shell does."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ctx is not None and ctx.resilient_parsing:
            return Path(os.path.expanduser(value))
        return super().convert(value, param, ctx)


def script(command: click.Command, shell: str) -> str:
    """Return the script that a shell runs once to complete `deskmate` commands."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells"
    return kind(command, {}, "deskmate", "_DESKMATE_COMPLETE").source()


def _offering(find: Callable[[Path | None, str | None], Offered]) -> Offer:
    """Return a completion function for click. `find` returns words of a team, each with its help text."""

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        # An error message would appear in the middle of the line being typed.
        with suppress(DeskmateError, OSError), importing():
            found = find(ctx.find_root().params["workspace"], ctx.params.get("team"))
            begun = incomplete.casefold()
            fit = [(word, told) for word, told in found if word.casefold().startswith(begun)]
            return [CompletionItem(word, help=one_line(told)) for word, told in fit]
        return []

    return offer


def _teams(folder: Path | None, team: str | None) -> Offered:
    from deskmate.queries.stream_reader import teams_at, title_at, workspace_at

    return [(name, title_at(workspace_at(folder), name)) for name in teams_at(folder)]


def _members(*more: str, lead: bool = True, gone: bool = False) -> Offer:
    """Return a completion function for members of a team, with or without the lead and those who have left."""

    def find(folder: Path | None, team: str | None) -> Offered:
        from deskmate.core.team.status import status_word
        from deskmate.queries.stream_reader import reading_of

        roster = reading_of(folder, team).roster()
        fit = [one for one in (roster.members.values() if lead else roster.teammates) if gone or one.here]
        return [
            *((one.name, f"{one.role}, {status_word(one.status)}") for one in fit),
            *((name, "you") for name in more),
        ]

    return _offering(find)


def _tasks(suits: "Callable[[Task], bool]") -> Offer:
    def find(folder: Path | None, team: str | None) -> Offered:
        from deskmate.queries.team_view import look_at_board

        return [(str(task.id), task.subject) for task in look_at_board(folder, team).board.current if suits(task)]

    return _offering(find)


teams = _offering(_teams)
members = _members(gone=True)
mailboxes = _members("user", gone=True)
members_here = _members()
teammates_here = _members(lead=False)
tasks = _tasks(lambda task: True)
open_tasks = _tasks(lambda task: task.status != "completed")
