"""When schedules are due: intervals, cron lines, time zones, missed times, clocks that jump."""

import os
import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from deskmate.core.log.records import Record
from deskmate.core.schedule.due_times import MOST_COUNTED, due, next_due
from deskmate.core.schedule.schedules import (
    EMPTY,
    Missed,
    Schedule,
    ScheduleCreated,
    ScheduleDone,
    ScheduleDue,
    ScheduleEvent,
    ScheduleSkipped,
    ScheduleState,
    fold,
    refusal,
)

WALKS = 2_000 if os.environ.get("DESKMATE_SOAK") else 25
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
ZONES = (BERLIN, NEW_YORK, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Kathmandu"), UTC)
DAY = 86_400.0


def at(text: str, zone: ZoneInfo = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def created(
    begun: float, *, cron: str | None = None, every: float | None = None, repeats: bool = True, missed: Missed = "once"
) -> ScheduleCreated:
    return ScheduleCreated(
        schedule=1,
        by="lead",
        at=begun,
        cron=cron,
        every=every,
        zone="Europe/Berlin",
        repeats=repeats,
        content="x",
        missed=missed,
    )


def times(line: str, begun: str, count: int, zone: ZoneInfo = BERLIN) -> list[str]:
    """Return the first due times of a cron line, each computed from the one before, as a process that restarts does."""
    schedule, found = Schedule(created(at(begun, zone), cron=line), since=at(begun, zone)), []
    for _ in range(count):
        moment = next_due(schedule, zone, schedule.since)
        assert moment is not None
        found.append(datetime.fromtimestamp(moment, zone).strftime("%m-%d %H:%M %Z"))
        schedule = Schedule(schedule.created, since=moment)
    return found


@pytest.mark.parametrize(
    ("line", "begun", "expected"),
    [
        ("0 0 29 2 *", "2026-11-20 08:00", ["02-29 00:00 CET", "02-29 00:00 CET"]),
        ("0 9 * * 1-5", "2026-11-20 08:00", ["11-20 09:00 CET", "11-23 09:00 CET", "11-24 09:00 CET"]),
        ("*/20 * * * *", "2026-11-20 08:01", ["11-20 08:20 CET", "11-20 08:40 CET", "11-20 09:00 CET"]),
        # The hour from 2 to 3 does not exist on 29 March: due right after the gap, and the next day as usual.
        ("30 2 * * *", "2026-03-28 12:00", ["03-29 03:00 CEST", "03-30 02:30 CEST"]),
        # It comes twice on 25 October: due once.
        ("30 2 * * *", "2026-10-24 12:00", ["10-25 02:30 CEST", "10-26 02:30 CET"]),
        # What is due each hour is due in both.
        ("0 * * * *", "2026-10-25 01:30", ["10-25 02:00 CEST", "10-25 02:00 CET", "10-25 03:00 CET"]),
    ],
)
def test_cron_lines_are_due_in_their_time_zone_also_when_clocks_change(
    line: str, begun: str, expected: list[str]
) -> None:
    assert times(line, begun, len(expected)) == expected


def test_an_interval_is_counted_from_the_creation_and_is_not_due_at_once() -> None:
    schedule = Schedule(created(1000.0, every=600.0), since=1000.0)
    assert due(schedule, UTC, 1599.9) is None
    assert due(schedule, UTC, 1600.0) == ScheduleDue(schedule=1, due=1600.0, missed=0, at=1600.0)
    assert next_due(schedule, UTC, 1000.0) == 1600.0


def test_what_was_missed_is_done_once_and_says_how_often_it_was_missed() -> None:
    schedule = Schedule(created(0.0, every=600.0), since=0.0)
    assert due(schedule, UTC, 3000.0 + 5) == ScheduleDue(schedule=1, due=3000.0, missed=4, at=3005.0)


def test_what_was_missed_can_be_skipped_but_a_due_time_just_now_is_not_missed() -> None:
    schedule = Schedule(created(0.0, every=600.0, missed="skip"), since=0.0)
    assert due(schedule, UTC, 3000.0 + 5) == ScheduleDue(schedule=1, due=3000.0, missed=4, at=3005.0)
    assert due(schedule, UTC, 3000.0 + 300) == ScheduleSkipped(schedule=1, due=3000.0, missed=5, at=3300.0)


def test_years_that_were_missed_are_counted_up_to_a_limit_and_in_bounded_time() -> None:
    schedule = Schedule(created(0.0, cron="* * * * *"), since=0.0)
    found = due(schedule, UTC, 10 * 365 * DAY + 30)
    assert found == ScheduleDue(schedule=1, due=10 * 365 * DAY, missed=MOST_COUNTED - 1, at=10 * 365 * DAY + 30)


def test_a_clock_that_was_years_ahead_does_not_stop_a_schedule() -> None:
    schedule = Schedule(created(0.0, every=600.0), since=365 * DAY)
    reset = due(schedule, UTC, 5000.0)
    assert reset == ScheduleSkipped(schedule=1, due=5000.0, missed=0, at=5000.0)
    assert due(Schedule(schedule.created, since=5000.0), UTC, 5400.0) == ScheduleDue(
        schedule=1, due=5400.0, missed=0, at=5400.0
    )


class Walk:
    """One stream, on which processes with one clock decide as they append."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.zone = rng, rng.choice(ZONES)
        begun = at("2026-01-01 00:00") + rng.uniform(0, 365 * DAY)
        line = rng.choice((None, "*/15 * * * *", "0 * * * *", "30 2 * * *", "15 1-3 * * 0", "0 9 1 * *"))
        self.created = created(
            begun,
            cron=line,
            every=None if line else rng.choice((10.0, 600.0, 7 * 3600.0)),
            repeats=rng.random() < 0.9,
            missed=rng.choice(("once", "skip")),
        )
        self.now, self.fired = begun, list[float]()
        self.state = EMPTY
        self.append(self.created)

    def append(self, event: ScheduleEvent) -> None:
        assert refusal(self.state, event) is None
        self.state = fold(self.state, [Record(self.state.number + 1, event.body())])
        assert self.state.notes == ()

    def look(self) -> ScheduleState:
        """Let a process look: it records what is due on the newest state, and acts. Sometimes it is killed before."""
        schedule = self.state.schedules[1]
        event = due(schedule, self.zone, self.now)
        if event is not None and refusal(self.state, event) is None:
            self.append(event)
            assert event.due <= self.now
            if isinstance(event, ScheduleDue):
                assert event.due not in self.fired
                self.fired.append(event.due)
            elif not event.missed:
                # The clock was set back by more than a day, so the schedule begins again.
                self.fired.clear()
        if self.state.undone and self.rng.random() < 0.7:
            self.append(ScheduleDone(schedule=1, times=self.state.schedules[1].times, at=self.now))
        return self.state


@pytest.mark.parametrize("seed", range(WALKS))
def test_however_the_clock_moves_no_due_time_comes_twice_or_too_early(seed: int) -> None:
    rng = random.Random(seed)
    walk = Walk(rng)
    for _ in range(30):
        jump = rng.choice((1.0, 30.0, 900.0, 3600.0, DAY, 40 * DAY))
        walk.now += jump * rng.choice((1, 1, 1, -1))
        for _ in range(rng.choice((1, 2, 3))):
            walk.look()
    assert walk.fired == sorted(walk.fired)


@pytest.mark.parametrize("seed", range(WALKS))
def test_a_clock_that_only_advances_misses_no_due_time(seed: int) -> None:
    """Each due time is done, or counted as missed: nothing is forgotten between two of them."""
    rng = random.Random(seed)
    walk = Walk(rng)
    if not walk.created.repeats:
        return
    for _ in range(25):
        walk.now += rng.choice((1.0, 60.0, 900.0, 5 * 3600.0))
        walk.look()
        if walk.state.undone:
            walk.append(ScheduleDone(schedule=1, times=walk.state.schedules[1].times, at=walk.now))
    walk.look()
    schedule = walk.state.schedules[1]
    fresh = Schedule(walk.created, since=walk.created.at)
    whole = due(Schedule(walk.created.model_copy(update={"missed": "once"}), since=fresh.since), walk.zone, walk.now)
    counted = whole.missed + 1 if isinstance(whole, ScheduleDue) else 0
    assert min(schedule.times + schedule.skipped, MOST_COUNTED) == counted
