"""The schedules of a team: created, deleted, and recorded as due by one process.

The stream is decided on as it is appended to: of several processes that see a due time, one records it.
"""

import logging
from collections.abc import Callable
from datetime import UTC
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from deskmate.core.log.names import SCHEDULE
from deskmate.core.log.records import Decision
from deskmate.core.schedule import schedules
from deskmate.core.schedule.due_times import due, next_due
from deskmate.core.schedule.schedules import (
    CONTENT_CAP,
    EMPTY,
    NewSchedule,
    Schedule,
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleDone,
    ScheduleDue,
    ScheduleEvent,
    ScheduleState,
    refusal,
    unknown_schedule,
)
from deskmate.core.schedule.when_text import checked_cron, moment_text, seconds_of
from deskmate.errors import BadInput, Refused
from deskmate.runtime.streams.log_writer import Folded, LogWriter

_LOG = logging.getLogger(__name__)
_Make: TypeAlias = Callable[[ScheduleState], ScheduleEvent]


class ScheduleList:
    """The schedules of one team, as this process sees them. `local_zone`: of cron lines without a time zone."""

    def __init__(self, writer: LogWriter, local_zone: str = "UTC") -> None:
        self.writer, self._local_zone = writer, local_zone
        self._folded = Folded(writer.store, SCHEDULE, EMPTY, schedules.fold)
        self._unknown_zones = set[str]()

    @property
    def state(self) -> ScheduleState:
        """The schedules as last read."""
        return self._folded.state

    async def refresh(self) -> ScheduleState:
        """Read what is new and return the schedules."""
        return await self._folded.refresh()

    async def create(self, by: str, new: NewSchedule, *, cause: str | None = None) -> Schedule:
        """Create a schedule under the next number. A repeated cause returns the one that it created.

        Raises BadInput for times that are not possible, and Refused if there are too many schedules.
        """
        if bool(new.cron) == bool(new.every):
            raise BadInput("A schedule has either a cron line or an interval", "Give one of both.")
        if not new.content.strip() and not new.subject.strip():
            raise BadInput("There is nothing to do", "Say what, as you would tell the lead.")
        if len(new.content) > CONTENT_CAP:
            raise BadInput(f"A schedule has at most {CONTENT_CAP:,} characters", "Put the text in a file, and name it.")
        cron = checked_cron(new.cron) if new.cron else None
        every = seconds_of(new.every) if new.every else None
        name = new.zone or self._local_zone
        # Only to find out whether there is such a zone.
        zone_of(name)

        def event(state: ScheduleState) -> ScheduleCreated:
            return ScheduleCreated(
                schedule=state.next_id,
                by=by,
                at=self.writer.clock.timestamp(),
                cause=cause,
                cron=cron,
                every=every,
                zone=name,
                repeats=new.repeats,
                content=new.content,
                subject=new.subject or None,
                missed=new.missed,
            )

        made = await self._decide(event, cause)
        return self.state.schedules[made]

    async def delete(self, by: str, schedule: int, *, cause: str | None = None) -> Schedule:
        """Delete a schedule. Raises Refused with those that there are if it is not one of them."""

        def event(state: ScheduleState) -> ScheduleDeleted:
            if schedule not in state.schedules:
                raise Refused(unknown_schedule(state, schedule))
            return ScheduleDeleted(schedule=schedule, by=by, at=self.writer.clock.timestamp(), cause=cause)

        deleted = await self._decide(event, cause)
        return self.state.schedules[deleted]

    async def record_due(self) -> list[Schedule]:
        """Record which schedules are due now. Return those that this process recorded, which must do what they say."""
        zones = [(one, self._zone(one)) for one in (await self.refresh()).active]
        return [self.state.schedules[one.id] for one, zone in zones if zone and await self._is_mine(one, zone)]

    async def record_done(self, schedule: Schedule, *, task: int | None = None, flaw: str | None = None) -> None:
        """Record that what was due is done. Another process may have recorded it meanwhile."""
        done = ScheduleDone(schedule=schedule.id, times=schedule.times, task=task, flaw=flaw, at=self._now())

        def event(state: ScheduleState) -> Decision[None]:
            return Decision(None if refusal(state, done) else done.body(), None)

        await self._folded.decide(self.writer, event)

    def next_due(self, schedule: Schedule) -> float | None:
        """Return when a schedule is due next; None if never again."""
        zone = self._zone(schedule)
        return next_due(schedule, zone, self._now()) if zone else None

    def moment_text(self, schedule: Schedule, moment: float) -> str:
        """Return a moment in the time zone of a schedule."""
        return moment_text(moment, self._zone(schedule) or UTC)

    def _zone(self, schedule: Schedule) -> ZoneInfo | None:
        """Return the time zone of a schedule. If this machine does not know it, say so once and return None."""
        name = schedule.created.zone
        try:
            return zone_of(name)
        except BadInput as error:
            if name not in self._unknown_zones:
                _LOG.warning("Schedule %d is not followed here. %s", schedule.id, error)
            self._unknown_zones.add(name)
            return None

    async def _is_mine(self, known: Schedule, zone: ZoneInfo) -> bool:
        """Record that a schedule is due or that due times are skipped. Return whether this process must act."""

        def decided(state: ScheduleState) -> Decision[bool]:
            found = due(state.schedules[known.id], zone, self._now())
            if found is None or refusal(state, found):
                return Decision(None, False)
            return Decision(found.body(), isinstance(found, ScheduleDue))

        # Most looks find nothing, and need no write.
        return due(known, zone, self._now()) is not None and await self._folded.decide(self.writer, decided)

    def _now(self) -> float:
        return self.writer.clock.timestamp()

    async def _decide(self, event: _Make, cause: str | None) -> int:
        """Record an event unless its cause has one already. Return the schedule. Raises Refused if it cannot be."""

        def decided(state: ScheduleState) -> Decision[int | str]:
            if cause is not None and cause in state.causes:
                return Decision(None, state.causes[cause])
            made = event(state)
            if why := refusal(state, made):
                return Decision(None, why)
            return Decision(made.body(), made.schedule)

        outcome = await self._folded.decide(self.writer, decided)
        if isinstance(outcome, str):
            raise Refused(outcome)
        return outcome


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by name. Raises BadInput."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadInput(
            f"There is no time zone '{name[:60]}' on this machine", "Use a name such as Europe/Berlin or UTC."
        ) from error
