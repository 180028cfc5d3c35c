"""What was added after version 0.2 is read by today's code as it was written."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.hosts import host_fold
from deskmate.core.hosts.placement import Wish
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.log.names import chunks_of
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team import members, open_questions, roster_fold, tasks
from deskmate.core.team.board_fold import fold
from deskmate.core.team.messages import envelope_in
from deskmate.core.team.open_questions import read_mail
from deskmate.core.team.tasks import TaskStatus
from deskmate.core.travel import code_records
from deskmate.core.travel.code_routes import route
from deskmate.core.travel.payload_chunks import START, taken
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeClock
from tests.formats.make import body_of
from tests.formats.make_v3 import (
    CHOSEN,
    GIVEN,
    HERE,
    LEAD,
    MEETS,
    QUESTION,
    QUESTIONS,
    REFUSED,
    SENT,
    SENT_FILE,
    STREAMS,
    files,
)
from tests.formats.test_golden import READERS, kind_of

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("S4")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    for top in ("teams", "tasks"):
        shutil.copytree(HERE / top, tmp_path / f".{top}")
    store = JsonlStore.open(tmp_path, "demo")
    yield store
    store.close()


def test_the_same_facts_are_written_in_the_very_same_bytes_today() -> None:
    assert files() == {str(path.relative_to(HERE)): path.read_bytes() for path in HERE.rglob("*") if path.is_file()}


async def test_every_record_is_understood_and_written_again_with_all_its_fields(store: JsonlStore) -> None:
    for stream, (_, lines) in STREAMS.items():
        read, _ = READERS[kind_of(stream)]
        found = [item.body for item in await store.read(stream) if isinstance(item, Record)]
        assert found == [body_of(line, number) for number, line in enumerate(lines, 1)]
        facts = [read(body) for body in found]
        assert not any(isinstance(fact, Foreign) for fact in facts)
        assert [{**fact.body(), **body} for fact, body in zip(facts, found, strict=True)] == found


async def test_a_lead_still_knows_that_a_summary_is_wanted_and_that_the_conversation_is_too_long(
    store: JsonlStore,
) -> None:
    memory = (await Transcript.load(LogWriter(store, FakeClock()), "lead")).memory
    assert (memory.focus, memory.overflowed) == ("the schema", False)
    assert memory == _remembered()


async def test_a_lead_still_knows_both_of_its_teams(store: JsonlStore) -> None:
    memory = (await Transcript.load(LogWriter(store, FakeClock()), "lead")).memory
    home = memory.in_team("demo")
    assert (memory.away, list(memory.requests), memory.dismissed) == ("web", [], frozenset({"bob"}))
    assert ([*home.requests], [*home.plans], home.noticed) == (["lead:11.0"], ["alice"], (4, 3))
    assert (home.reminded, home.dismissed) == (4, frozenset({"alice"}))


async def test_a_question_still_says_which_team_it_is_from(store: JsonlStore) -> None:
    asked = envelope_in((await store.read("mail/user"))[0])
    assert asked == QUESTION


async def test_a_form_of_a_server_is_still_read_and_its_answer_closes_it(store: JsonlStore) -> None:
    roster = roster_fold.fold(members.EMPTY, await store.read("roster"))
    asked = read_mail(open_questions.EMPTY, roster, await store.read("mail/user"))
    assert [asked.asked[one.id.removeprefix("ask/")].input for one in QUESTIONS] == [one.message for one in QUESTIONS]
    answered = read_mail(asked, roster, await store.read("mail/alice"))
    assert set(asked.asked) - set(answered.asked) == {GIVEN.request_id, REFUSED.request_id, CHOSEN.request_id}


async def test_the_team_still_knows_which_mode_follows_plan_mode(store: JsonlStore) -> None:
    roster = roster_fold.fold(members.EMPTY, await store.read("roster"))
    assert (roster.mode, roster.before_plan) == (Mode.PLAN, {"": Mode.DEFAULT})


async def test_a_teammate_of_a_custom_type_is_known_without_the_file_of_the_type(store: JsonlStore) -> None:
    alice = roster_fold.fold(members.EMPTY, await store.read("roster")).members["alice"]
    assert (alice.agent_type, alice.base_tools, alice.colour) == (AgentType.EXPLORE, ("read_file", "grep"), "magenta")
    assert alice.joined is not None
    assert alice.joined.custom_type == "code-reviewer"
    assert alice.joined.skills == ("release",)
    assert alice.joined.instructions == "Read the diff.\n\nSay what is wrong: größer 漢字."


async def test_a_task_still_has_the_commit_that_its_work_was_merged_in(store: JsonlStore) -> None:
    task = fold(tasks.EMPTY, await store.read("board")).tasks[1]
    assert (task.status, task.merged, task.offer, task.returned) == (TaskStatus.COMPLETED, "3d" * 20, None, "")


async def test_a_board_still_knows_where_work_meets(store: JsonlStore) -> None:
    assert fold(tasks.EMPTY, await store.read("board")).overlaps == {MEETS: 7}


async def test_a_teammate_is_still_known_to_be_placed_where_it_was(store: JsonlStore) -> None:
    roster = roster_fold.fold(members.EMPTY, await store.read("roster"))
    dora = roster.members["dora"]
    assert (dora.host, dora.placed_in, dora.recalled, dora.returned) == ("", 14, False, None)
    assert Wish.of(dora) == Wish("gpu1", frozenset({"gpu", "linux"}))
    assert roster.skipped == ()


async def test_the_hosts_of_a_space_are_still_known(store: JsonlStore) -> None:
    known = host_fold.fold(host_fold.EMPTY, await store.read("hosts"))
    gpu1 = known.hosts["gpu1"]
    assert ([*known.hosts], gpu1.members, gpu1.load, gpu1.draining) == (["gpu1"], {"dora@demo"}, 0.75, True)
    assert {team: call.number for team, call in known.calls.items()} == {"demo": 2}


async def test_code_on_its_way_is_still_found_and_put_together(store: JsonlStore) -> None:
    said = code_records.fold(code_records.EMPTY, await store.read("code"))
    found = route(said.bundles, frozenset(), said.tip or "")
    assert found == said.bundles
    data, at = b"", START
    while at.size < SENT.size:
        pieces, at = taken(SENT, at, await store.read(chunks_of(SENT.sha256, at.part), at.number))
        data += b"".join(pieces)
    assert data == SENT_FILE
    own = code_records.fold(code_records.EMPTY, await store.read("code/alice"))
    answer = said.answer("alice", own.wanted)
    assert isinstance(answer, code_records.CodeReady)
    assert answer.own == own.bundles[-1].tip


def _remembered() -> Memory:
    memory = EMPTY
    for number, entry in enumerate(LEAD, 1):
        assert isinstance(entry, Fact)
        memory = remember(memory, number, entry)  # type: ignore[arg-type]
    return memory
