"""Schedules as records: created, due, done, skipped, deleted.

A schedule belongs to the first team of a lead. That it is due is recorded first, by one process, whichever is first.
Then that process sends the message or creates the task, and records that too. If it is killed in between, another
process sees what is not done and does it again, under the same id. So each due time has one effect.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

from pydantic import StrictBool, StrictInt

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.records import Damaged, Item, Json
from deskmate.core.values import frozen

MOST_ACTIVE = 100
CONTENT_CAP = 20_000
# A clock that was wrong by more than this, and is right again, must not stop a schedule for years.
_AHEAD_SECONDS = 86_400.0
_NOTES = 20
Missed: TypeAlias = Literal["once", "skip"]


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """What somebody wants to be done, and when. Give `cron` or `every`, such as `10m`.

    `zone`: the time zone of the cron line, by default that of this machine. `subject`: create a task, with `content` as
    its description. Without it, `content` is sent to the lead.
    """

    content: str
    cron: str = ""
    every: str = ""
    zone: str = ""
    repeats: bool = True
    subject: str = ""
    missed: Missed = "once"


class ScheduleCreated(Fact):
    """Something will be done at certain times: every so many seconds, or at the times of a cron line in a time zone.

    `subject`: a task is created each time. Without it, the lead is sent `content`. `missed`: what happens if nobody
    runs at a due time. `once`: it is done once, late. `skip`: it is not done.
    """

    type: Literal["schedule_created"] = "schedule_created"
    schedule: StrictInt
    by: str
    at: float
    cause: str | None = None
    cron: str | None = None
    every: float | None = None
    zone: str
    repeats: StrictBool = True
    content: str
    subject: str | None = None
    missed: Missed = "once"


class ScheduleDue(Fact):
    """A due time came, and the process that recorded it does what is scheduled. `missed`: due times before it."""

    type: Literal["schedule_due"] = "schedule_due"
    schedule: StrictInt
    due: float
    missed: StrictInt = 0
    at: float


class ScheduleDone(Fact):
    """What was scheduled for a due time is done, for the `times`-th time. `flaw`: why it was not possible."""

    type: Literal["schedule_done"] = "schedule_done"
    schedule: StrictInt
    times: StrictInt
    task: StrictInt | None = None
    flaw: str | None = None
    at: float


class ScheduleSkipped(Fact):
    """Due times up to `due` passed while nobody ran, and are skipped.

    None were missed if the clock was far ahead. Then the schedule counts from `due` on.
    """

    type: Literal["schedule_skipped"] = "schedule_skipped"
    schedule: StrictInt
    due: float
    missed: StrictInt
    at: float


class ScheduleDeleted(Fact):
    """A schedule was deleted."""

    type: Literal["schedule_deleted"] = "schedule_deleted"
    schedule: StrictInt
    by: str
    at: float
    cause: str | None = None


ScheduleEvent: TypeAlias = ScheduleCreated | ScheduleDue | ScheduleDone | ScheduleSkipped | ScheduleDeleted
KINDS: tuple[type[ScheduleEvent], ...] = (
    ScheduleCreated,
    ScheduleDue,
    ScheduleDone,
    ScheduleSkipped,
    ScheduleDeleted,
)
read_schedule_event: Callable[[Json], ScheduleEvent | Foreign] = reader(*KINDS)


@frozen
class Schedule:
    """A schedule as it is now. `since`: due times up to then are done or skipped. `times`: how often it was due.

    `open`: what is recorded as due and not yet as done. `last`: how the last time ended. `skipped`: how many due times
    passed without effect. `over`: it was deleted, or it was for one time only.
    """

    created: ScheduleCreated
    since: float
    times: int = 0
    open: ScheduleDue | None = None
    last: ScheduleDone | None = None
    skipped: int = 0
    over: bool = False

    @property
    def id(self) -> int:
        """Its number."""
        return self.created.schedule

    @property
    def effect_id(self) -> str:
        """The id of what is done for its last due time. A second attempt uses the same id."""
        return f"schedule/{self.id}/{self.times}"


@frozen
class ScheduleState:
    """All schedules of a team. `causes`: the tool calls that created or deleted some, and which."""

    number: int = 0
    schedules: Mapping[int, Schedule] = field(default_factory=dict)
    causes: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def next_id(self) -> int:
        """The number of the next schedule."""
        return max(self.schedules, default=0) + 1

    @property
    def active(self) -> list[Schedule]:
        """The schedules that will be due again, in order."""
        return [one for one in self.schedules.values() if not one.over]

    @property
    def undone(self) -> list[Schedule]:
        """The schedules with a due time that is not done, also those that are over since."""
        return [one for one in self.schedules.values() if one.open]


EMPTY = ScheduleState()


def refusal(state: ScheduleState, event: ScheduleEvent) -> str | None:
    """Return why an event cannot happen now; None if it can."""
    found = state.schedules.get(event.schedule)
    if isinstance(event, ScheduleCreated):
        if found:
            return f"Schedule {event.schedule} exists already."
        most = f"There are {MOST_ACTIVE} schedules already. Delete one first." if _is_full(state) else None
        return most if bool(event.cron) != bool(event.every) else "A schedule has either a cron line or an interval."
    if found is None:
        return unknown_schedule(state, event.schedule)
    match event:
        case ScheduleDue():
            return "It is not due." if found.over or found.open or event.due <= found.since else None
        case ScheduleDone():
            return None if found.open and event.times == found.times else "That due time is done already."
        case ScheduleSkipped(due=due):
            counts = due > found.since or is_far_ahead(found.since, due)
            return None if counts and not found.over and not found.open else "It is not due."
        case ScheduleDeleted():
            return f"Schedule {found.id} is over already." if found.over else None
        case unreachable:
            assert_never(unreachable)


def unknown_schedule(state: ScheduleState, schedule: int) -> str:
    """Return the sentence that says which schedules there are instead."""
    ids = ", ".join(str(one.id) for one in state.active)
    return f"There is no schedule {schedule}. {f'There are: {ids}.' if ids else 'There are none.'}"


def is_far_ahead(since: float, now: float) -> bool:
    """Tell whether a due time that was reached is so far ahead that the clock must have been wrong."""
    return since > now + _AHEAD_SECONDS


def _is_full(state: ScheduleState) -> bool:
    return len(state.active) >= MOST_ACTIVE


def fold(state: ScheduleState, items: Iterable[Item]) -> ScheduleState:
    """Return the state after these items. Records that the rules refuse are skipped and noted."""
    for item in items:
        state = replace(state, number=item.number)
        if isinstance(item, Damaged):
            continue
        event = read_schedule_event(item.body)
        why = event.reason if isinstance(event, Foreign) else refusal(state, event)
        if why or isinstance(event, Foreign):
            state = replace(state, notes=(*state.notes, f"record {item.number}: {why}")[-_NOTES:])
        else:
            state = _apply(state, event)
    return state


def _apply(state: ScheduleState, event: ScheduleEvent) -> ScheduleState:
    if isinstance(event, ScheduleCreated | ScheduleDeleted) and event.cause:
        state = replace(state, causes={**state.causes, event.cause: event.schedule})
    if isinstance(event, ScheduleCreated):
        changed = Schedule(event, since=event.at)
    else:
        changed = _changed(state.schedules[event.schedule], event)
    return replace(state, schedules={**state.schedules, event.schedule: changed})


def _changed(schedule: Schedule, event: ScheduleDue | ScheduleDone | ScheduleSkipped | ScheduleDeleted) -> Schedule:
    match event:
        case ScheduleDue(due=due, missed=missed):
            times, skipped = schedule.times + 1, schedule.skipped + missed
            over = not schedule.created.repeats
            return replace(schedule, since=due, times=times, skipped=skipped, open=event, over=over)
        case ScheduleDone():
            return replace(schedule, open=None, last=event)
        case ScheduleSkipped(due=due, missed=missed):
            over = not schedule.created.repeats
            return replace(schedule, since=due, skipped=schedule.skipped + missed, over=over)
        case ScheduleDeleted():
            return replace(schedule, over=True)
        case unreachable:
            assert_never(unreachable)
