"""What commands that look print: teams, board, inbox, cost. Live or dead, from any shell; nothing is changed.

`commands` stands above, `deskmate.app` reads, `tables` sets it out; `transcripts` beside prints what a member did.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from deskmate.app import Sum
from deskmate.app.listening import Letter, SeenInbox, look_at_inbox
from deskmate.app.looking import (
    SeenBoard,
    SeenCost,
    SeenMember,
    SeenTask,
    SeenTeam,
    look_at_board,
    look_at_cost,
    look_at_teams,
)
from deskmate.faces.cli import outputs
from deskmate.faces.cli.tables import Cell, Sheet, ago, put, sheet_for
from deskmate.faces.cli.texts import clean, one_line

Fields = outputs.Fields
_WORDS = {"completed": "done", "in_progress": "in progress", "pending": "free"}


def teams(folder: Path | None, *, as_json: bool) -> int:
    """Print the teams of a workspace."""
    found = look_at_teams(folder)
    damage = [f"team {team.name}: {words}" for team in found for words in team.damage]
    if as_json:
        return put([outputs.line({"teams": [_team_fields(team) for team in found]})], damage)
    sheet, now = sheet_for(sys.stdout), time.time()
    return put([line for team in found for line in _team_lines(team, sheet, now)], damage)


def _team_lines(team: SeenTeam, sheet: Sheet, now: float) -> list[str]:
    home = f" (from {team.home})" if team.home else ""
    playing = {True: f"live ({team.holder})", False: "not played", None: "not known whether played"}[team.live]
    done = f"{team.done_tasks} of {team.done_tasks + team.open_tasks} tasks done"
    written = f"written {ago(now - team.written)} ago" if team.written else "never written"
    head = f"{team.name}{home}: {playing}, {done}, {_dollars(team.spent)}, {written}"
    rows = [_member_row(member, now) for member in team.members]
    return [*sheet.table([[head]], gives=0), *sheet.table(rows, gives=2, indent="  ")]


def _member_row(member: SeenMember, now: float) -> list[Cell | str]:
    status = f"{member.word}: {member.detail}" if member.detail else member.word
    role = member.role if member.role != member.name else ""
    return [Cell(member.name, member.colour or None), role, status, f"{ago(now - member.since)}"]


def _team_fields(team: SeenTeam) -> Fields:
    members = [
        {"name": one.name, "kind": one.kind, "role": one.role, "colour": one.colour}
        | {"status": one.word, "detail": one.detail, "since": one.since}
        for one in team.members
    ]
    return {
        "name": team.name,
        "description": team.description,
        "home": team.home,
        "live": team.live,
        "holder": team.holder,
        "members": members,
        "tasks": {"open": team.open_tasks, "done": team.done_tasks},
        **_sum_fields(team.spent),
        "written": team.written,
        "damage": list(team.damage),
    }


def board(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print a team's tasks, and what holds each up."""
    seen = look_at_board(folder, team)
    if as_json:
        tasks = [task_fields(task) for task in seen.tasks]
        return put([outputs.line({"team": seen.team, "tasks": tasks, "damage": list(seen.damage)})], seen.damage)
    return put(_board_lines(seen, sheet_for(sys.stdout)), seen.damage)


def _board_lines(seen: SeenBoard, sheet: Sheet) -> list[str]:
    done = sum(task.status == "completed" for task in seen.tasks)
    head = f"team {seen.team}: {done} of {len(seen.tasks)} tasks done" if seen.tasks else f"team {seen.team}: no tasks"
    return [head, *sheet.table([_task_row(task, seen.colours) for task in seen.tasks], gives=2)]


def _task_row(task: SeenTask, colours: dict[str, str]) -> list[Cell | str]:
    owner = Cell(f"@{task.owner}", colours.get(task.owner)) if task.owner else ""
    waits = f"blocked by {_ids(task.waits_for)}" if task.waits_for else ""
    role = f"for {task.role}" if task.role else ""
    return [f"#{task.id}", state_of(task), task.subject, waits, owner, role, _proof(task)]


def state_of(task: SeenTask) -> str:
    """Return in a word how far a task is."""
    if task.waits_for:
        return "blocked"
    return "given" if task.status == "pending" and task.owner else _WORDS.get(task.status, task.status)


def _proof(task: SeenTask) -> str:
    if task.verify is None:
        return ""
    return f"verified by {task.verify}" if task.receipt else f"to verify: {task.verify}"


def task_fields(task: SeenTask) -> Fields:
    """Return a task for programs."""
    # Not by asdict: that copies deep, which is felt on a board of thousands.
    fields: Fields = {name: getattr(task, name) for name in SeenTask.__dataclass_fields__}
    return {**fields, "receipt": task.receipt.model_dump(mode="json") if task.receipt else None}


def inbox(folder: Path | None, team: str | None, name: str, *, as_json: bool) -> int:
    """Print a member's mail."""
    seen = look_at_inbox(folder, team, name)
    if as_json:
        letters = [{**letter.fields, "number": letter.number, "heard": letter.heard} for letter in seen.letters]
        fields = {"team": seen.team, "member": seen.member, "before": seen.before, "mail": letters}
        return put([outputs.line({**fields, "damage": list(seen.damage)})], seen.damage)
    return put(_inbox_lines(seen, sheet_for(sys.stdout), time.time()), seen.damage)


def _inbox_lines(seen: SeenInbox, sheet: Sheet, now: float) -> list[str]:
    unheard = [letter for letter in seen.letters if letter.heard is False]
    rest = [letter for letter in seen.letters if letter.heard is not False]
    count = len(seen.letters) + seen.before
    what = f"{count} message{'' if count == 1 else 's'}" if seen.member == "user" else f"{len(unheard)} unheard"
    lines = [sheet.paint(Cell(f"{seen.member}@{seen.team}: {what}"))]
    for letter in [*unheard, *rest]:
        lines += _letter_lines(letter, seen, sheet, now)
    return [*lines, f"{seen.before} more before these"] if seen.before else lines


def _letter_lines(letter: Letter, seen: SeenInbox, sheet: Sheet, now: float) -> list[str]:
    mark = "* " if letter.heard is False else "  "
    kind = "" if letter.kind in ("message", "broadcast") else f" {letter.kind.replace('_', ' ')}"
    answer = "" if "approve" not in letter.fields else ": yes" if letter.fields["approve"] else ": no"
    request = f" ({one_line(str(letter.fields['request_id']))})" if "request_id" in letter.fields else ""
    to_all = " to all" if letter.kind == "broadcast" else ""
    sender = sheet.name(letter.sender, seen.team, seen.colours)
    head = f"{mark}{sender}{to_all}{kind}{answer}{request}, {ago(now - letter.at)} ago"
    return [head, *(f"    {line}".rstrip() for line in clean(letter.text).splitlines())]


def cost(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print what a team came to."""
    seen = look_at_cost(folder, team)
    if as_json:
        rows = [{"member": member, "model": model, **_sum_fields(one)} for member, model, one in seen.rows]
        fields = {"team": seen.team, "rows": rows, "total": _sum_fields(seen.total)}
        return put(
            [outputs.line({**fields, "put_away": _sum_fields(seen.put_away), "damage": list(seen.damage)})], seen.damage
        )
    return put(_cost_lines(seen, sheet_for(sys.stdout)), seen.damage)


def _cost_lines(seen: SeenCost, sheet: Sheet) -> list[str]:
    rows: list[Sequence[Cell | str]] = [["member", "model", "calls", "tokens in", "out", "cost"]]
    rows += [[member, model, *_sum_cells(one)] for member, model, one in seen.rows]
    rows.append(["all", "", *_sum_cells(seen.total)])
    lines = [f"team {seen.team}", *sheet.table(rows, gives=1)]
    if seen.put_away.calls:
        lines.append(f"and in teams that were put away: {seen.put_away.calls:,} calls, {_dollars(seen.put_away)}")
    return lines


def _sum_cells(one: Sum) -> list[str]:
    return [f"{one.calls:,}", f"{one.usage.prompt:,}", f"{one.usage.output:,}", _dollars(one)]


def _dollars(one: Sum) -> str:
    if one.unpriced == one.calls and one.calls:
        return "price unknown"
    unknown = f" and {one.unpriced:,} call{'' if one.unpriced == 1 else 's'} of unknown price" if one.unpriced else ""
    return f"${one.cost:.4f}{unknown}"


def _sum_fields(one: Sum) -> Fields:
    return {
        "calls": one.calls,
        "usage": asdict(one.usage),
        "cost_usd": None if one.unpriced else round(one.cost, 9),
        # Of what calls of a known price came to, and how many are not in it.
        "priced_usd": round(one.cost, 9),
        "unpriced_calls": one.unpriced,
    }


def _ids(numbers: Sequence[int]) -> str:
    return ", ".join(f"#{number}" for number in numbers)
