"""Schedules of a team, as the user looks at them and changes them.

Schedules belong to the first team of a lead. A team that it created from there has none of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deskmate.app.user_actions import open_team
from deskmate.config import local_zone
from deskmate.core.log.names import USER
from deskmate.core.schedule.schedules import NewSchedule, Schedule
from deskmate.core.schedule.when_text import schedule_line
from deskmate.core.values import frozen
from deskmate.queries.stream_reader import team_at, workspace_at
from deskmate.runtime.schedules.schedule_list import ScheduleList
from deskmate.trust.folders import home_of


@frozen
class SeenSchedule:
    """A schedule. `next_due`: when it is due next, None if never again. `line`: all of it, on one line."""

    schedule: Schedule
    next_due: float | None
    line: str

    @classmethod
    def of(cls, schedule: Schedule, schedules: ScheduleList) -> "SeenSchedule":
        """Return a schedule as it is now."""
        due = schedules.next_due(schedule)
        line = schedule_line(schedule, schedules.moment_text(schedule, due) if due is not None else "")
        return cls(schedule, due, line)


@frozen
class SeenSchedules:
    """The schedules of a team. `live`: whether a process runs the team."""

    team: str
    live: bool
    schedules: tuple[SeenSchedule, ...]


async def add_schedule(folder: Path | None, team: str | None, new: NewSchedule) -> SeenSchedules:
    """Create a schedule in the name of the user, and return it. Raises BadInput or Refused."""
    with _opened(folder, team) as (name, live, schedules):
        made = await schedules.create(USER, new)
        return SeenSchedules(name, live, (SeenSchedule.of(made, schedules),))


async def look_at_schedules(folder: Path | None, team: str | None, *, all_: bool) -> SeenSchedules:
    """Return the schedules that will be due again. `all_`: also those that are over."""
    with _opened(folder, team) as (name, live, schedules):
        state = await schedules.refresh()
        shown = [*state.schedules.values()] if all_ else state.active
        return SeenSchedules(name, live, tuple(SeenSchedule.of(one, schedules) for one in shown))


async def remove_schedule(folder: Path | None, team: str | None, schedule: int) -> SeenSchedules:
    """Delete a schedule, and return it. Raises Refused with those that there are."""
    with _opened(folder, team) as (name, live, schedules):
        await schedules.refresh()
        removed = await schedules.delete(USER, schedule)
        return SeenSchedules(name, live, (SeenSchedule.of(removed, schedules),))


@contextmanager
def _opened(folder: Path | None, team: str | None) -> Iterator[tuple[str, bool, ScheduleList]]:
    """Open the first team of the lead of a team, for its schedules."""
    place = workspace_at(folder)
    name = home_of(place, team_at(place, team))
    with open_team(place, name) as opened:
        yield name, opened.reading.holder() is not None, ScheduleList(opened.writer, local_zone())
