"""When a schedule is due.

Cron lines are read by `cronsim`, with the rules of Debian's cron: a time that does not exist because clocks go forward
is due right after the gap, and a time that comes twice is due once. Intervals count from the creation of the schedule.
"""

import math
from collections.abc import Iterator
from datetime import datetime, tzinfo
from itertools import islice

from deskmate.core.schedule.schedules import Schedule, ScheduleCreated, ScheduleDue, ScheduleSkipped, is_far_ahead

# A running process acts on a due time within this time. Later than that, the due time was missed.
ON_TIME_SECONDS = 120.0
# At most this many missed due times are counted.
MOST_COUNTED = 100


def due(schedule: Schedule, zone: tzinfo, now: float) -> ScheduleDue | ScheduleSkipped | None:
    """Return what to record of a schedule: that it is due, that due times are skipped, or None."""
    if schedule.over or schedule.open:
        return None
    if is_far_ahead(schedule.since, now):
        # From here on it counts again.
        return ScheduleSkipped(schedule=schedule.id, due=now, missed=0, at=now)
    latest, count = _latest(schedule, zone, now)
    if not count:
        return None
    if schedule.created.missed == "skip" and now - latest > ON_TIME_SECONDS:
        return ScheduleSkipped(schedule=schedule.id, due=latest, missed=count, at=now)
    return ScheduleDue(schedule=schedule.id, due=latest, missed=count - 1, at=now)


def next_due(schedule: Schedule, zone: tzinfo, now: float) -> float | None:
    """Return when a schedule is due next; None if never again."""
    if schedule.over:
        return None
    since = now if is_far_ahead(schedule.since, now) else schedule.since
    return next(_times(schedule.created, zone, since), None)


def _latest(schedule: Schedule, zone: tzinfo, now: float) -> tuple[float, int]:
    """Return the latest due time until now and how many there were, at most MOST_COUNTED."""
    latest, count = 0.0, 0
    start = schedule.since
    while True:
        batch = [time for time in islice(_times(schedule.created, zone, start), MOST_COUNTED) if time <= now]
        if batch:
            latest, count = batch[-1], min(count + len(batch), MOST_COUNTED)
        if len(batch) < MOST_COUNTED:
            return latest, count
        # There are more. Leave out what lies between: as long a time as these took is enough before now.
        start = max(latest, now - (latest - start))


def _times(created: ScheduleCreated, zone: tzinfo, after: float) -> Iterator[float]:
    """Yield the due times after a moment, in order."""
    if created.every:
        number = math.floor((after - created.at) / created.every)
        while True:
            number += 1
            # Rounding may give the due time itself again.
            if (due_at := created.at + number * created.every) > after:
                yield due_at
    # Imported here: most teams have no schedule.
    from cronsim import CronSim

    for moment in CronSim(str(created.cron), datetime.fromtimestamp(after, zone)):
        yield moment.timestamp()
