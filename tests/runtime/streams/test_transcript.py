"""A transcript has one writer, and what it remembers is what it reads back."""

import gc
import tracemalloc
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from deskmate.core.agent.entries import Began, Call, Did, Entry, Heard, Said, Started, Took
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import call_id, mail
from deskmate.core.log.records import Damaged, Json, Record, encode
from deskmate.core.team.messages import Plain
from deskmate.errors import Conflict, StoreUnavailable
from deskmate.runtime.streams.log_writer import RETRY_SECONDS, LogWriter
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.line_format import seal
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from tests.runtime.team_process import TeamProcess, contents, fail, let_pass, passing, until

pytestmark = pytest.mark.anyio

LIFE: tuple[Entry, ...] = (
    Started(name="bob", prompt="Parse it.", made_of={"members": ["lead", "bob"]}),
    Said(
        text="I will look.",
        calls=(
            Call(tool="bash", arguments={"command": "ls", "timeout": None}, flaw="no JSON"),
            Call(tool="TaskUpdate", arguments={"odd": "a\ud800b", "nested": [{"x": 1.5}]}),
        ),
    ),
    Began(calls=("bob:2.0", "bob:2.1"), fixed={"recipients": ["lead"]}),
    Took(task=3, epoch=1, text="#3 parse"),
    Did(call="bob:2.0", text="README.md", tasks={3: None, 4: 2}),
)


async def live(process: TeamProcess, entries: tuple[Entry, ...] = LIFE) -> Transcript:
    transcript = await process.transcript("bob")
    for entry in entries:
        await transcript.record(entry)
    return transcript


def known(transcript: Transcript) -> tuple[object, ...]:
    return transcript.memory, transcript.entries, transcript.foreign, transcript.damage


async def test_what_is_loaded_is_what_was_remembered(team: TeamProcess) -> None:
    await team.mailbox("alice").send("bob", Plain(content="hello"))
    transcript = await live(team)
    await team.mailbox("bob").hear(transcript)
    assert known(await team.another().transcript("bob")) == known(transcript)
    assert transcript.memory.tasks == {4: 2}
    assert [*transcript.memory.calls] == ["bob:2.1"]
    assert len(transcript.entries) == len(LIFE) + 1


async def test_a_long_transcript_takes_less_than_four_times_its_bytes_in_memory(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    await live(team_on_disk)
    call = Call(tool="bash", arguments={"command": "python -m pytest tests/test_parse.py"})
    step = (
        Said(text="I run the tests.", calls=(call,)),
        Began(calls=("bob:7.0",)),
        Did(call="bob:7.0", text="ok\n" * 60),
    )
    bodies = [encode({**entry.body(), "run": "0123456789abcdef", "ord": 1}) for entry in step * 300]
    with (folder / "bob_transcript.jsonl").open("ab") as file:
        file.writelines(seal(body, number) for number, body in enumerate(bodies, len(LIFE) + 1))
        size = file.tell()
    # Once before: what is made only once is not what is measured.
    await team_on_disk.another().transcript("bob")
    process = team_on_disk.another()
    gc.collect()
    tracemalloc.start()
    transcript = await process.transcript("bob")
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(transcript.entries) == len(LIFE) + len(bodies)
    assert kept < 4 * size
    assert peak < 8 * size


async def test_each_record_has_its_time_and_no_entry_has(team: TeamProcess) -> None:
    transcript, began = await live(team), team.clock.timestamp()
    team.clock.advance(90)
    await transcript.record(Said(text="Later."))
    times = [item.body["at"] for item in await team.store.read("log/bob") if isinstance(item, Record)]
    assert times == [began] * len(LIFE) + [began + 90]
    again = await team.another().transcript("bob")
    assert not any(entry.model_extra for _, entry in (*transcript.entries, *again.entries))


async def test_a_transcript_nobody_wrote_to_is_empty(team: TeamProcess) -> None:
    transcript = await team.transcript("bob")
    assert known(transcript) == known(Transcript(team.writer, "bob"))


@pytest.mark.behaviour("M2")
async def test_a_second_copy_that_writes_is_stopped(team: TeamProcess) -> None:
    await team.mailbox("alice").send("bob", Plain(content="once"))
    first, second = await team.transcript("bob"), await team.another().transcript("bob")
    await team.mailbox("bob").hear(first)
    with pytest.raises(Conflict):
        await team.another().mailbox("bob").hear(second)
    with pytest.raises(Conflict):
        await second.record(Said(text="I am bob too"))
    await first.record(Said(text="I am bob"))
    assert known(await team.transcript("bob")) == known(first)


async def test_what_one_agent_records_at_once_is_all_recorded(team: TeamProcess) -> None:
    """Calls that overlap end when they end."""
    transcript = await live(team, LIFE[:3])
    async with anyio.create_task_group() as tasks:
        for index in range(2):
            tasks.start_soon(transcript.record, Did(call=f"bob:2.{index}", text="done"))
    assert transcript.memory.calls == {}
    assert known(await team.another().transcript("bob")) == known(transcript)


async def test_what_could_not_be_written_is_not_remembered_and_the_agent_can_go_on(team: TeamProcess) -> None:
    process, wire = team.meddled()
    transcript = await process.transcript("bob")
    wire.at("before append", "log/bob", *[fail] * (len(RETRY_SECONDS) + 1))
    async with passing(team.clock):
        with pytest.raises(StoreUnavailable):
            await transcript.record(Took(task=1, epoch=1, text="#1"))
    assert known(transcript) == known(Transcript(team.writer, "bob"))
    await transcript.record(Started(name="bob"))
    assert known(await team.transcript("bob")) == known(transcript)


async def test_entries_of_an_unknown_kind_are_kept_and_passed_over(team: TeamProcess) -> None:
    await live(team)
    before = await team.transcript("bob")
    [dreamt] = await team.writer.append("log/bob", {"type": "dreamt", "of": "electric sheep"})
    [malformed] = await team.writer.append("log/bob", {"type": "took", "task": "three"})
    loaded = await team.another().transcript("bob")
    assert (loaded.memory, loaded.entries) == (before.memory, before.entries)
    assert loaded.foreign == [
        (dreamt.number, Foreign(dreamt.body, "unknown kind 'dreamt'")),
        (malformed.number, Foreign(malformed.body, loaded.foreign[1][1].reason)),
    ]
    await loaded.record(Said(text="awake"))
    assert known(await team.transcript("bob")) == known(loaded)


async def test_damage_is_listed_and_the_rest_remembered(team_on_disk: TeamProcess, folder: Path) -> None:
    whole = await live(team_on_disk)
    file = folder / "bob_transcript.jsonl"
    file.write_bytes(file.read_bytes().replace(b"#3 parse", b"#4 parse"))
    loaded = await team_on_disk.another().transcript("bob")
    reason = "not a record, or its checksum is wrong"
    assert loaded.damage == [Damaged(4, "lost", f"{file}:4", reason)]
    assert loaded.entries == [one for one in whole.entries if one[0] != 4]
    await loaded.record(Said(text="I go on"))
    assert known(await team_on_disk.another().transcript("bob")) == known(loaded)


@pytest.mark.behaviour("M1")
async def test_a_last_entry_that_lost_only_its_newline_is_remembered_and_takes_others_after_it(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    whole = await live(team_on_disk)
    file = folder / "bob_transcript.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    loaded = await team_on_disk.another().transcript("bob")
    assert known(loaded) == known(whole)
    await loaded.record(Said(text="I go on"))
    assert known(await team_on_disk.another().transcript("bob")) == known(loaded)


@pytest.mark.parametrize("failures", [0, 1, len(RETRY_SECONDS)])
async def test_an_entry_in_doubt_that_got_through_is_remembered_before_the_next(
    team: TeamProcess, failures: int
) -> None:
    process, wire = team.meddled()
    transcript = await process.transcript("bob")
    wire.at("after append", "log/bob", fail)
    wire.at("before append", "log/bob", let_pass, *[fail] * len(RETRY_SECONDS))
    wire.at("before read", "log/bob", *[fail] * failures)
    async with passing(team.clock):
        with pytest.raises(StoreUnavailable):
            await transcript.record(LIFE[0])
        for _ in range(failures):
            with pytest.raises(StoreUnavailable):
                await transcript.record(LIFE[1])
        await transcript.record(LIFE[1])
    assert [number for number, _ in transcript.entries] == [1, 2]
    assert known(await team.transcript("bob")) == known(transcript)


async def test_after_an_entry_in_doubt_another_writer_is_still_noticed(team: TeamProcess) -> None:
    process, wire = team.meddled()
    transcript = await process.transcript("bob")
    wire.at("before append", "log/bob", *[fail] * (len(RETRY_SECONDS) + 1))
    async with passing(team.clock):
        with pytest.raises(StoreUnavailable):
            await transcript.record(LIFE[0])
    await live(team, LIFE[:1])
    with pytest.raises(Conflict):
        await transcript.record(Said(text="I am bob too"))


async def test_who_is_cancelled_while_an_entry_is_in_doubt_can_go_on(team: TeamProcess) -> None:
    process, wire = team.meddled()
    transcript = await process.transcript("bob")
    wire.at("after append", "log/bob", fail)
    async with passing(team.clock), anyio.create_task_group() as tasks:
        wire.at("after append", "log/bob", anyio.lowlevel.checkpoint)
        tasks.start_soon(transcript.record, LIFE[0])
        await until(lambda: wire.appended)
        tasks.cancel_scope.cancel()
    assert [number for number, _ in transcript.entries] == [1]
    await transcript.record(LIFE[1])
    assert known(await team.transcript("bob")) == known(transcript)


async def test_who_is_cancelled_while_an_entry_is_written_can_go_on(team: TeamProcess) -> None:
    process, wire = team.meddled()
    transcript = await process.transcript("bob")
    wire.at("after append", "log/bob", anyio.sleep_forever)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(transcript.record, LIFE[0])
        await until(lambda: wire.appended)
        tasks.cancel_scope.cancel()
    await transcript.record(LIFE[1])
    assert known(await team.transcript("bob")) == known(transcript)


@pytest.mark.behaviour("M1", "M2")
async def test_mail_whose_hearing_was_damaged_is_heard_again_and_no_other(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    """Heard means recorded; where the record is gone, the mailbox still has it."""
    for text in ("one", "two", "three"):
        await team_on_disk.mailbox("alice").send("bob", Plain(content=text))
        await team_on_disk.hear("bob")
    file = folder / "bob_transcript.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"three"', b'"THREE"'))
    process = team_on_disk.another()
    assert contents(await process.hear("bob")) == ["three"]
    cursors = (await process.transcript("bob")).memory.cursors
    assert cursors == {mail("bob"): 3}
    heard = [entry for _, entry in (await process.transcript("bob")).entries if isinstance(entry, Heard)]
    assert [entry.upto for entry in heard] == [1, 2, 3]


@pytest.mark.behaviour("M1", "M2")
@pytest.mark.parametrize("lost", ["one", "two"])
async def test_mail_whose_hearing_was_damaged_is_heard_again_though_later_mail_was_heard(
    team_on_disk: TeamProcess, folder: Path, lost: str
) -> None:
    for text in ("one", "two", "three"):
        await team_on_disk.mailbox("alice").send("bob", Plain(content=text))
        await team_on_disk.hear("bob")
    file = folder / "bob_transcript.jsonl"
    file.write_bytes(file.read_bytes().replace(f'"{lost}"'.encode(), f'"{lost.upper()}"'.encode()))
    process = team_on_disk.another()
    assert contents(await process.hear("bob")) == [lost]
    assert contents(await process.hear("bob")) == []
    assert (await process.transcript("bob")).memory.cursors == {mail("bob"): 3}


class Noting(MemoryStore):
    """A store in memory that notes which appends were synced."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[bool] = []

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        self.synced.append(sync)
        return await super().append(stream, *records, expect=expect, sync=sync)


async def test_calls_that_only_read_begin_without_a_sync_and_others_with_one() -> None:
    store = Noting()
    transcript = await Transcript.load(LogWriter(store, FakeClock()), "bob")
    await transcript.record(Started(name="bob", prompt="Parse it."))
    read, written = Call(tool="read_file", arguments={}), Call(tool="write_file", arguments={})
    for calls in ((read, read), (read, written)):
        number = await transcript.record(Said(text="", calls=calls))
        await transcript.record(Began(calls=tuple(call_id("bob", number, index) for index in range(2))))
    assert store.synced == [False, False, False, False, True]
