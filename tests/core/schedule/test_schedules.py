"""Schedules as records: what may be recorded, and how times are written and read."""

import pytest

from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.schedule.schedules import (
    EMPTY,
    MOST_ACTIVE,
    NewSchedule,
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleDone,
    ScheduleDue,
    ScheduleEvent,
    ScheduleSkipped,
    fold,
    refusal,
)
from deskmate.core.schedule.when_text import checked_cron, interval_text, new_schedule, schedule_line, seconds_of
from deskmate.errors import BadInput


def new(schedule: int = 1, *, repeats: bool = True) -> ScheduleCreated:
    return ScheduleCreated(
        schedule=schedule, by="lead", at=0.0, every=600.0, zone="UTC", content="Look.", repeats=repeats
    )


def records(*events: ScheduleEvent) -> list[Item]:
    return [Record(number, event.body()) for number, event in enumerate(events, 1)]


DUE = ScheduleDue(schedule=1, due=600.0, missed=2, at=601.0)
DONE = ScheduleDone(schedule=1, times=1, at=602.0)
SKIPPED = ScheduleSkipped(schedule=1, due=600.0, missed=1, at=900.0)
DELETED = ScheduleDeleted(schedule=1, by="user", at=5.0)


@pytest.mark.parametrize(
    ("before", "event"),
    [
        ([new()], new()),
        ([], DUE),
        ([], DELETED),
        ([new(), DUE], ScheduleDue(schedule=1, due=1200.0, at=1200.0)),
        ([new(), DUE, DONE], DUE),
        ([new(), DUE, DONE], DONE),
        ([new()], DONE),
        ([new(), DUE], SKIPPED),
        ([new(), SKIPPED], SKIPPED),
        ([new(), DELETED], DELETED),
        ([new(), DELETED], DUE),
        ([new(repeats=False), DUE, DONE], ScheduleDue(schedule=1, due=1200.0, at=1200.0)),
        ([new(repeats=False), SKIPPED], DUE),
        ([], ScheduleCreated(schedule=1, by="lead", at=0.0, zone="UTC", content="neither cron nor interval")),
    ],
)
def test_what_cannot_happen_is_refused_and_changes_nothing_if_it_is_on_disk(
    before: list[ScheduleEvent], event: ScheduleEvent
) -> None:
    state = fold(EMPTY, records(*before))
    assert state.notes == ()
    assert refusal(state, event)
    after = fold(state, [Record(state.number + 1, event.body())])
    assert after.schedules == state.schedules
    assert len(after.notes) == 1


def test_a_due_time_stays_open_until_it_is_done_also_if_the_schedule_is_over() -> None:
    open_ = fold(EMPTY, records(new(repeats=False), DUE))
    assert ([one.id for one in open_.undone], open_.active) == ([1], [])
    assert open_.undone[0].effect_id == "schedule/1/1"
    done = fold(open_, [Record(3, DONE.body())])
    assert (done.undone, done.schedules[1].times, done.schedules[1].skipped) == ([], 1, 2)


def test_there_is_a_limit_to_schedules_and_deleting_one_makes_room() -> None:
    state = fold(EMPTY, records(*(new(number) for number in range(1, MOST_ACTIVE + 1))))
    assert refusal(state, new(MOST_ACTIVE + 1))
    state = fold(state, [Record(state.number + 1, DELETED.body())])
    assert refusal(state, new(MOST_ACTIVE + 1)) is None


def test_damage_and_unknown_records_are_passed_over() -> None:
    lost = Damaged(2, "lost", "x:2", "not a record")
    state = fold(EMPTY, [*records(new()), lost, Record(3, {"type": "schedule_paused", "schedule": 1})])
    assert (state.number, list(state.schedules), len(state.notes)) == (3, [1], 1)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("2 h", 7200), ("1D", 86_400)])
def test_intervals_are_read_and_written(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds
    assert seconds_of(interval_text(seconds)) == seconds
    assert new_schedule(text, "x") == NewSchedule("x", every=text)


@pytest.mark.parametrize("text", ["", "5s", "0m", "10", "m", "-1m", "1.5h", "9999999d", "10 m s", "ten minutes"])
def test_other_intervals_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        seconds_of(text)


@pytest.mark.parametrize(
    "line",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "a b c d e", "@daily", "*/0 * * * *", "0 0 30 2 *"],
)
def test_other_cron_lines_are_refused(line: str) -> None:
    with pytest.raises(BadInput):
        checked_cron(line)


def test_a_line_says_what_is_done_when_and_how_it_went() -> None:
    state = fold(EMPTY, records(new(), DUE, ScheduleDone(schedule=1, times=1, flaw="the board is full", at=602.0)))
    assert schedule_line(state.schedules[1], "2026-11-19 09:00:00 UTC") == (
        "1 (every 10m, by lead): Look. "
        "(next 2026-11-19 09:00:00 UTC, done 1 time, missed 2, last failed: the board is full)"
    )
