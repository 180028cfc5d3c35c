"""Teams rm and prune."""

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import click

from deskmate.app.cleanup import Removable, has_teams, prunable, removable, remove
from deskmate.errors import Refused
from deskmate.faces.common.handover.tree_reports import kept_line
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, put, warn

NOT_REMOVED = 1


def remove_named(folder: Path | None, names: Sequence[str], *, asks: bool) -> int:
    """Remove the teams with these names, after showing them and asking the user."""
    return _remove(folder, removable(folder, names), asks=asks)


def prune(folder: Path | None, *, days: float | None, dry_run: bool, asks: bool) -> int:
    """Remove teams without results and, with `days`, old teams. With `dry_run`, only list them."""
    found, kept = prunable(folder, days) if has_teams(folder) else ((), ())
    for why in kept:
        warn(why)
    if not found:
        return put(["There is nothing to remove."])
    if dry_run:
        return put([f"would remove {_described(one)}" for one in found])
    return _remove(folder, found, asks=asks)


def _remove(folder: Path | None, teams: Sequence[Removable], *, asks: bool) -> int:
    for one in teams if asks else ():
        note(f"remove {_described(one)}")
    if asks and not sys.stdin.isatty():
        raise Refused(
            "Nothing was removed, because there is no terminal to ask in", "To remove without being asked, add --yes."
        )
    if asks and not click.confirm("Remove for good?", err=True):
        note("Nothing was removed.")
        return NOT_REMOVED
    for one in teams:
        kept = anyio.run(remove, folder, one)
        if code := put([f"removed {_described(one)}", *map(kept_line, kept)]):
            return code
    return 0


def _described(one: Removable) -> str:
    title = f" ({one_line(one.title)})" if one.title else ""
    inner = f", with team {', '.join(one.open)}" if one.open else ""
    closed = f", with {len(one.closed)} closed team{'' if len(one.closed) == 1 else 's'}" if one.closed else ""
    return f"team {one.name}{title}{inner}{closed}"
