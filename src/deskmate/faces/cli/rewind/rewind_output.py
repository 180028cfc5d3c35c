"""What rewind, fork and compare print and ask."""

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import anyio
import click

from deskmate import app
from deskmate.app.rewind.forking import Forked, fork
from deskmate.app.rewind.rewinding import Rewinder, compared, kept_stopped, stopped_rewinder
from deskmate.errors import Refused, TeamRunning
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.handover.tree_reports import diff_lines
from deskmate.faces.common.listings import dollars
from deskmate.faces.common.rewind.rewind_command import next_lines, plan_lines, point_lines, restored_lines
from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.faces.common.text_tables import Cell, clock, note, put, sheet_for
from deskmate.queries.stream_reader import teams_at
from deskmate.queries.team_results import TeamResult, look_at_result

NOT_REWOUND = 1
_ROWS: dict[str, Callable[[TeamResult], str]] = {
    "": lambda result: result.team,
    "first words": lambda result: result.title,
    "model": lambda result: ", ".join(result.models),
    "cost": lambda result: dollars(result.spent),
    "time": lambda result: clock(result.seconds),
    "calls": lambda result: f"{result.spent.calls:,}",
    "tokens": lambda result: f"{result.spent.tokens:,}",
    "teammates": lambda result: str(result.members),
    "files edited": lambda result: str(len(result.files)),
}


def is_team(folder: Path | None, name: str) -> bool:
    """Return whether there is a team of this name."""
    return name in teams_at(folder)


def list_points(folder: Path | None, team: str | None) -> int:
    """Print the checkpoints of a team."""
    rewinder = _rewinder(folder, team)
    sheet = sheet_for(sys.stdout)
    points = anyio.run(rewinder.points)
    lines = list(map(sheet.painted, point_lines(rewinder.team, points, sheet, time.time())))
    if not points and len(teams_at(folder)) > 1:
        lines.append("To list the points of another team, run: deskmate rewind TEAM")
    return put(lines)


def preview(folder: Path | None, team: str | None, point: int, *, force: bool) -> int:
    """Print what restoring a checkpoint would change."""
    seen = anyio.run(_rewinder(folder, team).preview, point)
    for line in plan_lines(seen, force=force):
        note(line)
    return put(diff_lines(seen.diff, sheet_for(sys.stdout)))


def rewind(folder: Path | None, team: str | None, point: int, what: str, *, force: bool, asks: bool) -> int:
    """Restore files, fork the conversation, or both, after showing what changes and asking the user."""
    rewinder, ended = _rewinder(folder, team), 0
    if what != "conversation":
        anyio.run(_refuse_running, rewinder, point)
        if asks and not _agrees(rewinder, point, force=force):
            note("Nothing was changed.")
            return NOT_REWOUND
        ended = anyio.run(_restore, rewinder, point, force, _typed(folder, "rewind", rewinder.team))
    return ended if what == "files" else _fork(folder, rewinder, point, None, None) or ended


async def _refuse_running(rewinder: Rewinder, point: int) -> None:
    try:
        async with kept_stopped(rewinder.place, rewinder.team):
            pass
    except TeamRunning as error:
        raise Refused(str(error), f"In its conversation, type: /rewind {point}") from error


def _agrees(rewinder: Rewinder, point: int, *, force: bool) -> bool:
    seen = anyio.run(rewinder.preview, point)
    for line in plan_lines(seen, force=force):
        note(line)
    if seen.plan.is_empty:
        return True
    if not sys.stdin.isatty():
        raise Refused(
            "Nothing was changed, because there is no terminal to ask at",
            "To restore without a question, add --yes. To see the differences, add --dry-run.",
        )
    return click.confirm("Restore these files?", err=True)


async def _restore(rewinder: Rewinder, point: int, force: bool, command: str) -> int:
    async with kept_stopped(rewinder.place, rewinder.team):
        restored = await rewinder.restore(point, force=force)
    for line in (*restored_lines(restored), *next_lines(restored, f"run: {command}", "--force")):
        note(line)
    return NOT_REWOUND if restored.failed else 0


def fork_team(folder: Path | None, team: str, point: int, new: str | None, model: str | None) -> int:
    """Make a new team from the conversation of another one."""
    return _fork(folder, _rewinder(folder, team), point, new, model)


def _fork(folder: Path | None, rewinder: Rewinder, point: int, new: str | None, model: str | None) -> int:
    async def make() -> Forked:
        return await fork(rewinder, point, app.load(app.environment()), new)

    made = anyio.run(make)
    command = _typed(folder, "--team", made.team, *(["--model", model] if model else []))
    note(f"Team {made.team} has the conversation of team {made.source} up to point {point}.")
    if made.words:
        note(f"It ends before your message: {one_line(made.words)[:200]}")
    note(f"To continue it, run: {command}")
    return put([] if sys.stdout.isatty() else [made.team])


def _typed(folder: Path | None, *words: str) -> str:
    """Return a command in the same workspace."""
    return shlex.join(["deskmate", *([] if folder is None else ["-C", str(folder)]), *words])


def compare_teams(folder: Path | None, one: str, other: str, *, diff: bool, as_json: bool) -> int:
    """Print the results of two teams side by side."""
    results = [look_at_result(folder, team) for team in (one, other)]
    damage = [f"team {result.team}: {words}" for result in results for words in result.damage]
    patch = anyio.run(compared, _rewinder(folder, one), _rewinder(folder, other)) if diff else ""
    if as_json:
        return put([json_output.line({"teams": [asdict(result) for result in results], "diff": patch})], damage)
    sheet = sheet_for(sys.stdout)
    lines = sheet.table(_rows(results), gives=2)
    for result in results:
        lines += ["", f"{result.team}:", *clean(result.answer or "(no answer)").splitlines()]
    return put([*lines, *(["", *diff_lines(patch, sheet)] if diff else [])], damage)


def _rows(results: Sequence[TeamResult]) -> list[list[Cell | str]]:
    a, b = (set(result.files) for result in results)
    rows: list[list[Cell | str]] = [[name, *map(of, results)] for name, of in _ROWS.items()]
    rows.extend(["", path if path in a else "-", path if path in b else "-"] for path in sorted(a | b))
    return rows


def _rewinder(folder: Path | None, team: str | None) -> Rewinder:
    return stopped_rewinder(folder, team, app.load(app.environment()))
