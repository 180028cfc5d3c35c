"""Checks, and what to do about them.

`deskmate.queries` checks. `deskmate.app` accepts losses.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import anyio
import click

from deskmate.app import environment
from deskmate.errors import Refused
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.exit_codes import UNUSABLE
from deskmate.faces.common.terminal_text import one_line, width
from deskmate.faces.common.text_tables import Cell, Sheet, note, put, sheet_for
from deskmate.queries.damage import CheckedTeam, Lost, check_teams, lost_of
from deskmate.queries.health import Check, check_machine, check_settings, check_trust, check_workspace

BAD = 1
_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}
# If the column is narrower than this, text is hard to read beside its label.
_LEAST_CELLS = 24


def doctor(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print all checks and what to do. Return 1 if something is bad, 3 if the workspace cannot be used."""
    workspace = check_workspace(folder)
    found = check_teams(workspace.place, team) if workspace.place else ()
    environ = environment()
    trust = check_trust(workspace.place, environ) if workspace.place else ()
    settings = check_settings(environ, workspace.place)
    checks = (*check_machine(environ), *settings, *workspace.checks, *trust)
    rows = (*checks, *(check for one in found for check in one.checks))
    if as_json:
        fields = {"checks": [asdict(check) for check in checks], "teams": [_team_fields(one) for one in found]}
        written = put([json_output.line(fields)])
    else:
        written = put(list(_lines(rows, sheet_for(sys.stdout))))
    if written or not workspace.usable:
        return UNUSABLE
    return BAD if any(check.state == "bad" for check in rows) else 0


def _team_fields(team: CheckedTeam) -> json_output.Fields:
    return {
        **asdict(team),
        "damage": [one.words for one in team.damage],
        "checks": [asdict(check) for check in team.checks],
    }


def _lines(checks: Sequence[Check], sheet: Sheet) -> Iterator[str]:
    column = max(len(check.what) for check in checks)
    for check in checks:
        head = f"{check.state:<4}  {check.what:<{column}} "
        first, *rest = _filled(head, one_line(check.words), sheet.cells)
        yield sheet.paint(Cell(check.state, _COLOURS[check.state])) + first.removeprefix(check.state)
        yield from rest
        if check.next:
            yield from _filled(" " * len(head), one_line(check.next), sheet.cells)


def _filled(head: str, words: str, cells: int | None) -> Iterator[str]:
    """Yield lines of at most `cells` cells, aligned below the words of the first. A longer word is not broken."""
    hang = " " * (len(head) if cells is None or cells - len(head) > _LEAST_CELLS else 1)
    line = head
    for word in words.split():
        if cells is not None and width(line) + 1 + width(word) > cells and line.strip():
            yield line.rstrip()
            line = hang
        line += f" {word}"
    yield line


def accept(folder: Path | None, team: str | None, *, asks: bool) -> int:
    """Accept lost records of a team's roster, board and transcripts, after showing them and asking the user."""
    name, lost = lost_of(folder, team)
    if code := put([f"team {name}: {len(lost)} lost", *(f"  {one_line(str(one))}" for one in lost)]):
        return code
    if asks and not sys.stdin.isatty():
        raise Refused(
            "Nothing was accepted, because there is no terminal to ask at", "To accept everything, add --yes."
        )
    if asks and not click.confirm("accept?", err=True):
        note("Nothing was accepted.")
        return BAD
    _accept(folder, name, lost)
    return put([f"Accepted. Team {name} can continue."])


def _accept(folder: Path | None, team: str, lost: Sequence[Lost]) -> None:
    # Imported here so that commands that only look do not wait for it.
    from deskmate.app import user_actions

    def tell(words: str) -> None:
        # Do not repeat what was just shown.
        if not any(one.where in words for one in lost):
            note(words)

    with logging_to(tell):
        anyio.run(partial(user_actions.accept, folder, team, [(one.stream, one.number) for one in lost]))
