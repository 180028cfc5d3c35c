"""Several processes keep the schedules of a team: each due time has one effect, also if one of them dies."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.names import BOARD, LEAD, SCHEDULE, USER, mail
from deskmate.core.log.records import Record
from deskmate.core.schedule.schedules import NewSchedule
from deskmate.core.team.messages import Envelope, Scheduled, envelope_in
from deskmate.errors import BadInput, Refused
from deskmate.ports import Store
from deskmate.runtime.schedules.schedule_keeper import AGAIN_SECONDS, ScheduleKeeper
from deskmate.runtime.schedules.schedule_list import ScheduleList
from deskmate.runtime.schedules.schedule_watch import ScheduleWatch
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock
from tests.runtime.team_process import SOON, Killed, TeamProcess, die, let_pass, passing

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("schedules")]

# 2023-11-14 22:13:20 UTC
BEGUN = 1_700_000_000.0
TEN_MINUTES = NewSchedule("Is the build green?", every="10m")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[TeamProcess]:
    stores: list[JsonlStore] = []

    def open_() -> Store:
        stores.append(JsonlStore.open(tmp_path, "web", create=True))
        return stores[-1]

    yield TeamProcess(open_, FakeClock(BEGUN))
    for store in stores:
        store.close()


class Keeping:
    """A process that keeps the schedules of a team, with its own store. `wire`: where it can die."""

    def __init__(self, process: TeamProcess) -> None:
        self.process, self.wire = process.meddled()
        self.keeper = ScheduleKeeper(self.process)  # type: ignore[arg-type]
        self.schedules = ScheduleList(self.process.writer, "Europe/Berlin")

    async def told(self) -> list[Envelope]:
        """Return what the clock told the lead. A message that is sent again has the same id, and is heard once."""
        found = [envelope_in(item) for item in await self.process.store.read(mail(LEAD))]
        by_id = {one.id: one for one in found if one and isinstance(one.message, Scheduled)}
        return list(by_id.values())

    async def records(self) -> list[str]:
        """Return the kinds of records of schedules."""
        items = await self.process.store.read(SCHEDULE)
        return [str(item.body["type"]) for item in items if isinstance(item, Record)]


@pytest.fixture
async def keeping(process: TeamProcess) -> Keeping:
    await process.roster.found("web")
    return Keeping(process)


async def test_the_lead_is_told_at_the_due_time_in_the_name_of_who_wanted_it(keeping: Keeping) -> None:
    made = await keeping.schedules.create(USER, TEN_MINUTES)
    keeping.process.clock.advance(599)
    assert await keeping.keeper.act() == 0
    keeping.process.clock.advance(1)
    assert await keeping.keeper.act() == 1
    (envelope,) = await keeping.told()
    assert (envelope.id, envelope.sender) == ("schedule/1/1", USER)
    assert envelope.message == Scheduled(
        schedule=made.id, content="Is the build green?", due="2023-11-14 23:23:20 CET", missed=0
    )
    assert await keeping.keeper.act() == 0


async def test_any_number_of_processes_do_each_due_time_once(process: TeamProcess, keeping: Keeping) -> None:
    await keeping.schedules.create(LEAD, TEN_MINUTES)
    beside = [Keeping(process) for _ in range(4)]
    for _ in range(3):
        process.clock.advance(600)
        async with anyio.create_task_group() as tasks:
            for one in (keeping, *beside):
                tasks.start_soon(one.keeper.act)
    assert [one.id for one in await keeping.told()] == ["schedule/1/1", "schedule/1/2", "schedule/1/3"]
    assert await keeping.records() == ["schedule_created", *["schedule_due", "schedule_done"] * 3]


WHERE = [("before append", SCHEDULE), ("after append", SCHEDULE), ("before append", mail(LEAD))]
WHERE += [("after append", mail(LEAD))]


@pytest.mark.parametrize(("moment", "stream"), WHERE)
@pytest.mark.parametrize("passed", [0, 1])
async def test_a_process_that_dies_anywhere_leaves_the_rest_to_another(
    moment: str, stream: str, passed: int, process: TeamProcess, keeping: Keeping
) -> None:
    await keeping.schedules.create(USER, TEN_MINUTES)
    process.clock.advance(600)
    dying, heir = Keeping(process), Keeping(process)
    dying.wire.at(moment, stream, *[let_pass] * passed, die)  # type: ignore[arg-type]
    with suppress(Killed):
        await dying.keeper.act()
    await heir.keeper.act()
    process.clock.advance(AGAIN_SECONDS)
    await heir.keeper.act()
    assert [one.id for one in await heir.told()] == ["schedule/1/1"]
    assert await heir.records() == ["schedule_created", "schedule_due", "schedule_done"]


async def test_what_another_process_is_doing_just_now_is_left_to_it(process: TeamProcess, keeping: Keeping) -> None:
    await keeping.schedules.create(USER, TEN_MINUTES)
    process.clock.advance(600)
    beside = Keeping(process)

    async def look() -> None:
        assert await beside.keeper.act() == 0

    keeping.wire.at("before append", mail(LEAD), look)
    assert await keeping.keeper.act() == 1


async def test_a_task_is_put_on_the_board_once_and_the_lead_hears_of_it_if_nobody_else_could_take_it(
    process: TeamProcess, keeping: Keeping
) -> None:
    await keeping.schedules.create(USER, NewSchedule("npm update", cron="0 3 * * *", zone="UTC", subject="Update"))
    process.clock.advance(5 * 3600)
    dying = Keeping(process)
    dying.wire.at("after append", BOARD, die)
    with pytest.raises(Killed):
        await dying.keeper.act()
    process.clock.advance(AGAIN_SECONDS)
    await keeping.keeper.act()
    board = await keeping.process.board.refresh()
    assert [(task.subject, task.description) for task in board.tasks.values()] == [("Update", "npm update")]
    assert [one.message.body()["content"] for one in await keeping.told()] == ["Task #1 is on the board now: Update"]


async def test_what_was_missed_while_nobody_ran_is_done_once_or_skipped_and_both_say_so(
    process: TeamProcess, keeping: Keeping
) -> None:
    await keeping.schedules.create(USER, TEN_MINUTES)
    await keeping.schedules.create(USER, NewSchedule("x", every="10m", missed="skip"))
    process.clock.advance(3600 + 300)
    await keeping.keeper.act()
    assert [(one.id, one.message.body()["missed"]) for one in await keeping.told()] == [("schedule/1/1", 5)]
    state = await keeping.schedules.refresh()
    assert [(one.times, one.skipped) for one in state.schedules.values()] == [(1, 5), (0, 6)]


async def test_once_means_once(process: TeamProcess, keeping: Keeping) -> None:
    await keeping.schedules.create(USER, NewSchedule("x", every="10m", repeats=False))
    for _ in range(3):
        process.clock.advance(600)
        await keeping.keeper.act()
    assert len(await keeping.told()) == 1
    assert (await keeping.schedules.refresh()).active == []


async def test_a_repeated_call_creates_and_deletes_nothing_twice(keeping: Keeping) -> None:
    first = await keeping.schedules.create(LEAD, TEN_MINUTES, cause="lead:3.0")
    assert await keeping.schedules.create(LEAD, TEN_MINUTES, cause="lead:3.0") == first
    await keeping.schedules.delete(LEAD, 1, cause="lead:4.0")
    await keeping.schedules.delete(LEAD, 1, cause="lead:4.0")
    assert await keeping.records() == ["schedule_created", "schedule_deleted"]


@pytest.mark.parametrize(
    "new",
    [
        NewSchedule("x"),
        NewSchedule("x", cron="0 9 * * *", every="10m"),
        NewSchedule(" ", every="10m"),
        NewSchedule("x", every="1s"),
        NewSchedule("x", cron="0 9 * *"),
        NewSchedule("x", every="10m", zone="Mars/Olympus"),
        NewSchedule("x", every="10m", zone="../../etc/passwd"),
        NewSchedule("x" * 20_001, every="10m"),
    ],
)
async def test_what_is_not_possible_is_refused_and_records_nothing(new: NewSchedule, keeping: Keeping) -> None:
    with pytest.raises(BadInput):
        await keeping.schedules.create(USER, new)
    assert await keeping.records() == []


async def test_deleting_what_is_not_there_names_what_is(keeping: Keeping) -> None:
    await keeping.schedules.create(USER, TEN_MINUTES)
    with pytest.raises(Refused, match="There are: 1"):
        await keeping.schedules.delete(USER, 7)


async def test_a_watch_waits_for_the_first_schedule_and_follows_it(process: TeamProcess, keeping: Keeping) -> None:
    watch = ScheduleWatch(process)  # type: ignore[arg-type]
    assert await watch.act() == 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.keep)
        await keeping.schedules.create(USER, TEN_MINUTES)
        async with passing(process.clock):
            with anyio.fail_after(SOON):
                while not await keeping.told():
                    await keeping.process.store.changed({mail(LEAD): 0})
        tasks.cancel_scope.cancel()
    # The clock goes on until the watch is cancelled.
    envelope, *_ = await keeping.told()
    assert envelope.timestamp - BEGUN >= 600
