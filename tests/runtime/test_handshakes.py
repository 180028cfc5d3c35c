"""The first valid answer closes a handshake, even if a process was killed between asking and hearing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.agent.entries import Heard
from deskmate.core.agent.memory import Memory
from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.team.handshakes import OpenRequest, Shake
from deskmate.core.team.messages import Message, Plain, PlanResponse, ShutdownRequest, ShutdownResponse
from deskmate.core.team.roster_records import Joined, MemberIdle
from deskmate.core.team.status import status_word
from deskmate.runtime.events import Recorded
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.supervisor import Supervisor
from deskmate.runtime.task_groups import task_group
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say
from tests.runtime.agent_harness import AgentHarness, last_told, turns, uses
from tests.runtime.team_process import SOON, FaultyStore, envelopes, until
from tests.runtime.teammate_harness import InlineLauncher

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("P3")]

ASK = uses("SendMessage", type="shutdown_request", recipient="alice", content="we are done")
CALL = "lead:3.0"
NO = ShutdownResponse(request_id=CALL, approve=False, content="not yet")
YES = ShutdownResponse(request_id=CALL, approve=True)
OPEN = {CALL: OpenRequest(CALL, Shake.SHUTDOWN, "alice")}


async def team(*script: str | Say, store: FaultyStore | None = None) -> AgentHarness:
    """Return a team of a lead that plays a script, and of alice and bob, who are played by the test's hand."""
    harness = await AgentHarness.opened(script, store=store)
    for name in ("alice", "bob"):
        await harness.team_state.roster.join(Joined(name=name, at=0.0))
    return harness


async def memory(harness: AgentHarness, name: str = LEAD) -> Memory:
    return (await Transcript.load(harness.team_state.writer, name)).memory


def heard(harness: AgentHarness, name: str = LEAD) -> int:
    """Return how much of its mail a member has heard in this process."""
    entries = [told.entry for told in harness.told if isinstance(told, Recorded) and told.member == name]
    return max((entry.upto for entry in entries if isinstance(entry, Heard)), default=0)


async def tell(harness: AgentHarness, message: Message, sender: str) -> None:
    """Write to the lead, and return once it has heard that and had its time to act upon it."""
    before = heard(harness)
    await harness.send(message, sender=sender)
    await until(lambda: heard(harness) > before)
    await turns()


async def nothing_more() -> None:
    """Let the process get no further than this, until it is killed."""
    await anyio.sleep_forever()


# -- the lead asks ----------------------------------------------------------------------------------


@pytest.mark.behaviour("shutdown", "resume")
async def test_an_asker_killed_before_it_heard_the_answer_hears_it_when_it_comes_back() -> None:
    harness = await team(ASK, "Asked.")
    async with harness.playing("end it"):
        await harness.until_status("idle")
    assert (await memory(harness)).requests == OPEN
    await harness.send(NO, sender="alice")
    again = harness.restarted(["Then later."])
    async with again.playing() as agent:
        await until(lambda: agent.transcript.last_words == "Then later.")
        await turns()
    assert ((await memory(again)).requests, len(again.scripted.prompts)) == ({}, 1)
    assert "not yet" in last_told(again.scripted.prompts[0])[-1]


@pytest.mark.behaviour("shutdown", "resume")
@pytest.mark.parametrize("answer", [NO, YES], ids=["no", "yes"])
async def test_an_asker_killed_before_it_noted_its_question_asks_once_and_hears_the_answer(
    answer: ShutdownResponse,
) -> None:
    store = FaultyStore(MemoryStore())
    harness = await team(ASK, store=store)
    store.at("after append", mail("alice"), nothing_more)
    async with harness.playing("end it"):
        await until(lambda: mail("alice") in store.appended)
    # It was asked, and answers before the one who asked is back.
    await harness.send(answer, sender="alice")
    again = harness.restarted(["I see."])
    async with again.playing() as agent:
        await until(lambda: agent.transcript.last_words == "I see.")
        await turns()
    assert (await memory(again)).requests == {}
    assert len(again.scripted.prompts) == 1
    asked = await Mailbox("alice", again.team_state.writer, again.team_state.roster).hear(
        await Transcript.load(again.team_state.writer, "alice")
    )
    assert asked is not None
    assert [envelope.message for envelope in envelopes(asked)] == [
        ShutdownRequest(request_id=CALL, content="we are done")
    ]


@pytest.mark.behaviour("shutdown")
async def test_the_first_answer_counts_and_no_other_wakes_anyone() -> None:
    harness = await team(ASK, "Asked.", "Then later.")
    async with harness.playing("end it"):
        await harness.until_status("idle")
        await tell(harness, NO, "alice")
        await harness.until_status("idle")
        assert len(harness.scripted.prompts) == 3
        await tell(harness, NO, "alice")
        await tell(harness, YES, "alice")
        assert len(harness.scripted.prompts) == 3
    known = await memory(harness)
    assert (known.requests, known.leaving) == ({}, frozenset())


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize(
    ("answer", "sender"),
    [
        (NO, "bob"),
        (NO, USER),
        (ShutdownResponse(request_id="lead:3.1", approve=False, content="not yet"), "alice"),
        (PlanResponse(request_id=CALL, approve=False), "alice"),
    ],
    ids=["of another", "of the user", "to another request", "of another kind"],
)
async def test_an_answer_that_does_not_count_leaves_the_question_open(answer: Message, sender: str) -> None:
    harness = await team(ASK, "Asked.", "Then later.")
    async with harness.playing("end it"):
        await harness.until_status("idle")
        await tell(harness, answer, sender)
        assert ((await memory(harness)).requests, len(harness.scripted.prompts)) == (OPEN, 2)
        await tell(harness, NO, "alice")
        await harness.until_status("idle")
    assert ((await memory(harness)).requests, len(harness.scripted.prompts)) == ({}, 3)


@pytest.mark.behaviour("shutdown", "lead-wake")
async def test_a_lead_that_asked_twice_is_told_once_that_she_left() -> None:
    harness = await team(ASK, ASK, "Asked, and again.", "Good.")
    await harness.team_state.roster.status(MemberIdle(name="bob", at=0.0))
    async with harness.playing("end it"):
        await until(lambda: len(harness.scripted.prompts) == 3)
        await harness.until_status("idle")
        await tell(harness, YES, "alice")
        assert len(harness.scripted.prompts) == 3
        await harness.team_state.roster.leave("alice", "agreed to a shutdown request", heard=2, agreed=True)
        await until(lambda: len(harness.scripted.prompts) == 4)
        await harness.until_status("idle")
        await turns()
    assert "alice left" in last_told(harness.scripted.prompts[3])[-1]
    assert len(harness.scripted.prompts) == 4


# -- a planner asks ---------------------------------------------------------------------------------

PLAN = uses("ExitPlanMode", plan="first this, then that")
WRITE = uses("write_file", path="a", content="1")
PLANNED = "alice:2.0"


async def planner(*script: str | Say) -> AgentHarness:
    harness = await AgentHarness.opened(script)
    await harness.team_state.roster.join(Joined(name="alice", prompt="begin", plan=True, at=0.0))
    await harness.team_state.roster.join(Joined(name="bob", at=0.0))
    return harness


@asynccontextmanager
async def kept(harness: AgentHarness) -> AsyncIterator[None]:
    """Let alice plan beside the test; at the end the process dies."""
    await harness.team_state.roster.refresh()
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(Supervisor(harness.team_state, "alice", InlineLauncher(harness)).keep)
            yield
            tasks.cancel_scope.cancel()


async def until_word(harness: AgentHarness, word: str) -> None:
    await until(lambda: status_word(harness.team_state.roster.state.members["alice"].status) == word)
    await turns()


def files(harness: AgentHarness) -> Mapping[str, bytes]:
    return harness.bench.files


@pytest.mark.behaviour("plan", "resume")
@pytest.mark.parametrize("judge", [LEAD, USER])
async def test_a_planner_killed_before_it_heard_the_word_hears_it_when_it_comes_back(judge: str) -> None:
    harness = await planner(PLAN, "Submitted.")
    async with kept(harness):
        await until_word(harness, "waiting")
    await harness.send(PlanResponse(request_id=PLANNED, approve=True), sender=judge, to="alice")
    again = harness.restarted([WRITE, "Written."])
    async with kept(again):
        await until_word(again, "idle")
    assert (files(again), (await memory(again, "alice")).owes_plan) == ({"a": b"1"}, False)


@pytest.mark.behaviour("plan", "resume")
async def test_a_planner_killed_before_it_noted_its_plan_hands_it_in_once() -> None:
    store = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened([PLAN], store=store)
    await harness.team_state.roster.join(Joined(name="alice", prompt="begin", plan=True, at=0.0))
    store.at("after append", mail(LEAD), nothing_more)
    async with kept(harness):
        await until(lambda: mail(LEAD) in store.appended)
    (first,) = await harness.letters(LEAD)
    await harness.send(PlanResponse(request_id=PLANNED, approve=True), sender=LEAD, to="alice")
    again = harness.restarted(["Submitted.", WRITE, "Written."])
    async with kept(again):
        await until(lambda: again.scripted.prompts)
        await until_word(again, "idle")
    assert {letter.id for letter in await again.letters(LEAD)} == {first.id}
    assert not (await memory(again, "alice")).owes_plan


@pytest.mark.behaviour("plan")
async def test_the_first_word_on_a_plan_counts() -> None:
    harness = await planner(PLAN, "Submitted.", WRITE, "I may not.", "No other plan yet.", WRITE, "Still not.")
    async with kept(harness):
        await until_word(harness, "waiting")
        await harness.send(PlanResponse(request_id=PLANNED, approve=False, content="too much"), sender=LEAD, to="alice")
        await until(lambda: len(harness.scripted.prompts) == 5)
        await until_word(harness, "idle")
        await harness.send(PlanResponse(request_id=PLANNED, approve=True), sender=LEAD, to="alice")
        await harness.send(Plain(content="and now?"), sender="bob", to="alice")
        await until(lambda: len(harness.scripted.prompts) == 7)
        await until_word(harness, "idle")
    assert (files(harness), (await memory(harness, "alice")).owes_plan) == ({}, True)


@pytest.mark.behaviour("plan")
async def test_nobody_but_lead_and_user_says_yes_to_a_plan() -> None:
    harness = await planner(PLAN, "Submitted.", WRITE, "I may not.")
    async with kept(harness):
        await until_word(harness, "waiting")
        await harness.send(PlanResponse(request_id=PLANNED, approve=True), sender="bob", to="alice")
        await harness.send(Plain(content="you may"), sender="bob", to="alice")
        await until(lambda: len(harness.scripted.prompts) == 4)
        await until_word(harness, "waiting")
    known = await memory(harness, "alice")
    assert (files(harness), known.owes_plan, set(known.requests)) == ({}, True, {PLANNED})
