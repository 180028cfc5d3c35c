"""Teams, board, inbox, cost.

`deskmate.queries` reads the team, and `listings` formats most of it.
"""

import sys
import time
from dataclasses import asdict
from pathlib import Path

from deskmate.core.hosts.placement import is_active
from deskmate.core.log.names import LEAD
from deskmate.core.team.members import Member
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import status_detail, status_word
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.items.member_items import member_status
from deskmate.faces.common.items.task_items import TaskItem, task_items
from deskmate.faces.common.listings import board_lines, cost_lines, dollars, inbox_lines, sandbox_of, teams_lines
from deskmate.faces.common.terminal_text import one_line, width
from deskmate.faces.common.text_tables import Cell, Sheet, ago, put, sheet_for
from deskmate.queries.member_view import SeenInbox, look_at_inbox
from deskmate.queries.team_view import SeenBoard, SeenTeam, look_at_boards, look_at_cost, look_at_teams

Fields = json_output.Fields


def teams(folder: Path | None, *, members: bool, as_json: bool) -> int:
    """Print the teams of a workspace. With `members`, also print who is on each."""
    found = look_at_teams(folder)
    damage = [f"team {team.name}: {words}" for team in found for words in team.damage]
    if as_json:
        return put([json_output.line({"teams": [_team_fields(team) for team in found]})], damage)
    sheet, now = sheet_for(sys.stdout), time.time()
    if members:
        return put([line for team in found for line in team_lines(team, sheet, now)], damage)
    return put(list(map(sheet.painted, teams_lines(found, sheet, now))), damage)


def team_lines(team: SeenTeam, sheet: Sheet, now: float) -> list[str]:
    """Return a summary line of a team, and a line for each member."""
    home = f" (from {team.home})" if team.home else ""
    playing = f"{team.state} ({team.holder})" if team.live else team.state
    done = f"{team.done_tasks} of {team.done_tasks + team.open_tasks} tasks done"
    written = f"active {ago(now - team.written)} ago" if team.written else "never active"
    confined = sandbox_of(team.sandbox)
    head = _fitting(f"{team.name}{home}", [playing, confined, done, dollars(team.spent), written], sheet.cells)
    rows = [_member_row(team, member, now) for member in team.members]
    return [*sheet.table([[head]], gives=0), *sheet.table(rows, gives=2, indent="  ")]


def _fitting(name: str, parts: list[str], cells: int | None) -> str:
    """Return the first line of a team. If the window is too narrow, the least important parts are left out."""
    playing, confined, done, cost, _ = parts
    short = playing.partition(" (")[0]
    heads = (parts, [playing, confined, done, cost], [short, confined, done, cost], [short, done, cost], [short, cost])
    words = [one_line(f"{name}: {', '.join(filter(None, head))}") for head in (*heads, [cost])]
    return next((one for one in words if cells is None or width(one) <= cells), words[-1])


def _member_row(team: SeenTeam, member: Member, now: float) -> list[Cell | str]:
    status = member_status(member)
    status = status if team.is_current(member) else f"was {status}"
    if team.away and member.name == LEAD:
        status = f"away, in {team.away}"
    role = "" if member.name == LEAD else member.role
    return [Cell(member.name, member.colour or None), role, status, ago(now - member.status_at)]


def _team_fields(team: SeenTeam) -> Fields:
    members: list[Fields] = [
        {"name": one.name, "kind": one.kind.value, "role": one.role, "colour": one.colour}
        | {
            "status": status_word(one.status),
            "detail": status_detail(one.status),
            "since": one.status_at,
            "current": team.is_current(one),
            "host": one.host if is_active(one) else None,
        }
        for one in team.members
    ]
    return {
        "name": team.name,
        "title": team.title,
        "description": team.description,
        "home": team.home,
        "away": team.away,
        "state": team.state,
        "live": team.live,
        "holder": team.holder,
        "pid": team.pid,
        "sandbox": team.sandbox or None,
        "members": members,
        "tasks": {"open": team.open_tasks, "done": team.done_tasks},
        **_sum_fields(team.spent),
        "written": team.written,
        "damage": list(team.damage),
    }


def board(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print a team's tasks, and what blocks each. Without a name, those of both teams of a lead that has two."""
    seen = look_at_boards(folder, team)
    damage = tuple(words for one in seen for words in one.damage)
    if as_json:
        first, *others = map(_board_fields, seen)
        return put([json_output.line({**first, "others": others} if others else first)], damage)
    sheet = sheet_for(sys.stdout)
    lines = [line for one in seen for line in board_lines(one.team, one.board, one.colours, sheet)]
    return put(list(map(sheet.painted, lines)), damage)


def _board_fields(seen: SeenBoard) -> Fields:
    return {
        "team": seen.team,
        "tasks": [task_fields(item) for item in task_items(seen.board)],
        "damage": list(seen.damage),
    }


def task_fields(item: TaskItem) -> Fields:
    """Return a task for JSON output."""
    task = item.task
    # Do not use asdict: its deep copy is slow on a board of thousands.
    return {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "status": task.status,
        "owner": task.owner,
        "role": task.role,
        "blocked_by": sorted(task.blocked_by),
        "waits_for": item.waits_for,
        "verify": task.verify,
        "receipt": task.receipt.model_dump(mode="json") if task.receipt else None,
        "notes": [note.text for note in task.notes],
        "noted_by": [note.by for note in task.notes],
        "created": task.created,
        "updated": task.updated,
        "created_by": task.created_by,
        "edited_by": task.editors,
    }


def inbox(folder: Path | None, team: str | None, name: str | None, *, as_json: bool) -> int:
    """Print a member's mail, or that of the lead and the user if no name is given."""
    seen = [look_at_inbox(folder, team, one) for one in ([name] if name else ("lead", "user"))]
    damage = list(dict.fromkeys(words for one in seen for words in one.damage))
    if as_json:
        fields = [_inbox_fields(one) for one in seen]
        return put([json_output.line(fields[0] if name else {"team": seen[0].team, "inboxes": fields})], damage)
    lines = [line for one in seen for line in inbox_lines(one, time.time())]
    return put(list(map(sheet_for(sys.stdout).painted, lines)), damage)


def _inbox_fields(seen: SeenInbox) -> Fields:
    letters = [{**one.envelope.body(), "number": one.number, "heard": one.heard} for one in seen.letters]
    fields = {"team": seen.team, "member": seen.member, "before": seen.before, "mail": letters}
    return {**fields, "damage": list(seen.damage)}


def cost(folder: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print what a team has used and spent."""
    seen = look_at_cost(folder, team)
    if as_json:
        rows = [{"member": member, "model": model, **_sum_fields(one)} for member, model, one in seen.rows]
        fields = {"team": seen.team, "rows": rows, "total": _sum_fields(seen.total)}
        return put(
            [json_output.line({**fields, "put_away": _sum_fields(seen.put_away), "damage": list(seen.damage)})],
            seen.damage,
        )
    sheet = sheet_for(sys.stdout)
    return put(list(map(sheet.painted, cost_lines(seen, sheet))), seen.damage)


def _sum_fields(one: Sum) -> Fields:
    return {
        "calls": one.calls,
        "usage": asdict(one.usage),
        "cost_usd": None if one.unpriced else round(one.cost, 9),
        # The cost of calls with a known price, and how many calls have none.
        "priced_usd": round(one.cost, 9),
        "unpriced_calls": one.unpriced,
    }
