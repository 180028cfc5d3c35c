"""What a team shows about parallel work: its critical path, where members waited, what one agent would cost."""

from pathlib import Path

from deskmate.core.advice import (
    MemberTimes,
    PaidCall,
    SoloEstimate,
    WorkedTask,
    critical_path,
    member_times,
    solo_estimate,
)
from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND
from deskmate.core.log.records import Record
from deskmate.core.team import board_fold, roster_records, spending, tasks
from deskmate.core.values import frozen
from deskmate.queries.stream_reader import Reading, reading_of


@frozen
class TeamAdvice:
    """What a team shows. `path`: its critical path. `cost`: None if a price is not known. `solo`: one agent instead."""

    team: str
    done: int
    seconds: float
    cost: float | None
    path: tuple[WorkedTask, ...]
    members: tuple[MemberTimes, ...]
    solo: SoloEstimate | None
    damage: tuple[str, ...]


def look_at_advice(folder: Path | None, team: str | None) -> TeamAdvice:
    """Return what a team shows about parallel work. Raises Refused if there is none of that name."""
    reading = reading_of(folder, team)
    worked, calls = _tasks(reading), _calls(reading)
    members, seconds = _members(reading, [at for at, _ in calls])
    paid = [call for _, call in calls]
    known = all(call.cost is not None for call in paid)
    return TeamAdvice(
        team=reading.team,
        done=len(worked),
        seconds=seconds,
        cost=sum(call.cost or 0.0 for call in paid) if known else None,
        path=tuple(critical_path(worked)),
        members=members,
        solo=solo_estimate(paid, LEAD, sum(member.worked for member in members)),
        damage=reading.damage,
    )


def _tasks(reading: Reading) -> list[WorkedTask]:
    items = reading.items(BOARD)
    board, began, found = board_fold.fold(tasks.EMPTY, items), dict[int, float](), dict[int, WorkedTask]()
    for item in items:
        event = tasks.read_event(item.body) if isinstance(item, Record) else None
        if isinstance(event, tasks.Claimed):
            began[event.task] = event.at
        elif isinstance(event, tasks.Completed) and event.task in board.tasks:
            task = board.tasks[event.task]
            seconds = max(event.at - began.get(task.id, event.at), 0.0)
            found[task.id] = WorkedTask(task.id, task.subject, task.owner or "", seconds, task.blocked_by)
    return list(found.values())


def _calls(reading: Reading) -> list[tuple[float, PaidCall]]:
    found = list[tuple[float, PaidCall]]()
    for item in reading.items(SPEND):
        one = spending.read_spent(item.body) if isinstance(item, Record) else None
        if isinstance(one, spending.Spent):
            prompt = one.input + one.cache_read + one.cache_write
            # Subagents count towards the member that started them.
            found.append((one.at, PaidCall(one.member.partition(":")[0], prompt, one.cost)))
    return found


def _members(reading: Reading, paid_at: list[float]) -> tuple[tuple[MemberTimes, ...], float]:
    """Return how teammates spent their time, and how long the team worked: from the first of them to its last call."""
    statuses, ends = dict[str, list[tuple[float, str]]](), dict[str, float]()
    for item in reading.items(ROSTER):
        match roster_records.read_event(item.body) if isinstance(item, Record) else None:
            case roster_records.Joined(name=name, at=at) | roster_records.MemberWorking(name=name, at=at):
                statuses.setdefault(name, []).append((at, "working"))
            case roster_records.MemberIdle(name=name, at=at):
                statuses.setdefault(name, []).append((at, "idle"))
            case roster_records.MemberWaiting(name=name, on=on, at=at):
                statuses.setdefault(name, []).append((at, on))
            case roster_records.MemberParked(name=name, at=at):
                statuses.setdefault(name, []).append((at, "parked"))
            case roster_records.MemberLeft(name=name, at=at):
                ends[name] = at
    statuses.pop(LEAD, None)
    last = max([*paid_at, *ends.values()], default=0.0)
    times = tuple(member_times(name, all_, ends.get(name, last)) for name, all_ in statuses.items())
    first = min((all_[0][0] for all_ in statuses.values()), default=last)
    return times, max(last - first, 0.0)
