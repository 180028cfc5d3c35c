"""Starts teams that have something to do by the clock.

It only starts the process of a lead, which then does what is due. So a daemon that is killed loses nothing, and two
daemons do nothing twice: a team has one lead, and a due time is recorded once.
"""

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn, TypeAlias

from deskmate.core.agent.entries import AgentParked, Entry, Heard, Said, read_entry
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, SCHEDULE, log, mail
from deskmate.core.log.records import Item, Record
from deskmate.core.schedule.due_times import due, next_due
from deskmate.core.schedule.schedules import EMPTY, ScheduleState, fold
from deskmate.core.team.messages import Scheduled, envelope_in
from deskmate.core.values import frozen
from deskmate.errors import BadInput, DeskmateError
from deskmate.ports import Clock
from deskmate.queries.stream_reader import Reading, teams_at, telling
from deskmate.runtime.schedules.schedule_list import zone_of
from deskmate.runtime.system_clock import SystemClock
from deskmate.trust.chosen_engine import engine_at

# A schedule may be added at any time, the clock may be set, and the machine may sleep.
LOOK_SECONDS = 15.0
# A team that was started and has done nothing about what is due is started again after this time.
AGAIN_SECONDS = 600.0

Start: TypeAlias = Callable[[str], Awaitable[None]]
Tell: TypeAlias = Callable[[str], None]


@frozen
class ClockWork:
    """What a team has to do by the clock. `reason`: why it must run now, empty if it need not.

    `seconds`: until it must. `mark`: changes when the team has done something about it.
    """

    reason: str
    seconds: float
    mark: tuple[int, int]


class TeamDaemon:
    """Follows the schedules of all teams of a workspace.

    `is_own`: whether the user of this process began a team. `start`: starts the process of a team's lead, and raises
    DeskmateError if that is not possible. `tell`: gets a line for everything that happens.
    """

    def __init__(
        self, place: Path, is_own: Callable[[str], bool], start: Start, tell: Tell, clock: Clock | None = None
    ) -> None:
        self._place, self._clock, self._is_own = place, clock or SystemClock(), is_own
        self._start, self._tell = start, tell
        self._started: dict[str, tuple[tuple[int, int], float]] = {}
        self._unchanged: dict[str, float] = {}

    async def keep(self) -> NoReturn:
        """Start teams when they have something to do, until cancelled."""
        while True:
            await self._clock.sleep(min(await self.look(), LOOK_SECONDS))

    async def look(self) -> float:
        """Start the teams that have something to do now. Return the seconds until the next due time."""
        with telling(self._place):
            waits = [await self._look_at(team) for team in teams_at(self._place)]
        return max(min(waits, default=math.inf), 1.0)

    async def _look_at(self, team: str) -> float:
        reading = Reading(self._place, team)
        state = fold(EMPTY, reading.items(SCHEDULE))
        if not state.schedules or not self._is_own(team) or reading.holder() is not None:
            return math.inf
        now, changed = self._clock.timestamp(), engine_at(self._place).written(team)
        # A long transcript is not read again if nothing was written since everything was answered.
        open_ = unanswered_work(reading) if self._unchanged.get(team) != changed else None
        work = open_ or clock_work(state, now)
        if not open_:
            self._unchanged[team] = changed
        if work.reason and self._may_start(team, work.mark):
            self._started[team] = work.mark, self._clock.monotonic()
            await self._begin(team, work.reason)
        return math.inf if work.reason else work.seconds

    def _may_start(self, team: str, mark: tuple[int, int]) -> bool:
        """Tell whether a team was not started before for the same reason, or long ago."""
        before, at = self._started.get(team, ((-1, -1), 0.0))
        return before != mark or self._clock.monotonic() - at >= AGAIN_SECONDS

    async def _begin(self, team: str, reason: str) -> None:
        try:
            await self._start(team)
        except DeskmateError as error:
            self._tell(f"team {team} could not be started, although {reason}: {error}")
        else:
            self._tell(f"started team {team}: {reason}")


def clock_work(state: ScheduleState, now: float) -> ClockWork:
    """Return what the schedules of a team that does not run want."""
    mark, seconds = (state.number, 0), math.inf
    if state.undone:
        return ClockWork(f"schedule {state.undone[0].id} was due and is not done", 0.0, mark)
    for one in state.active:
        try:
            zone = zone_of(one.created.zone)
        except BadInput:
            # The process of the team says so, if it ever runs.
            continue
        if due(one, zone, now) is not None:
            return ClockWork(f"schedule {one.id} is due", 0.0, mark)
        if (moment := next_due(one, zone, now)) is not None:
            seconds = min(seconds, moment - now)
    return ClockWork("", seconds, mark)


def unanswered_work(reading: Reading) -> ClockWork | None:
    """Return what a lead has to do that was killed before it heard or answered the last message of a schedule."""
    last = next(filter(_is_scheduled, reversed(reading.items(mail(LEAD)))), None)
    if last is None:
        return None
    number, heard = 0, False
    for item in reading.items(log(LEAD)):
        number, entry = item.number, read_entry(item.body) if isinstance(item, Record) else None
        if isinstance(entry, Heard) and entry.box == mail(LEAD) and entry.after < last.number <= entry.upto:
            heard = True
        elif heard and _ends_turn(entry):
            return None
    reason = "the lead was stopped before it answered what was scheduled"
    return ClockWork(reason, 0.0, (number, last.number))


def _ends_turn(entry: Entry | Foreign | None) -> bool:
    """Tell whether a lead that was told something would not continue by itself after this entry."""
    match entry:
        case Said(calls=calls, unfinished=unfinished):
            return not calls and not unfinished
        case Heard(mail=letters):
            return any(letter.get("type") == "interrupt" for letter in letters)
        case _:
            return isinstance(entry, AgentParked)


def _is_scheduled(item: Item) -> bool:
    envelope = envelope_in(item)
    return envelope is not None and isinstance(envelope.message, Scheduled)
