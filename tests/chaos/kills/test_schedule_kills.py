"""Processes that keep the schedules of a team, killed at random: each due time has one effect."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.names import LEAD, SCHEDULE, USER, mail
from deskmate.core.log.records import Record
from deskmate.core.schedule.schedules import EMPTY, NewSchedule, ScheduleDue, fold, read_schedule_event
from deskmate.core.team.messages import Scheduled, envelope_in
from deskmate.runtime.schedules.schedule_list import ScheduleList
from deskmate.stores.jsonl_store import JsonlStore
from tests.chaos.kills.schedule_process import BEGUN, CLOCK, KeptTeam, SharedClock, keep

KILLS, MINUTES, PROCESSES = (150, 60_000, 3) if os.environ.get("DESKMATE_SOAK") else (8, 4_000, 2)
WANTED = (
    NewSchedule("Look.", every="7m"),
    NewSchedule("Report.", cron="30 */2 * * *", zone="Europe/Berlin"),
    NewSchedule("Update.", cron="15 2 * * *", zone="Europe/Berlin", subject="Nightly"),
    NewSchedule("Skip me.", cron="*/20 * * * *", zone="UTC", missed="skip"),
)


async def begin(folder: Path) -> None:
    store = JsonlStore.open(folder, "main", create=True)
    try:
        team = KeptTeam(store, SharedClock(folder / CLOCK))
        await team.roster.found("main")
        for new in WANTED:
            await ScheduleList(team.writer).create(USER, new)
    finally:
        store.close()


def storm(folder: Path) -> int:
    """Kill processes at random until the time is over. Return how many were killed while they worked."""
    rng, words = random.Random(7), [sys.executable, "-m", "tests.chaos.kills.schedule_process", str(folder)]
    running, killed = list[subprocess.Popen[bytes]](), 0
    while killed < KILLS:
        running = [one for one in running if one.poll() is None]
        while len(running) < PROCESSES:
            running.append(subprocess.Popen([*words, str(MINUTES * 100)]))
        before = (folder / CLOCK).stat().st_size
        while (folder / CLOCK).stat().st_size < before + rng.randint(5, MINUTES // KILLS // 2):
            os.sched_yield()
        running[rng.randrange(PROCESSES)].send_signal(signal.SIGKILL)
        killed += 1
    for one in running:
        one.kill()
        one.wait()
    return killed


@pytest.mark.behaviour("schedules")
def test_each_due_time_has_one_effect_however_many_processes_are_killed(tmp_path: Path) -> None:
    (tmp_path / CLOCK).touch()
    anyio.run(begin, tmp_path)
    assert storm(tmp_path) == KILLS
    # Somebody who is not killed finishes what was left undone.
    anyio.run(keep, tmp_path, (tmp_path / CLOCK).stat().st_size + 30)
    anyio.run(judge, tmp_path)


async def judge(folder: Path) -> None:
    store = JsonlStore.open(folder, "main")
    try:
        items = await store.read(SCHEDULE)
        state = fold(EMPTY, items)
        assert (state.undone, state.notes) == ([], ())
        events = (read_schedule_event(item.body) for item in items if isinstance(item, Record))
        fired = [event for event in events if isinstance(event, ScheduleDue)]
        assert all(count == 1 for count in Counter((event.schedule, event.due) for event in fired).values())
        assert len(fired) > KILLS
        told = [envelope_in(item) for item in await store.read(mail(LEAD))]
        # A message that was sent again has the same id, and is heard once.
        ids = {one.id for one in told if one and isinstance(one.message, Scheduled)}
        times = {one.id: one.times for one in state.schedules.values()}
        assert ids == {f"schedule/{id_}/{number}" for id_, count in times.items() for number in range(1, count + 1)}
        team = KeptTeam(store, SharedClock(folder / CLOCK))
        assert len((await team.board.refresh()).tasks) == times[3]
        last = team.writer.clock.timestamp()
        # Nothing is forgotten: each due time was done, or counted as missed.
        assert times[1] + state.schedules[1].skipped == (last - BEGUN) // 420
    finally:
        store.close()
