"""Members, board, mail and cost as lines.

The CLI prints these lines, and chat commands reply with them. `text_tables` has sheets and cells.
"""

from collections.abc import Iterable, Mapping, Sequence

from deskmate.app import Outcome
from deskmate.core.log.names import USER, agent_id
from deskmate.core.team.spending import Sum
from deskmate.core.team.tasks import BoardState, Task
from deskmate.faces.common.items.conflict_items import conflict_items
from deskmate.faces.common.items.mail_items import MailItem, mail_items
from deskmate.faces.common.items.member_items import MemberItem, member_status, role_of
from deskmate.faces.common.items.task_items import TaskItem, TaskState, task_items, teammates_in
from deskmate.faces.common.terminal_text import clean, cut, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet, ago, named
from deskmate.queries.member_view import SeenInbox
from deskmate.queries.team_view import SeenCost, SeenTeam

_OPEN_NAMED, _SUBJECT_CELLS, _COMMAND_CELLS = 5, 40, 80


def sandbox_of(level: str) -> str:
    """Return in words how commands are confined, or "" if that was never recorded."""
    return {"": "", "none": "no sandbox"}.get(level, f"sandbox {level}")


def member_lines(team: str, items: Iterable[MemberItem], sheet: Sheet, now: float) -> list[CleanLine]:
    """Return a line for each member: its status and since when, its task, and its cost."""
    rows: list[list[Cell | str]] = [
        [
            Cell(agent_id(item.member.name, team), item.member.colour or None),
            role_of(item.member),
            member_status(item.member),
            ago(now - item.member.status_at),
            f"#{item.task}" if item.task is not None else "",
            dollars(item.spent),
        ]
        for item in items
    ]
    return sheet.lines(rows, gives=2)


def teams_lines(teams: Iterable[SeenTeam], sheet: Sheet, now: float) -> list[CleanLine]:
    """Return a line for each team. Teams that were never used and do not run are left out, unless they are damaged."""
    shown = [team for team in teams if team.begun or team.live or team.damage]
    rows: list[Sequence[Cell | str]] = [["team", "title", "state", "tasks", "cost", "last active"]]
    rows += [_team_row(team, now) for team in shown]
    return sheet.lines(rows, gives=1, keeps=2)


def _team_row(team: SeenTeam, now: float) -> list[Cell | str]:
    tasks = f"{team.done_tasks}/{team.done_tasks + team.open_tasks}"
    active = f"{ago(now - team.written)} ago" if team.written else ""
    return [team.name, team.title, team.state, tasks, short_dollars(team.spent), active]


def board_lines(team: str, board: BoardState, colours: Mapping[str, str], sheet: Sheet) -> list[CleanLine]:
    """Return the tasks of a team, and what blocks each."""
    items = task_items(board)
    done = sum(item.state is TaskState.DONE for item in items)
    head = f"team {team}: {done} of {len(items)} tasks done" if items else f"team {team}: no tasks"
    return [(Cell(head),), *sheet.lines([_task_row(item, colours) for item in items], gives=2)]


def _task_row(item: TaskItem, colours: Mapping[str, str]) -> list[Cell | str]:
    task = item.task
    owner = Cell(f"@{task.owner}", colours.get(task.owner)) if task.owner else ""
    authors = teammates_in(task.created_by, task.editors)
    waits = ", ".join(filter(None, [item.blocked, item.meets]))
    return [f"#{task.id}", item.state, task.subject, waits, owner, item.role, authors, item.proof]


def conflict_lines(team: str, board: BoardState, sheet: Sheet) -> list[CleanLine]:
    """Return where the work of members with their own trees meets, conflicts first."""
    items = conflict_items(team, board)
    sure = sum(item.is_conflict for item in items)
    counts = {"conflict": sure, "possible conflict": len(items) - sure}
    found = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count)
    return [
        (Cell(f"team {team}: {found or 'no conflicts'}"),),
        *sheet.lines([[item.who, item.what, item.files] for item in items], gives=2),
    ]


def open_line(tasks: Sequence[Task]) -> str:
    """Return how many tasks are not done and the first few of them, or "" if all are done."""
    left = [task for task in tasks if task.is_open]
    named = ", ".join(f"#{task.id} {cut(one_line(task.subject), _SUBJECT_CELLS)}" for task in left[:_OPEN_NAMED])
    more = f" and {len(left) - _OPEN_NAMED} more" if len(left) > _OPEN_NAMED else ""
    return f"{len(left)} of {len(tasks)} tasks open: {named}{more}" if left else ""


def left_lines(outcome: Outcome) -> list[str]:
    """Return what became of the goal, and what a run left: open tasks, dismissed teammates, stopped commands."""
    commands = [f"{id_} {cut(one_line(command), _COMMAND_CELLS)}" for id_, command in outcome.stopped.items()]
    lines = [
        outcome.goal.summary if outcome.goal else "",
        open_line(outcome.tasks),
        f"teammates dismissed: {', '.join(outcome.dismissed)}" if outcome.dismissed else "",
        f"background commands stopped: {', '.join(commands)}" if commands else "",
    ]
    return [line for line in lines if line]


def inbox_lines(seen: SeenInbox, now: float) -> list[CleanLine]:
    """Return a member's mail: unread messages first, marked, then the others."""
    items = sorted(mail_items(seen.letters), key=lambda item: item.heard is not False)
    unheard, count = sum(item.heard is False for item in items), len(items) + seen.before
    what = f"{count} message{'' if count == 1 else 's'}" if seen.member == USER else f"{unheard} unread"
    head: list[CleanLine] = [(Cell(one_line(f"{seen.member}@{seen.team}: {what}")),)]
    lines = [line for item in items for line in mail_lines(item, seen.team, seen.colours, now)]
    more: list[CleanLine] = [(Cell(f"{seen.before} more before these"),)] if seen.before else []
    return [*head, *lines, *more]


def mail_lines(item: MailItem, team: str, colours: Mapping[str, str], now: float) -> list[CleanLine]:
    """Return a complete message: its sender, kind and age, and its text below."""
    mark = "* " if item.heard is False else "  "
    kind = f" {item.title}" if item.title else ""
    request = f" ({one_line(item.request_id)})" if item.request_id else ""
    rest = Cell(f"{kind}{request}, {ago(now - item.envelope.timestamp)} ago")
    words = [(Cell(f"    {line}".rstrip()),) for line in clean(item.text).splitlines()]
    return [(Cell(mark), named(item.sender, team, colours), rest), *words]


def cost_lines(seen: SeenCost, sheet: Sheet) -> list[CleanLine]:
    """Return what a team has used and spent, by member and model."""
    rows: list[Sequence[Cell | str]] = [["member", "model", "model calls", "tokens in", "out", "cost"]]
    rows += [[member, model, *_sum_cells(one)] for member, model, one in seen.rows]
    rows.append(["all", "", *_sum_cells(seen.total)])
    lines = [(Cell(f"team {seen.team}"),), *sheet.lines(rows, gives=1, keeps=len(rows[0]) - 1)]
    if seen.put_away.calls:
        away = f"and in archived teams: {seen.put_away.calls:,} model calls, {dollars(seen.put_away)}"
        lines.append((Cell(away),))
    return lines


def _sum_cells(one: Sum) -> list[str]:
    return [f"{one.calls:,}", f"{one.usage.prompt:,}", f"{one.usage.output:,}", dollars(one)]


def dollars(one: Sum) -> str:
    """Return what calls cost, as far as prices are known."""
    if one.unpriced == one.calls and one.calls:
        return "price unknown"
    unknown = f" and {one.unpriced:,} call{'' if one.unpriced == 1 else 's'} of unknown price" if one.unpriced else ""
    return f"${one.cost:.4f}{unknown}"


def short_dollars(one: Sum) -> str:
    """Return what calls cost, short enough for a table column."""
    if one.unpriced == one.calls and one.calls:
        return "unknown"
    return f"{'> ' if one.unpriced else ''}${one.cost:.4f}"
