"""Checks, and what to do about them.

`deskmate.queries` checks. `deskmate.app` accepts losses.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import anyio
import click

from deskmate.errors import Refused
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.exit_codes import UNUSABLE
from deskmate.faces.common.health_lines import health_lines, health_of
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, put, sheet_for
from deskmate.queries.damage import CheckedTeam, Lost, lost_of

BAD = 1


def doctor(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print all checks and what to do. Return 1 if something is bad, 3 if the workspace cannot be used."""
    health = health_of(folder, team)
    if as_json:
        checks, teams = [asdict(check) for check in health.checks], [_team_fields(one) for one in health.teams]
        written = put([json_output.line({"checks": checks, "teams": teams})])
    else:
        written = put(list(health_lines(health.all, sheet_for(sys.stdout))))
    if written or not health.usable:
        return UNUSABLE
    return BAD if any(check.state == "bad" for check in health.all) else 0


def _team_fields(team: CheckedTeam) -> json_output.Fields:
    return {
        **asdict(team),
        "damage": [one.words for one in team.damage],
        "checks": [asdict(check) for check in team.checks],
    }


def accept(folder: Path | None, team: str | None, *, asks: bool) -> int:
    """Accept lost records of a team's roster, board and transcripts, after showing them and asking the user."""
    name, lost = lost_of(folder, team)
    if code := put([f"team {name}: {len(lost)} lost", *(f"  {one_line(str(one))}" for one in lost)]):
        return code
    if asks and not sys.stdin.isatty():
        raise Refused(
            "Nothing was accepted, because there is no terminal to ask in", "To accept everything, add --yes."
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
