"""Members, board, mail and cost as lines.

The CLI prints these lines, and chat commands reply with them. `text_tables` has sheets and cells.
"""

from collections.abc import Iterable, Mapping, Sequence

from deskmate.app import LEAD, USER, Outcome, Status, Sum, status_detail, status_word
from deskmate.faces.common.terminal_text import clean, cut, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet, ago, named
from deskmate.queries.member_view import Letter, SeenInbox
from deskmate.queries.team_view import SeenBoard, SeenCost, SeenMember, SeenTask, SeenTeam

_OPEN_NAMED, _SUBJECT_CELLS, _COMMAND_CELLS = 5, 40, 80
_WORDS = {"completed": "done", "in_progress": "in progress", "pending": "free"}


def status_text(status: Status) -> str:
    """Return what a member is doing, and why if that is known."""
    word, detail = status_word(status), status_detail(status)
    return f"{word}: {detail}" if detail else word


def sandbox_of(level: str) -> str:
    """Return in words how commands are confined, or "" if that was never recorded."""
    return {"": "", "none": "no sandbox"}.get(level, f"sandbox {level}")


def role_of(member: SeenMember) -> str:
    """Return a member's role, or "" if it only repeats the name."""
    return member.role if member.role != member.name else ""


def colours_of(members: Iterable[SeenMember]) -> dict[str, str]:
    """Return the colours of members by name. Members without a colour are left out."""
    return {member.name: member.colour for member in members if member.colour}


def sender_of(name: str) -> str:
    """Return the member that a name stands for. For a subagent, that is the member that started it."""
    return name.partition(":")[0]


def member_lines(team: str, members: Iterable[SeenMember], sheet: Sheet, now: float) -> list[CleanLine]:
    """Return a line for each member: its status and since when, its task, and its cost."""
    rows: list[list[Cell | str]] = [
        [
            Cell(f"{member.name}@{team}", member.colour or None),
            role_of(member),
            status_text(member.status),
            ago(now - member.since),
            f"#{member.task}" if member.task is not None else "",
            dollars(member.spent),
        ]
        for member in members
    ]
    return sheet.lines(rows, gives=2)


def teams_lines(teams: Iterable[SeenTeam], sheet: Sheet, now: float) -> list[CleanLine]:
    """Return a line for each team. Teams that were never used and do not run are left out, unless they are damaged."""
    shown = [team for team in teams if team.begun or team.live or team.damage]
    rows: list[Sequence[Cell | str]] = [["team", "title", "state", "tasks", "cost", "age"]]
    rows += [_team_row(team, now) for team in shown]
    return sheet.lines(rows, gives=1, keeps=2)


def _team_row(team: SeenTeam, now: float) -> list[Cell | str]:
    tasks = f"{team.done_tasks}/{team.done_tasks + team.open_tasks}"
    age = ago(now - team.written) if team.written else ""
    return [team.name, team.title, team.state, tasks, short_dollars(team.spent), age]


def board_lines(seen: SeenBoard, sheet: Sheet) -> list[CleanLine]:
    """Return the tasks of a team, and what blocks each."""
    done = sum(task.status == "completed" for task in seen.tasks)
    head = f"team {seen.team}: {done} of {len(seen.tasks)} tasks done" if seen.tasks else f"team {seen.team}: no tasks"
    return [(Cell(head),), *sheet.lines([_task_row(task, seen.colours) for task in seen.tasks], gives=2)]


def _task_row(task: SeenTask, colours: Mapping[str, str]) -> list[Cell | str]:
    owner = Cell(f"@{task.owner}", colours.get(task.owner)) if task.owner else ""
    waits = f"blocked by {numbers(task.waits_for)}" if task.waits_for else ""
    role = f"for {task.role}" if task.role else ""
    return [f"#{task.id}", state_of(task), task.subject, waits, owner, role, _authors(task), _proof(task)]


def _authors(task: SeenTask) -> str:
    """Return which teammates wrote a task. Lead and user are not named, because they may give any order."""
    created = f"by {task.created_by}" if task.created_by not in (LEAD, USER) else ""
    edited = [name for name in task.edited_by if name not in (LEAD, USER)]
    return ", ".join(filter(None, [created, f"edited by {', '.join(edited)}" if edited else ""]))


def open_line(tasks: Sequence[SeenTask]) -> str:
    """Return how many tasks are not done and the first few of them, or "" if all are done."""
    left = [task for task in tasks if task.status != "completed"]
    named = ", ".join(f"#{task.id} {cut(one_line(task.subject), _SUBJECT_CELLS)}" for task in left[:_OPEN_NAMED])
    more = f" and {len(left) - _OPEN_NAMED} more" if len(left) > _OPEN_NAMED else ""
    return f"{len(left)} of {len(tasks)} tasks open: {named}{more}" if left else ""


def left_lines(outcome: Outcome) -> list[str]:
    """Return what a run left: open tasks, dismissed teammates, stopped commands."""
    commands = [f"{id_} {cut(one_line(command), _COMMAND_CELLS)}" for id_, command in outcome.stopped.items()]
    lines = [
        open_line(outcome.tasks),
        f"teammates dismissed: {', '.join(outcome.dismissed)}" if outcome.dismissed else "",
        f"background commands stopped: {', '.join(commands)}" if commands else "",
    ]
    return [line for line in lines if line]


def state_of(task: SeenTask) -> str:
    """Return a word for how far a task is."""
    if task.waits_for:
        return "blocked"
    return "given" if task.status == "pending" and task.owner else _WORDS.get(task.status, task.status)


def _proof(task: SeenTask) -> str:
    if task.verify is None:
        return ""
    return f"verified by {task.verify}" if task.receipt else f"to verify: {task.verify}"


def inbox_lines(seen: SeenInbox, now: float) -> list[CleanLine]:
    """Return a member's mail: unread messages first, marked, then the others."""
    unheard = [letter for letter in seen.letters if letter.heard is False]
    rest = [letter for letter in seen.letters if letter.heard is not False]
    count = len(seen.letters) + seen.before
    what = f"{count} message{'' if count == 1 else 's'}" if seen.member == "user" else f"{len(unheard)} unread"
    lines: list[CleanLine] = [(Cell(one_line(f"{seen.member}@{seen.team}: {what}")),)]
    for letter in [*unheard, *rest]:
        lines += letter_lines(letter, seen.team, seen.colours, now)
    return [*lines, (Cell(f"{seen.before} more before these"),)] if seen.before else lines


def letter_lines(letter: Letter, team: str, colours: Mapping[str, str], now: float) -> list[CleanLine]:
    """Return a complete message: its sender, kind and age, and its text below."""
    mark = "* " if letter.heard is False else "  "
    kind = "" if letter.kind in ("message", "broadcast") else f" {letter.kind.replace('_', ' ')}"
    answer = "" if "approve" not in letter.fields else ": yes" if letter.fields["approve"] else ": no"
    request = f" ({one_line(str(letter.fields['request_id']))})" if "request_id" in letter.fields else ""
    to_all = " to all" if letter.kind == "broadcast" else ""
    rest = Cell(f"{to_all}{kind}{answer}{request}, {ago(now - letter.at)} ago")
    words = [(Cell(f"    {line}".rstrip()),) for line in clean(letter.text).splitlines()]
    return [(Cell(mark), named(letter.sender, team, colours), rest), *words]


def cost_lines(seen: SeenCost, sheet: Sheet) -> list[CleanLine]:
    """Return what a team has used and spent, by member and model."""
    rows: list[Sequence[Cell | str]] = [["member", "model", "calls", "tokens in", "out", "cost"]]
    rows += [[member, model, *_sum_cells(one)] for member, model, one in seen.rows]
    rows.append(["all", "", *_sum_cells(seen.total)])
    lines = [(Cell(f"team {seen.team}"),), *sheet.lines(rows, gives=1, keeps=len(rows[0]) - 1)]
    if seen.put_away.calls:
        away = f"and in archived teams: {seen.put_away.calls:,} calls, {dollars(seen.put_away)}"
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


def numbers(ids: Sequence[int]) -> str:
    """Return task numbers as they are written everywhere."""
    return ", ".join(f"#{id_}" for id_ in ids)
