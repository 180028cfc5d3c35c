"""A pen writes once in effect, whatever the wire does."""

import errno
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.core.log.records import Decision, Record
from deskmate.errors import BadRecord, Conflict, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.runtime.streams.log_writer import RETRY_SECONDS, LogWriter
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from tests.runtime.team_process import FaultyStore, Moment, TeamProcess, fail, let_pass, passing, until

pytestmark = pytest.mark.anyio
TRIES = len(RETRY_SECONDS) + 1


class FailingSync(Files):
    """A disk that takes every byte and then cannot make it last, for the next few times."""

    failures = 0

    def sync(self, fd: int) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EIO, "the disk failed")
        super().sync(fd)


@pytest.fixture
def wire(team: TeamProcess) -> FaultyStore:
    return FaultyStore(team.store)


@pytest.fixture
def writer(team: TeamProcess, wire: FaultyStore) -> LogWriter:
    return LogWriter(wire, team.clock)


async def bodies(team: TeamProcess, stream: str) -> list[Any]:
    return [item.body["text"] for item in await team.store.read(stream) if isinstance(item, Record)]


@pytest.mark.parametrize("failures", range(1, TRIES))
async def test_what_failed_before_it_was_written_is_tried_again(
    team: TeamProcess, wire: FaultyStore, writer: LogWriter, failures: int
) -> None:
    wire.at("before append", "mail/bob", *[fail] * failures)
    async with passing(team.clock):
        [written] = await writer.append("mail/bob", {"text": "first"})
    assert await team.store.read("mail/bob") == [written]


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize("failures", range(1, TRIES))
async def test_what_failed_after_it_was_written_stands_there_once(failures: int) -> None:
    wire, clock = FaultyStore(MemoryStore()), FakeClock()
    wire.at("after append", "mail/bob", *[fail] * failures)
    writer = LogWriter(wire, clock)
    async with passing(clock):
        written = [one for text in ("first", "second") for one in await writer.append("mail/bob", {"text": text})]
    assert await wire.read("mail/bob") == written


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize("moment", ["before append", "after append"])
@pytest.mark.parametrize("failures", range(1, TRIES))
async def test_what_was_decided_in_doubt_stands_there_once(moment: Moment, failures: int) -> None:
    wire, clock = FaultyStore(MemoryStore()), FakeClock()
    wire.at(moment, "board", *[fail] * failures)
    writer = LogWriter(wire, clock)
    async with passing(clock):
        decided = [
            await writer.decide("board", 0, lambda news: Decision({"text": len(news)}, f"after {len(news)}"))
            for _ in range(2)
        ]
    assert await wire.read("board") == [record for record, _ in decided]
    assert [record.body["text"] for record, _ in decided if record] == [0, 1]
    assert [outcome for _, outcome in decided] == ["after 0", "after 1"]


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize("failures", range(1, TRIES))
async def test_what_a_disk_took_but_failed_to_sync_stands_there_once(tmp_path: Path, failures: int) -> None:
    files, clock = FailingSync(), FakeClock()
    with closing(JsonlStore.open(tmp_path, "team", create=True, files=files)) as store:
        files.failures = failures
        writer = LogWriter(store, clock)
        async with passing(clock):
            written = [one for text in ("first", "second") for one in await writer.append("mail/bob", {"text": text})]
        assert files.failures == 0
        assert await store.read("mail/bob") == written


async def test_the_waits_between_the_tries_grow(team: TeamProcess, wire: FaultyStore, writer: LogWriter) -> None:
    wire.at("before append", "mail/bob", *[fail] * len(RETRY_SECONDS))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.append, "mail/bob", {"text": "at last"})
        for seconds in RETRY_SECONDS:
            await until(lambda: team.clock.sleeping)
            team.clock.advance(seconds * 0.99)
            assert team.clock.sleeping == 1
            team.clock.advance(seconds * 0.02)
            assert team.clock.sleeping == 0
    assert await bodies(team, "mail/bob") == ["at last"]
    assert list(RETRY_SECONDS) == sorted(set(RETRY_SECONDS))


async def test_after_the_last_try_the_caller_is_told(team: TeamProcess, wire: FaultyStore, writer: LogWriter) -> None:
    wire.at("before append", "mail/bob", *[fail] * TRIES)
    async with passing(team.clock):
        with pytest.raises(StoreUnavailable):
            await writer.append("mail/bob", {"text": "never"})
    assert team.clock.monotonic() == len(RETRY_SECONDS)
    assert await bodies(team, "mail/bob") == []
    assert await writer.append("mail/bob", {"text": "later"}) == await team.store.read("mail/bob")


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize("tries", range(1, TRIES))
async def test_a_conflict_with_its_own_record_is_success(
    team: TeamProcess, wire: FaultyStore, writer: LogWriter, tries: int
) -> None:
    """As on a store that does not look for the stamp: the try that got through stands in the way of the next."""

    async def conflict() -> None:
        raise Conflict("board", 0, 1)

    wire.at("after append", "board", *[fail] * tries)
    wire.at("before append", "board", *[let_pass] * tries, conflict)
    async with passing(team.clock):
        [written] = await writer.append("board", {"text": "mine"}, expect=0)
    assert await team.store.read("board") == [written]


async def test_a_conflict_with_someone_elses_record_is_raised(team: TeamProcess, writer: LogWriter) -> None:
    await team.writer.append("board", {"text": "theirs"}, expect=0)
    with pytest.raises(Conflict) as stopped:
        await writer.append("board", {"text": "mine"}, expect=0)
    assert (stopped.value.stream, stopped.value.expect, stopped.value.last) == ("board", 0, 1)
    assert await bodies(team, "board") == ["theirs"]


@pytest.mark.parametrize("moment", ["before append", "after append"])
async def test_a_write_in_doubt_that_someone_came_before_is_not_made_up_for(
    team: TeamProcess, wire: FaultyStore, writer: LogWriter, moment: Moment
) -> None:
    """The writer that loses is told. The record is in the stream once or never."""
    other = team.another()

    async def theirs_then_fail() -> None:
        await other.writer.append("board", {"text": "theirs"})
        await fail()

    wire.at(moment, "board", theirs_then_fail)
    async with passing(team.clock):
        if moment == "before append":
            with pytest.raises(Conflict):
                await writer.append("board", {"text": "mine"}, expect=0)
            assert await bodies(team, "board") == ["theirs"]
        else:
            assert [one.number for one in await writer.append("board", {"text": "mine"}, expect=0)] == [1]
            assert await bodies(team, "board") == ["mine", "theirs"]


async def test_what_is_no_record_is_refused_at_once(team: TeamProcess, writer: LogWriter) -> None:
    with pytest.raises(BadRecord):
        await writer.append("board", {"text": float("nan")})
    assert (team.clock.monotonic(), await bodies(team, "board")) == (0, [])


async def test_the_record_returned_is_the_one_that_is_read_back(team: TeamProcess) -> None:
    odd = {"text": "a\ud800b 🙂", "nested": {"list": (1, 2.5, None, True), "\udfff": ""}}
    [written] = await team.writer.append("mail/bob", odd)
    assert await team.another().store.read("mail/bob") == [written]


async def test_two_pens_do_not_take_each_others_records_for_their_own(team: TeamProcess) -> None:
    pens = [LogWriter(team.store, team.clock) for _ in range(8)]
    async with anyio.create_task_group() as tasks:
        for index, writer in enumerate(pens):
            tasks.start_soon(writer.append, "mail/bob", {"text": index})
    assert sorted(await bodies(team, "mail/bob")) == list(range(8))
