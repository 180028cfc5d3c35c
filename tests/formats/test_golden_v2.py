"""A team directory of version 0.2 opens in today's code: every record, with every field, means what it meant."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from deskmate.core.agent import entries
from deskmate.core.agent.memory import Memory, remember
from deskmate.core.goals import GoalRound
from deskmate.core.hooks.hook_memory import NO_HOOKS
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Damaged, Record
from deskmate.core.mcp.forms import FormField
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.prompt.prompts import Usage
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team import board_fold, members, roster_fold, roster_records, spending, tasks
from deskmate.core.team.caps import CapsSet
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import Envelope, SentImage
from deskmate.core.team.spending import Spending, Sum
from deskmate.core.team.status import Idle, Left, Parked
from deskmate.core.team.tasks import BoardState, Note, Receipt, Task
from deskmate.core.travel import code_records
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock
from tests.formats import make_v3
from tests.formats.make import T, body_of
from tests.formats.make_v2 import CAPS, HERE, LOST, RECEIPT, STREAMS, VERDICT, WORK_MODE, files
from tests.formats.test_golden import READERS, kind_of

NONE_SEEN: Seen[int] = Seen()

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("S4")]

# Models inside records, and the fields that a record of this version never sets.
SHAPES: tuple[type[BaseModel], ...] = (
    entries.Call,
    entries.Opened,
    entries.Answered,
    entries.WorkMode,
    GoalRound,
    Receipt,
    code_records.Payload,
    PlanVerdict,
    CapsSet,
    SentImage,
    FormField,
    Overlap,
)
NEVER_SET = {
    ("RosterLossAccepted", "by"),
    ("BoardLossAccepted", "cause"),
    ("Returned", "cause"),
    ("OverlapsSeen", "cause"),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    for top in ("teams", "tasks"):
        shutil.copytree(HERE / top, tmp_path / f".{top}")
    store = JsonlStore.open(tmp_path, "demo")
    yield store
    store.close()


# -- writing --------------------------------------------------------------------------------------


def test_the_same_facts_are_written_in_the_very_same_bytes_today() -> None:
    kept = {str(path.relative_to(HERE)): path.read_bytes() for path in HERE.rglob("*") if path.is_file()}
    assert files() == kept


def models_in(value: Any) -> Iterator[BaseModel]:
    """Yield a model and all models inside it."""
    if isinstance(value, Envelope):
        yield from models_in(value.message)
    elif isinstance(value, BaseModel):
        yield value
        for name in type(value).model_fields:
            yield from models_in(getattr(value, name))
    elif isinstance(value, tuple):
        for part in value:
            yield from models_in(part)


def test_every_field_of_every_record_is_set_somewhere() -> None:
    kinds = [kind for _, kinds in READERS.values() for kind in kinds]
    unset = {
        (kind.__name__, name)
        for kind in (*kinds, *SHAPES)
        for name, field in kind.model_fields.items()
        if name != "type" and not field.is_required()
    }
    found: set[type[BaseModel]] = set()
    # Files of a released version never change. What was added since is in the files next to them.
    for _, lines in (*STREAMS.values(), *make_v3.STREAMS.values()):
        for model in (model for line in lines for model in models_in(line)):
            found.add(type(model))
            for name, field in type(model).model_fields.items():
                if getattr(model, name) != field.get_default(call_default_factory=True):
                    unset.discard((type(model).__name__, name))
    assert found == {*kinds, *SHAPES}
    assert unset == NEVER_SET


# -- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS)
async def test_every_record_is_understood_and_written_again_with_all_its_fields(stream: str, store: JsonlStore) -> None:
    read, _ = READERS[kind_of(stream)]
    lines = STREAMS[stream][1]
    found = list(await store.read(stream))
    assert len(found) == len(lines)
    for item, line in zip(found, lines, strict=True):
        if line == LOST:
            assert isinstance(item, Damaged)
            continue
        assert isinstance(item, Record)
        assert isinstance(line, Fact | Envelope)
        assert item.body == body_of(line, item.number)
        fact = read(item.body)
        assert not isinstance(fact, Foreign)
        assert {**fact.body(), "run": item.body["run"], "ord": item.body["ord"]} == item.body


async def test_the_roster_is_the_same_as_it_was(store: JsonlStore) -> None:
    joined = {
        number: roster_records.Joined.model_validate(body_of(STREAMS["roster"][1][number - 1], number))
        for number in (3, 4)
    }
    assert roster_fold.fold(members.EMPTY, await store.read("roster")) == RosterState(
        team="demo",
        description="Make the tests pass",
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
                joined=joined[3],
                status=Idle(),
                status_in=9,
                status_at=T + 8,
                heard=2,
                since=3,
                worked_in=8,
                words="Half of it is done.",
                peers=("to 前端: schema final",),
                reports=((9, "Half of it is done."),),
                rests_on=((1, 1),),
                held=True,
                verdict=VERDICT,
                verdict_in=8,
            ),
            "前端": Member(
                name="前端",
                kind=AgentKind.TEAMMATE,
                agent_type=AgentType.PLAN,
                role="",
                colour="yellow",
                joined=joined[4],
                status=Left("agreed to a shutdown request", agreed=True),
                status_in=16,
                status_at=T + 15,
                heard=4,
                since=4,
                worked_in=4,
                owes_plan=True,
            ),
        },
        modes={"alice": Mode.PLAN},
        before_plan={"alice": Mode.ACCEPT_EDITS},
        rules=(PermissionRule(Effect.ALLOW, "bash", "make *"),),
        attended=True,
        delegate=True,
        sandbox="bubblewrap",
        caps=CAPS,
        number=16,
        causes=NONE_SEEN.put("lead:3.0", 3),
    )


async def test_a_parked_member_waits_for_what_it_waited_for(store: JsonlStore) -> None:
    roster = roster_fold.fold(members.EMPTY, (await store.read("roster"))[:10])
    parked = roster.members["前端"]
    assert (parked.status, parked.status_in, parked.status_at) == (Parked("budget: 5 USD"), 10, T + 9)
    assert (parked.heard, parked.known, parked.only_user) == (1, 3, True)


async def test_the_board_is_the_same_as_it_was(store: JsonlStore) -> None:
    causes = {"lead:3.1": 1, "lead:5.0": 4, "alice:8.0": 6, "alice:8.1": 7, "lead:7.0": 8, "alice:9.0": 10}
    seen: Seen[int] = Seen()
    for cause, number in {**causes, "lead:9.0": 11}.items():
        seen = seen.put(cause, number)
    assert board_fold.fold(tasks.EMPTY, await store.read("board")) == BoardState(
        tasks={
            1: Task(
                id=1,
                subject="Write the schema",
                description="All types.",
                active_form="Writing the schema",
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
                subject="Write the first page",
                description="One request.",
                active_form="Writing the page",
                owner="前端",
                blocked_by=frozenset({1}),
                role="frontend",
                verify="make lint",
                created=T + 1,
                updated=T + 10,
                created_by="user",
                edits={
                    **dict.fromkeys(("subject", "description", "active_form", "role", "verify"), "lead"),
                    "blocked_by": "user",
                },
            ),
            3: Task(
                id=3,
                subject="Sweep",
                status=tasks.TaskStatus.DELETED,
                created=T + 2,
                updated=T + 10,
                created_by="前端",
                deleted_by="lead",
                deleted_in=11,
            ),
        },
        number=13,
        # One more than the tasks there are: the lost record may have been a task.
        next_id=5,
        causes=seen,
    )


async def test_what_was_spent_is_the_same_as_it_was(store: JsonlStore) -> None:
    alice = Sum(1, Usage(12, 5, 900, 80), 0.25)
    subagent = Sum(1, Usage(3, 1), 0.0, unpriced=1)
    assert spending.fold(spending.EMPTY, await store.read("spend")) == Spending(
        team=alice.added(subagent), members={"alice": alice, "lead:4.0": subagent}, number=2
    )


async def test_a_teammate_remembers_what_it_knew(store: JsonlStore) -> None:
    transcript = await Transcript.load(LogWriter(store, FakeClock()), "alice")
    assert transcript.entries == list(enumerate(STREAMS["log/alice"][1], start=1))
    heard = {"前端:4.0": 5, "lead:5.1": 5, "lead:6.0/alice": 10, "user:1": 10, "user:2": 10, "lead:9.1": 19}
    ids: Seen[int] = Seen()
    for id_, number in {**heard, "undeliverable/alice:8.1/前端": 19}.items():
        ids = ids.put(id_, number)
    assert replace(transcript.memory, hooks=NO_HOOKS) == Memory(
        name="alice",
        number=21,
        cursors={"mail/alice": 7},
        ids=ids,
        owed=True,
        pressed=True,
        halted=True,
        forced=frozenset({"lead:9.1"}),
        demanded=True,
        verdict=VERDICT,
        stopping="lead:9.1",
        parked=entries.AgentParked(reason="budget: 5 USD", caps="cost 5.0, steps 50"),
        work_mode=entries.WorkMode(attended=True, barred=("bash",)),
        plan_round=1,
        tasks={1: 3},
        read=frozenset({(1, 1), (1, 3)}),
        words_known={1: 9, 2: 9},
        nudged=frozenset({(1, 3)}),
        reported=frozenset({(1, 3)}),
        files={"src/a.py": "0123456789abcdef"},
        compacted=True,
        noticed=(3, 0),
    )


async def test_a_lead_remembers_what_it_knew_and_that_it_went_to_another_team(store: JsonlStore) -> None:
    memory = Memory()
    *before, last = await store.read("log/lead")
    for item in before:
        memory = remembered(memory, item)
    assert replace(memory, hooks=NO_HOOKS) == Memory(
        name="lead",
        number=11,
        cursors={"mail/lead": 2},
        ids=NONE_SEEN.put("user:0", 2).put("alice:2.0", 2),
        owed=True,
        work_mode=WORK_MODE,
        plan_round=1,
        noticed=(8, 5),
        informed=True,
        steps=1,
        reminded=10,
        reminded_of=frozenset({"b00c0de"}),
        dismissed=frozenset({"前端"}),
    )
    assert replace(remembered(memory, last), hooks=NO_HOOKS) == Memory(
        name="lead",
        number=12,
        cursors={"mail/lead": 2},
        owed=True,
        work_mode=WORK_MODE,
        plan_round=1,
        noticed=(2, 3),
        away="shop",
        steps=1,
        home=memory.without_own(),
        reminded_of=frozenset({"b00c0de"}),
    )


def remembered(memory: Memory, item: Record | Damaged) -> Memory:
    assert isinstance(item, Record)
    entry = entries.read_entry(item.body)
    assert not isinstance(entry, Foreign)
    return remember(memory, item.number, entry)


async def test_readable_copies_are_made_again_from_the_streams(tmp_path: Path, store: JsonlStore) -> None:
    copies = sorted(tmp_path.glob(".t*/demo/*.json"))
    kept = [path.read_bytes() for path in copies]
    assert [path.name for path in copies] == ["1.json", "2.json", "3.json", "config.json"]
    for path in copies:
        path.unlink()
    roster = roster_fold.fold(members.EMPTY, await store.read("roster"))
    board = board_fold.fold(tasks.EMPTY, await store.read("board"))
    store.projections().write(roster, board)
    assert [path.read_bytes() for path in copies] == kept
