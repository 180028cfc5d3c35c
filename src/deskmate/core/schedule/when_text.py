"""Times and intervals as people write and read them: `10m`, `0 9 * * 1-5`."""

import re
from datetime import datetime, tzinfo

from deskmate.core.schedule.schedules import Missed, NewSchedule, Schedule, ScheduleCreated
from deskmate.errors import BadInput

SHORTEST_SECONDS = 10.0
_SHOWN_CHARS = 80
_LONGEST_SECONDS = 366 * 86_400.0
_INTERVAL = re.compile(r"([1-9][0-9]{0,6})\s*(s|m|h|d)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CRON_FIELDS = 5


def new_schedule(
    when: str, content: str, *, zone: str = "", repeats: bool = True, subject: str = "", missed: Missed = "once"
) -> NewSchedule:
    """Return a schedule for a time as it was typed: an interval, or a cron line."""
    cron, every = ("", when) if is_interval(when) else (when, "")
    return NewSchedule(content, cron, every, zone, repeats, subject, missed)


def seconds_of(interval: str) -> float:
    """Return the seconds of an interval such as `10m`. Raises BadInput."""
    found = _INTERVAL.fullmatch(interval.strip().lower())
    if not found:
        raise BadInput(f"'{interval[:40]}' is not an interval", "Write a number and s, m, h or d, such as 10m or 2h.")
    seconds = float(found[1]) * _UNITS[found[2]]
    if not SHORTEST_SECONDS <= seconds <= _LONGEST_SECONDS:
        raise BadInput(f"An interval of {interval} is not possible", "Use 10s to 366d.")
    return seconds


def is_interval(text: str) -> bool:
    """Tell whether a text is written like an interval."""
    return _INTERVAL.fullmatch(text.strip().lower()) is not None


def checked_cron(line: str) -> str:
    """Return a cron line with five fields and single spaces. Raises BadInput with what is wrong."""
    from cronsim import CronSim, CronSimError

    fields = line.split()
    if len(fields) != _CRON_FIELDS:
        raise BadInput(
            f"'{line[:60]}' has {len(fields)} fields, and a cron line has 5",
            "Write minute, hour, day, month and weekday, such as '0 9 * * 1-5'.",
        )
    try:
        # Any moment will do: only the syntax is checked.
        CronSim(" ".join(fields), datetime(2026, 1, 1))  # noqa: DTZ001
    except CronSimError as error:
        raise BadInput(
            f"'{line[:60]}' is not a cron line: {error}",
            "For example, '*/15 9-17 * * 1-5' is every 15 minutes in working hours.",
        ) from error
    return " ".join(fields)


def when_of(created: ScheduleCreated) -> str:
    """Return when a schedule is due: `every 10m`, `0 9 * * 1-5 Europe/Berlin`."""
    times = f"every {interval_text(created.every)}" if created.every else f"{created.cron} {created.zone}"
    return times if created.repeats else f"once: {times}"


def interval_text(seconds: float) -> str:
    """Return an interval with the largest unit that gives a whole number."""
    unit = next((unit for unit in "dhm" if seconds % _UNITS[unit] == 0), "s")
    return f"{seconds / _UNITS[unit]:.0f}{unit}"


def moment_text(moment: float, zone: tzinfo) -> str:
    """Return a moment in a time zone: `2026-11-19 09:00:00 CET`."""
    return datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def schedule_line(schedule: Schedule, due: str) -> str:
    """Return a schedule on one line. `due`: when it is due next, empty if never again."""
    created, last = schedule.created, schedule.last
    what = " ".join((f"task: {created.subject}" if created.subject else created.content).split())
    facts = [
        f"next {due}" if due else "over",
        f"done {schedule.times} {'time' if schedule.times == 1 else 'times'}" if schedule.times else "",
        f"missed {schedule.skipped}" if schedule.skipped else "",
        f"last failed: {last.flaw}" if last and last.flaw else "",
    ]
    shown = what if len(what) <= _SHOWN_CHARS else f"{what[: _SHOWN_CHARS - 1]}…"
    return f"{schedule.id} ({when_of(created)}, by {created.by}): {shown} ({', '.join(filter(None, facts))})"
