"""A team directory of every released format opens in today's code, whole, and goes on from there."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.agent import entries
from deskmate.core.agent.memory import Memory, remember
from deskmate.core.hooks.hook_memory import NO_HOOKS
from deskmate.core.hosts import host_records
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Damaged, Item, Json, Record
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.schedule import schedules
from deskmate.core.team import board_fold, members, messages, roster_fold, roster_records, spending, tasks
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import Envelope, read_envelope
from deskmate.core.team.status import Idle, Left, Waiting
from deskmate.core.team.tasks import BoardState, Note, Task
from deskmate.core.travel import code_records, payload_chunks
from deskmate.errors import Held
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock
from tests.chaos.files.independent_reader import look
from tests.formats import make_v3
from tests.formats.make import HERE, RECEIPT, SEAT, STREAMS, T, body_of, files

NONE_SEEN: Seen[int] = Seen()

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("S4")]

READERS: dict[str, tuple[Callable[[Json], Any], tuple[type[Fact], ...]]] = {
    "roster": (roster_records.read_event, roster_records.KINDS),
    "board": (tasks.read_event, tasks.KINDS),
    "mail": (read_envelope, messages.KINDS),
    "log": (entries.read_entry, entries.KINDS),
    "spend": (spending.read_spent, spending.KINDS),
    "schedule": (schedules.read_schedule_event, schedules.KINDS),
    "hosts": (host_records.read_host_event, host_records.KINDS),
    "code": (code_records.read_code_event, code_records.KINDS),
    "chunks": (payload_chunks.read_chunk, payload_chunks.KINDS),
}


def kind_of(stream: str) -> str:
    return stream.partition("/")[0]


def on_disk(workspace: Path, stream: str) -> Path:
    return workspace / f".{STREAMS[stream][0]}"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for top in ("teams", "tasks"):
        shutil.copytree(HERE / top, tmp_path / f".{top}")
    return tmp_path


@pytest.fixture
def store(workspace: Path) -> Iterator[JsonlStore]:
    store = JsonlStore.open(workspace, "demo")
    yield store
    store.close()


# -- writing --------------------------------------------------------------------------------------


def test_the_same_facts_are_written_in_the_very_same_bytes_today() -> None:
    kept = {str(path.relative_to(HERE)): path.read_bytes() for path in HERE.rglob("*") if path.is_file()}
    assert files() == kept


def test_the_golden_files_hold_every_kind_of_every_stream() -> None:
    held: dict[str, set[Any]] = {kind: set() for kind in READERS}
    for stream, (path, _) in STREAMS.items():
        held[kind_of(stream)] |= {body["type"] for body in look(HERE / path).bodies}
    # Files of a released version never change. The kinds that were added later are in later files.
    for stream, (path, _) in make_v3.STREAMS.items():
        held[kind_of(stream)] |= {body["type"] for body in look(make_v3.HERE / path).bodies}
    unknown = {
        "roster": "member_promoted",
        "board": "task_estimated",
        "mail": "telegram",
        "log": "dreamt",
        "spend": "refunded",
    }
    assert held == {
        kind: {known.model_fields["type"].default for known in kinds} | {unknown[one] for one in unknown if one == kind}
        for kind, (_, kinds) in READERS.items()
    }


# -- reading --------------------------------------------------------------------------------------


def damaged(workspace: Path, stream: str, number: int, kind: str) -> Damaged:
    where = f"{on_disk(workspace, stream)}:{number}"
    if kind == "torn":
        return Damaged(number, "torn", where, "an append that never finished, fenced by the next writer")
    return Damaged(number, "lost", where, "not a record, or its checksum is wrong")


def expected_items(workspace: Path, stream: str) -> list[Item]:
    return [
        damaged(workspace, stream, number, "torn" if line.endswith(b" <torn>") else "lost")
        if isinstance(line, bytes)
        else Record(number, body_of(line, number))
        for number, line in enumerate(STREAMS[stream][1], start=1)
    ]


@pytest.mark.parametrize("stream", STREAMS)
async def test_every_record_is_read_and_every_damage_is_told(stream: str, workspace: Path, store: JsonlStore) -> None:
    found = list(await store.read(stream))
    assert found == expected_items(workspace, stream)
    assert [item.body for item in found if isinstance(item, Record)] == look(on_disk(workspace, stream)).bodies


@pytest.mark.parametrize("stream", STREAMS)
async def test_every_fact_is_understood_and_written_again_with_all_its_fields(stream: str, store: JsonlStore) -> None:
    read, _ = READERS[kind_of(stream)]
    for item in await store.read(stream):
        if isinstance(item, Record):
            fact, line = read(item.body), STREAMS[stream][1][item.number - 1]
            if isinstance(line, dict):
                assert fact == Foreign(item.body, f"unknown kind '{line['type']}'")
            elif isinstance(line, Envelope):
                assert fact == line
                assert {**fact.body(), "run": item.body["run"], "ord": item.body["ord"]} == item.body
            else:
                assert fact == type(line).model_validate(item.body)
                assert fact.body() == item.body


async def test_the_roster_is_the_same_as_it_was(store: JsonlStore) -> None:
    roster = roster_fold.fold(members.EMPTY, await store.read("roster"))
    joined = {
        number: roster_records.Joined.model_validate(body_of(STREAMS["roster"][1][number - 1], number))
        for number in (2, 3)
    }
    assert roster == RosterState(
        team="demo",
        description="REST → GraphQL",
        home="main",
        founded=T,
        members={
            "lead": Member("lead", AgentKind.LEAD, AgentType.GENERAL, "lead", "", None, Idle(), 1, T),
            "alice": Member(
                name="alice",
                kind=AgentKind.TEAMMATE,
                agent_type=AgentType.GENERAL,
                role="backend",
                colour="cyan",
                joined=joined[2],
                status=Waiting("plan"),
                status_in=6,
                status_at=T + 5,
                heard=2,
                since=2,
                worked_in=4,
                words="größer 漢字",
                peers=("to bob: schema final",),
                reports=((5, "größer 漢字"),),
            ),
            "bob": Member(
                name="bob",
                kind=AgentKind.TEAMMATE,
                agent_type=AgentType.EXPLORE,
                role="",
                colour="yellow",
                joined=joined[3],
                status=Left("forced", agreed=True),
                status_in=10,
                status_at=T + 9,
                heard=1,
                since=3,
                worked_in=3,
            ),
        },
        mode=Mode.ACCEPT_EDITS,
        modes={"alice": Mode.DONT_ASK},
        rules=(PermissionRule(Effect.ALLOW, "bash", "git *"),),
        attended=True,
        number=14,
        causes=NONE_SEEN.put("lead:3.0", 2),
        damaged=frozenset(),
        skipped=("record 8: unknown kind 'member_promoted'",),
    )


async def test_the_board_is_the_same_as_it_was(store: JsonlStore) -> None:
    board = board_fold.fold(tasks.EMPTY, await store.read("board"))
    assert board == BoardState(
        tasks={
            1: Task(
                id=1,
                subject="schema: größer 漢字",
                description="All types.",
                active_form="writing the schema",
                status=tasks.TaskStatus.COMPLETED,
                owner="alice",
                epoch=3,
                role="backend",
                verify="make test",
                created=T,
                updated=T + 9,
                notes=(Note("alice", "types are there, tests are not"),),
                receipt=RECEIPT,
                created_by="lead",
            ),
            2: Task(
                id=2,
                subject="the resolvers",
                description="all of them",
                active_form="resolving",
                role="backend",
                verify="make lint",
                created=T + 1,
                updated=T + 12,
                created_by="lead",
                edits=dict.fromkeys(("subject", "description", "active_form", "role", "verify", "blocked_by"), "lead"),
            ),
            3: Task(
                id=3,
                subject="docs",
                owner="bob",
                blocked_by=frozenset({2}),
                created=T + 2,
                updated=T + 4,
                created_by="user",
                edits={"blocked_by": "lead"},
            ),
            4: Task(
                id=4,
                subject="old",
                status=tasks.TaskStatus.DELETED,
                created=T + 3,
                updated=T + 12,
                created_by="alice",
                deleted_by="user",
                deleted_in=13,
            ),
        },
        number=15,
        # One more than the tasks there are: the lost record may have been a task.
        next_id=6,
        causes=NONE_SEEN.put("lead:3.1", 2),
        skipped=("record 12 was skipped: unknown kind 'task_estimated'",),
    )


async def test_a_transcript_is_remembered_as_it_was(workspace: Path, store: JsonlStore) -> None:
    transcript = await Transcript.load(LogWriter(store, FakeClock()), "alice")
    lines = list(enumerate(STREAMS["log/alice"][1], start=1))
    # Without the stamps: those are only of use to the store.
    assert transcript.entries == [
        (number, type(line).model_validate(line.body())) for number, line in lines if isinstance(line, Fact)
    ]
    assert transcript.foreign == [
        (7, Foreign(body_of({"type": "dreamt", "of": ["sheep"]}, 7), "unknown kind 'dreamt'"))
    ]
    assert transcript.damage == [damaged(workspace, "log/alice", 6, "torn")]
    parked = STREAMS["log/alice"][1][20]
    assert isinstance(parked, entries.AgentParked)
    assert replace(transcript.memory, hooks=NO_HOOKS) == Memory(
        name="alice",
        number=22,
        cursors={"mail/alice": 9},
        ids=NONE_SEEN.put("bob:0f", 5).put("lead:5.0", 5).put("user:1", 11).put("lead:9.0", 11).put("user:2", 11),
        owed=True,
        pressed=True,
        halted=True,
        demanded=True,
        stopping="user:5",
        verdict=PlanVerdict(request_id="alice:2.0", by="lead", approve=True),
        parked=parked,
        interrupted=True,
        # As version 0.1 told it: the next thing it hears is that plan mode is over.
        work_mode=entries.WorkMode(planning=True),
        plan_round=1,
        read=frozenset({(1, 3)}),
        nudged=frozenset({(1, 3)}),
        reported=frozenset({(1, 3)}),
        files={"src/a.py": "0123456789abcdef"},
        compacted=True,
        noticed=(8, 9),
        informed=True,
        steps=2,
    )


async def test_halfway_a_transcript_holds_what_was_open_then(store: JsonlStore) -> None:
    memory = Memory()
    for item in (await store.read("log/alice"))[:11]:
        entry = entries.read_entry(item.body) if isinstance(item, Record) else None
        if entry and not isinstance(entry, Foreign):
            memory = remember(memory, item.number, entry)
    assert {id_: (call.tool, call.arguments, call.allowed) for id_, call in memory.calls.items()} == {
        "alice:9.0": ("bash", {"command": "make", "timeout": None}, True),
        "alice:9.1": ("SendMessage", {"type": "broadcast", "content": "v1 is gone"}, None),
    }
    assert (memory.demands, memory.requests, memory.tasks, memory.owes_plan) == (
        {"lead:9.0": "lead"},
        {},
        {1: 3},
        False,
    )


# -- going on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS)
async def test_appending_goes_on_behind_it(stream: str, workspace: Path, store: JsonlStore) -> None:
    before, path = list(await store.read(stream)), on_disk(workspace, stream)
    data = path.read_bytes()
    [record] = await LogWriter(store, FakeClock()).append(stream, {"type": "new"}, expect=before[-1].number)
    assert record.number == len(STREAMS[stream][1]) + 1
    assert list(await store.read(stream)) == [*before, record]
    assert path.read_bytes().startswith(data)
    assert look(path).bodies[-1] == record.body


async def test_a_seat_left_behind_can_be_taken_and_says_who_has_it(workspace: Path, store: JsonlStore) -> None:
    path = workspace / ".teams/demo/lead.seat"
    assert path.read_text() == SEAT
    async with store.hold("lead", "process 4712 on desk"):
        assert path.read_text() == "process 4712 on desk"
        with pytest.raises(Held) as held:
            async with store.hold("lead", "a second one"):
                pytest.fail("two hold one seat")
        assert held.value.note == "process 4712 on desk"
    async with store.hold("lead", SEAT):
        assert path.read_text() == SEAT


@pytest.mark.parametrize("harm", ["deleted", "damaged"])
async def test_readable_copies_are_made_again_from_the_streams(harm: str, workspace: Path, store: JsonlStore) -> None:
    copies = sorted(workspace.glob(".t*/demo/*.json"))
    kept = [path.read_bytes() for path in copies]
    assert [path.name for path in copies] == ["1.json", "2.json", "3.json", "4.json", "config.json"]
    for path in copies:
        path.unlink() if harm == "deleted" else path.write_text("{")
    roster = roster_fold.fold(members.EMPTY, await store.read("roster"))
    board = board_fold.fold(tasks.EMPTY, await store.read("board"))
    store.projections().write(roster, board)
    assert [path.read_bytes() for path in copies] == kept
    assert json.loads(kept[-1])["lead_agent_id"] == "lead@demo"
