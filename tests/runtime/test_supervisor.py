"""A teammate is kept at its desk until it has left, whatever becomes of who plays it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.agent.entries import Heard, Started
from deskmate.core.agent.rules.supervise import RECORDS_CHANGED
from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Interrupt, Message, Plain, ShutdownRequest, ShutdownResponse, Undeliverable
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberParked
from deskmate.core.team.status import Idle, Left, status_detail, status_word
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Note
from deskmate.errors import Conflict, StoreCorrupt, StoreError, StoreUnavailable
from deskmate.runtime.events import Changed
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.supervisor import Supervisor
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from tests.runtime.agent_harness import AgentHarness, turns
from tests.runtime.team_process import SOON, until
from tests.runtime.teammate_harness import Part, ScriptedLauncher, fails

pytestmark = pytest.mark.anyio

STOP = ShutdownRequest(request_id="lead:9.0")
WHY = "failed 4 times within a minute, the last time with RuntimeError: boom"


@pytest.fixture
async def harness() -> AgentHarness:
    """A team of a lead, alice and bob."""
    harness = await AgentHarness.opened([])
    for name in ("alice", "bob"):
        await harness.team_state.roster.join(Joined(name=name, at=0.0))
    return harness


def leaves(harness: AgentHarness) -> Part:
    async def leave(name: str) -> None:
        await harness.team_state.roster.leave(name, "agreed", heard=0, agreed=True)

    return leave


def fails_after(harness: AgentHarness, seconds: float) -> Part:
    async def fail(name: str) -> None:
        harness.clock.advance(seconds)
        raise RuntimeError("boom")

    return fail


@asynccontextmanager
async def kept(harness: AgentHarness, launcher: ScriptedLauncher) -> AsyncIterator[anyio.Event]:
    """Keep alice at her desk beside the test; lend what is set once that has come to its end."""
    over = anyio.Event()
    launcher.feed = harness.team_state.feed

    async def keep() -> None:
        await Supervisor(harness.team_state, "alice", launcher).keep()
        over.set()

    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(keep)
            yield over
            tasks.cancel_scope.cancel()


async def until_parked(harness: AgentHarness) -> None:
    await until_status(harness, "parked")
    # By then it waits for a word.
    await turns()


async def until_status(harness: AgentHarness, wanted: str) -> None:
    await until(lambda: word(harness) == wanted)


def alice_in(harness: AgentHarness) -> Member:
    return harness.team_state.roster.state.members["alice"]


def word(harness: AgentHarness) -> str:
    return status_word(alice_in(harness).status)


async def ask_to_stop(harness: AgentHarness, message: Message = STOP, sender: str = LEAD) -> None:
    """Ask alice to stop; return once that is being timed."""
    asleep = harness.clock.sleeping
    await harness.send(message, sender=sender, to="alice")
    await until(lambda: harness.clock.sleeping > asleep)


async def pass_by(harness: AgentHarness, seconds: float) -> None:
    harness.clock.advance(seconds)
    await turns()


# -- playing ----------------------------------------------------------------------------------------


async def test_whoever_joins_is_started_once_by_the_launcher_it_was_spawned_for(harness: AgentHarness) -> None:
    inline, process = ScriptedLauncher(), ScriptedLauncher()
    async with task_group() as tasks:
        tasks.start_soon(TeamPlayers(harness.team_state, {"inline": inline, "process": process}, tasks).keep)
        await until(lambda: len(inline.started) == 2)
        await harness.team_state.roster.join(Joined(name="carol", launcher="process", at=0.0))
        await harness.team_state.roster.join(Joined(name="dave", launcher="of another version", at=0.0))
        await harness.team_state.roster.status(MemberIdle(name="alice", at=0.0))
        await until(lambda: len(inline.started) == 3)
        await turns()
        tasks.cancel_scope.cancel()
    assert (inline.started, process.started) == (["alice", "bob", "dave"], ["carol"])


async def test_who_has_left_is_not_started(harness: AgentHarness) -> None:
    await harness.team_state.roster.leave("alice", "done", heard=0)
    launcher = ScriptedLauncher()
    async with task_group() as tasks:
        tasks.start_soon(TeamPlayers(harness.team_state, {"inline": launcher}, tasks).keep)
        await until(lambda: launcher.started)
        await turns()
        tasks.cancel_scope.cancel()
    assert launcher.started == ["bob"]


async def test_it_is_kept_until_it_has_left(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(leaves(harness))
    async with kept(harness, launcher) as over:
        await over.wait()
    assert (launcher.started, word(harness)) == (["alice"], "left")


async def test_one_that_fails_is_started_again_up_to_three_times(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(fails, fails, fails)
    async with kept(harness, launcher):
        await until(lambda: len(launcher.started) == 4)
        await turns()
    assert (len(launcher.started), word(harness)) == (4, "working")


@pytest.mark.behaviour("release", "supervise", "P7")
async def test_the_fourth_failure_within_a_minute_parks_it_visibly_and_frees_its_task(harness: AgentHarness) -> None:
    board = harness.team_state.board
    await board.create(LEAD, NewTask("parse"))
    await board.claim(harness.team_state.roster.state.members["alice"], 1)
    launcher = ScriptedLauncher(*[fails_after(harness, 19.9)] * 4)
    async with kept(harness, launcher):
        await until_parked(harness)
    assert (len(launcher.started), status_detail(alice_in(harness).status)) == (4, WHY)
    task = (await board.refresh()).tasks[1]
    assert (task.owner, task.notes) == (None, (Note("alice", f"alice was parked: {WHY}"),))


@pytest.mark.behaviour("supervise", "P7")
async def test_failures_further_apart_never_park_it(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(*[fails_after(harness, 20.0)] * 12)
    async with kept(harness, launcher):
        await until(lambda: len(launcher.started) == 13)
        await turns()
    assert (len(launcher.started), word(harness)) == (13, "working")


async def test_a_reason_of_any_length_is_bounded(harness: AgentHarness) -> None:
    async def fails_at_length(name: str) -> None:
        raise RuntimeError("x" * 100_000)

    async with kept(harness, ScriptedLauncher(*[fails_at_length] * 4)):
        await until_parked(harness)
    assert len(status_detail(alice_in(harness).status)) < 500


async def test_parked_it_has_heard_what_it_had_heard_before(harness: AgentHarness) -> None:
    await harness.send(Plain(content="hello"), sender="bob", to="alice")
    await harness.team_state.roster.status(MemberIdle(name="alice", heard=1, at=0.0))
    await harness.team_state.roster.refresh()
    async with kept(harness, ScriptedLauncher(*[fails] * 4)):
        await until_parked(harness)
    assert alice_in(harness).heard == 1


@pytest.mark.parametrize("sender", [USER, LEAD])
async def test_a_new_word_of_user_or_lead_starts_it_again_and_no_other(harness: AgentHarness, sender: str) -> None:
    await harness.send(Plain(content="the word before"), sender=sender, to="alice")
    launcher = ScriptedLauncher(*[fails] * 4)
    async with kept(harness, launcher):
        await until_parked(harness)
        await harness.send(Plain(content="are you there?"), sender="bob", to="alice")
        await turns()
        assert len(launcher.started) == 4
        await harness.send(Plain(content="go on"), sender=sender, to="alice")
        await until(lambda: len(launcher.started) == 5)
        await turns()
        assert (launcher.playing, word(harness)) == (["alice"], "working")


async def test_started_again_by_a_word_it_may_fail_as_often_as_at_first(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(*[fails] * 4, *[fails] * 3)
    async with kept(harness, launcher):
        await until_parked(harness)
        await harness.send(Plain(content="go on"), to="alice")
        await until(lambda: len(launcher.started) == 8)
        await turns()
        assert launcher.playing == ["alice"]


async def test_one_that_fails_having_left_is_not_parked(harness: AgentHarness) -> None:
    async def leaves_and_fails(name: str) -> None:
        await leaves(harness)(name)
        raise RuntimeError("boom")

    launcher = ScriptedLauncher(leaves_and_fails, *[fails] * 3)
    async with kept(harness, launcher) as over:
        await over.wait()
    assert (word(harness), await harness.statuses()) == ("left", [])


async def test_a_store_that_cannot_be_reached_is_nobodys_failure_but_ends_the_process(harness: AgentHarness) -> None:
    async def unreachable(name: str) -> None:
        raise StoreUnavailable("the disk is gone")

    launcher = ScriptedLauncher(unreachable)
    with pytest.raises(StoreUnavailable):
        async with kept(harness, launcher) as over:
            await over.wait()
    assert (len(launcher.started), await harness.statuses()) == (1, [])


@pytest.mark.parametrize("error", [StoreCorrupt("alice_transcript.jsonl ends at record 3"), Conflict("log/a", 3, 9)])
async def test_one_whose_records_were_changed_is_parked_at_once_and_goes_on_only_for_the_user(
    harness: AgentHarness, error: StoreError
) -> None:
    async def finds_them_changed(name: str) -> None:
        raise error

    board = harness.team_state.board
    await board.create(LEAD, NewTask("parse"))
    await board.claim(harness.team_state.roster.state.members["alice"], 1)
    await harness.send(Plain(content="the word before"), sender=USER, to="alice")
    launcher = ScriptedLauncher(finds_them_changed)
    async with kept(harness, launcher):
        await until_parked(harness)
        assert (await board.refresh()).tasks[1].owner is None
        await harness.send(Plain(content="go on"), sender=LEAD, to="alice")
        await turns()
        assert (len(launcher.started), status_detail(alice_in(harness).status)) == (1, f"{RECORDS_CHANGED}: {error}")
        await harness.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: launcher.playing)
    assert len(launcher.started) == 2


async def test_resuming_the_team_starts_nobody_that_only_the_user_may_let_go_on(harness: AgentHarness) -> None:
    await harness.send(Plain(content="the word before"), sender=USER, to="alice")
    await harness.team_state.roster.status(MemberParked(name="alice", reason="cut", known=1, only_user=True, at=0.0))
    again = harness.restarted([])
    await again.team_state.roster.refresh()
    launcher = ScriptedLauncher()
    async with kept(again, launcher):
        await turns()
        assert (launcher.started, again.team_state.starting.names) == ([], frozenset())
        await again.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: launcher.playing)


@pytest.mark.parametrize("starts_late", [False, True])
async def test_a_restart_that_fails_does_not_let_the_lead_restart_what_only_the_user_may(
    harness: AgentHarness, starts_late: bool
) -> None:
    await harness.team_state.roster.status(MemberParked(name="alice", reason="cut", known=0, only_user=True, at=0.0))
    await harness.team_state.roster.refresh()
    before = alice_in(harness).status_in
    launcher = ScriptedLauncher() if starts_late else ScriptedLauncher(fails, fails, fails, fails)
    async with kept(harness, launcher):
        if starts_late:
            launcher.feed = None
        await harness.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: launcher.started)
        await turns()
        for _ in range(12 if starts_late else 0):
            await pass_by(harness, 10.0)
        await until(lambda: alice_in(harness).status_in > before)
        await turns()
        why = "it did not start within 120 s" if starts_late else WHY
        assert (alice_in(harness).only_user, status_detail(alice_in(harness).status)) == (
            True,
            f"{RECORDS_CHANGED}; {why}",
        )
        tries = len(launcher.started)
        await harness.send(Plain(content="go on"), sender=LEAD, to="alice")
        await turns()
        assert len(launcher.started) == tries
        await harness.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: len(launcher.started) > tries)


async def test_an_interrupt_does_not_restart_a_parked_member(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(fails, fails, fails, fails)
    async with kept(harness, launcher):
        await until_parked(harness)
        await harness.send(Interrupt(), sender=USER, to="alice")
        await turns()
        assert (len(launcher.started), word(harness)) == (4, "parked")
        await harness.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: launcher.playing)


async def test_one_that_only_the_user_may_let_go_on_leaves_when_it_is_asked_to(harness: AgentHarness) -> None:
    await harness.send(Plain(content="heard"), sender="bob", to="alice")
    await harness.send(Plain(content="not heard"), sender="bob", to="alice")
    await harness.team_state.roster.status(
        MemberParked(name="alice", reason="cut", heard=1, known=2, only_user=True, at=0.0)
    )
    await harness.team_state.roster.refresh()
    launcher = ScriptedLauncher()
    async with kept(harness, launcher) as over:
        await harness.send(STOP, sender=LEAD, to="alice")
        await over.wait()
    assert (launcher.started, word(harness), alice_in(harness).heard) == ([], "left", 1)
    (letter,) = await harness.letters("bob")
    assert isinstance(letter.message, Undeliverable)
    assert letter.message.original["content"] == "not heard"


# -- starting ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("supervise")
async def test_one_that_never_shows_a_status_is_ended_and_parked(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher()
    async with kept(harness, launcher):
        launcher.feed = None
        await until(lambda: launcher.playing)
        await turns()
        assert harness.team_state.starting.names == {"alice"}
        for _ in range(11):
            await pass_by(harness, 10.0)
        assert launcher.playing == ["alice"]
        await pass_by(harness, 10.0)
        await until_parked(harness)
        assert (launcher.playing, harness.team_state.starting.names) == ([], frozenset())
    assert (len(launcher.started), status_detail(alice_in(harness).status)) == (1, "it did not start within 120 s")


async def test_time_in_which_this_process_was_stopped_makes_nobody_late(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher()
    async with kept(harness, launcher):
        launcher.feed = None
        await until(lambda: launcher.playing)
        await turns()
        await pass_by(harness, 3600.0)
        assert launcher.playing == ["alice"]
        harness.team_state.feed.tell(Changed("alice", Idle()))
        for _ in range(20):
            await pass_by(harness, 10.0)
        assert launcher.playing == ["alice"]


async def test_one_that_is_started_again_counts_as_starting_until_it_shows_a_status(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(fails)
    async with kept(harness, launcher):
        launcher.feed = None
        await until(lambda: len(launcher.started) == 2)
        assert harness.team_state.starting.names == {"alice"}
        harness.team_state.feed.tell(Changed("alice", Idle()))
        assert harness.team_state.starting.names == frozenset()


async def test_quitting_is_not_leaving_and_records_nothing(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher()
    before = await harness.team_state.roster.refresh()
    async with kept(harness, launcher):
        await until(lambda: launcher.playing)
    assert (launcher.playing, await harness.team_state.roster.refresh()) == ([], before)


# -- stopping ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("shutdown", "bounce")
@pytest.mark.parametrize("sender", [USER, LEAD])
async def test_asked_to_stop_while_nobody_can_play_it_it_leaves_and_its_mail_comes_back(
    harness: AgentHarness, sender: str
) -> None:
    await harness.send(Plain(content="the schema is final"), sender="bob", to="alice")
    async with kept(harness, ScriptedLauncher(*[fails] * 4)) as over:
        await until_parked(harness)
        await harness.send(STOP, sender=sender, to="alice")
        await over.wait()
    alice = harness.team_state.roster.state.members["alice"]
    assert isinstance(alice.status, Left)
    assert (alice.status.reason.startswith("forced: asked to shut down"), alice.status.agreed) == (True, False)
    (letter,) = await harness.letters("bob")
    assert isinstance(letter.message, Undeliverable)
    assert letter.message.original["content"] == "the schema is final"


@pytest.mark.behaviour("shutdown")
async def test_asked_to_stop_before_it_died_it_leaves_all_the_same(harness: AgentHarness) -> None:
    await harness.send(STOP, sender=LEAD, to="alice")
    async with kept(harness, ScriptedLauncher(*[fails] * 4)) as over:
        await over.wait()
    assert status_detail(alice_in(harness).status).startswith("forced: asked to shut down")


@pytest.mark.behaviour("shutdown")
async def test_one_that_heard_the_request_and_died_before_it_answered_leaves_all_the_same(
    harness: AgentHarness,
) -> None:
    await harness.send(STOP, sender=LEAD, to="alice")
    await harness.team_state.roster.status(MemberIdle(name="alice", heard=1, at=0.0))
    await harness.team_state.roster.refresh()
    async with kept(harness, ScriptedLauncher(*[fails] * 4)) as over:
        await over.wait()
    assert word(harness) == "left"


@pytest.mark.behaviour("shutdown")
async def test_one_that_refused_to_stop_and_died_later_is_only_parked(harness: AgentHarness) -> None:
    await harness.send(STOP, sender=LEAD, to="alice")
    await harness.send(ShutdownResponse(request_id="lead:9.0", approve=False, content="not yet"), sender="alice")
    async with kept(harness, ScriptedLauncher(*[fails] * 4)):
        await until_parked(harness)
        await pass_by(harness, 200.0)
    assert word(harness) == "parked"


@pytest.mark.behaviour("shutdown", "P1")
async def test_without_an_end_in_185_seconds_the_player_is_ended_and_it_leaves(harness: AgentHarness) -> None:
    store, name = harness.store, "alice"

    async def sits(name: str) -> None:
        async with store.hold(name, "a player"):
            await anyio.sleep_forever()

    await harness.team_state.board.create(LEAD, NewTask("parse"))
    await harness.team_state.board.claim(harness.team_state.roster.state.members[name], 1)
    launcher = ScriptedLauncher(sits)
    async with kept(harness, launcher) as over:
        await ask_to_stop(harness)
        await pass_by(harness, 184.9)
        assert (launcher.playing, word(harness)) == ([name], "working")
        harness.clock.advance(0.2)
        await over.wait()
    alice = harness.team_state.roster.state.members[name]
    assert isinstance(alice.status, Left)
    assert (alice.status.reason.startswith("forced: still running 185 s"), alice.status.agreed) == (True, False)
    assert (launcher.started, launcher.playing) == ([name], [])
    assert (await harness.team_state.board.refresh()).tasks[1].owner is None
    async with store.hold(name, "whoever comes next"):
        pass


@pytest.mark.behaviour("shutdown", "bounce")
async def test_what_it_had_heard_does_not_come_back_from_who_was_ended(harness: AgentHarness) -> None:
    transcript = await Transcript.load(harness.team_state.writer, "alice")
    await transcript.record(Started(name="alice"))
    for words in ("heard", "not heard"):
        await harness.send(Plain(content=words), sender="bob", to="alice")
    await transcript.record(Heard(box=mail("alice"), after=0, upto=1))
    async with kept(harness, ScriptedLauncher()) as over:
        await ask_to_stop(harness)
        harness.clock.advance(185.0)
        await over.wait()
    assert alice_in(harness).heard == 1
    (letter,) = await harness.letters("bob")
    assert isinstance(letter.message, Undeliverable)
    assert letter.message.original["content"] == "not heard"


@pytest.mark.behaviour("shutdown")
async def test_a_refused_shutdown_is_not_forced(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher()
    async with kept(harness, launcher):
        await ask_to_stop(harness)
        await harness.send(ShutdownResponse(request_id="lead:9.0", approve=False, content="not yet"), sender="alice")
        await pass_by(harness, 200.0)
        assert (launcher.playing, word(harness)) == (["alice"], "working")
        # The next one has a time of its own.
        await ask_to_stop(harness, ShutdownRequest(request_id="lead:11.0"))
        await pass_by(harness, 184.0)
        assert launcher.playing == ["alice"]
        await pass_by(harness, 1.0)
        assert (launcher.playing, word(harness)) == ([], "left")


@pytest.mark.parametrize(
    ("sender", "answer"),
    [
        ("bob", ShutdownResponse(request_id="lead:9.0", approve=False, content="she is busy")),
        ("alice", ShutdownResponse(request_id="lead:7.0", approve=False, content="not yet")),
        ("alice", ShutdownResponse(request_id="lead:9.0", approve=True)),
        ("alice", Plain(content="I refuse to answer lead:9.0")),
    ],
    ids=["of another", "to another request", "that agrees", "in words"],
)
async def test_an_answer_that_is_no_refusal_of_its_own_keeps_nobody(
    harness: AgentHarness, sender: str, answer: Message
) -> None:
    async with kept(harness, ScriptedLauncher()) as over:
        await ask_to_stop(harness)
        await harness.send(answer, sender=sender)
        harness.clock.advance(185.0)
        await over.wait()
    assert word(harness) == "left"


async def test_a_request_of_who_may_not_ask_ends_nobody(harness: AgentHarness) -> None:
    launcher = ScriptedLauncher(*[fails] * 4)
    async with kept(harness, launcher):
        await until_parked(harness)
        await harness.send(STOP, sender="bob", to="alice")
        await pass_by(harness, 200.0)
    assert (len(launcher.started), word(harness)) == (4, "parked")


@pytest.mark.behaviour("shutdown")
async def test_a_request_made_before_this_process_began_has_its_time_from_now(harness: AgentHarness) -> None:
    await harness.send(STOP, sender=LEAD, to="alice")
    harness.clock.advance(1_000.0)
    again = harness.restarted([])
    await again.team_state.roster.refresh()
    launcher = ScriptedLauncher()
    async with kept(again, launcher) as over:
        await until(lambda: again.clock.sleeping)
        await pass_by(again, 184.0)
        assert launcher.playing == ["alice"]
        again.clock.advance(1.0)
        await over.wait()
    assert word(again) == "left"
