"""A teammate is kept at its desk until it has left, whatever becomes of who plays it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.agent.entries import Heard, Started
from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.team.members import Idle, Joined, MemberParked, MemberStatus
from deskmate.core.team.messages import Interrupt, Message, Plain, ShutdownRequest, ShutdownResponse, Undeliverable
from deskmate.core.team.tasks import Note
from deskmate.errors import Conflict, StoreCorrupt, StoreError, StoreUnavailable
from deskmate.runtime.events import Changed
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.supervisor import RECORDS_CHANGED, Supervisor
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team import Team
from tests.runtime import SOON, until
from tests.runtime.desks import Floor, turns
from tests.runtime.scenes import Part, Stage, fails

pytestmark = pytest.mark.anyio

STOP = ShutdownRequest(request_id="lead:9.0")
WHY = "failed 4 times within a minute, the last time with RuntimeError: boom"


@pytest.fixture
async def floor() -> Floor:
    """A team of a lead, alice and bob."""
    floor = await Floor.opened([])
    for name in ("alice", "bob"):
        await floor.team_state.roster.join(Joined(name=name, at=0.0))
    return floor


def leaves(floor: Floor) -> Part:
    async def leave(name: str) -> None:
        await floor.team_state.roster.leave(name, "agreed", heard=0, agreed=True)

    return leave


def fails_after(floor: Floor, seconds: float) -> Part:
    async def fail(name: str) -> None:
        floor.clock.advance(seconds)
        raise RuntimeError("boom")

    return fail


@asynccontextmanager
async def kept(floor: Floor, stage: Stage) -> AsyncIterator[anyio.Event]:
    """Keep alice at her desk beside the test; lend what is set once that has come to its end."""
    over = anyio.Event()
    stage.feed = floor.team_state.feed

    async def keep() -> None:
        await Supervisor(floor.team_state, "alice", stage).keep()
        over.set()

    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(keep)
            yield over
            tasks.cancel_scope.cancel()


async def until_parked(floor: Floor) -> None:
    await until_status(floor, "parked")
    # By then it waits for a word.
    await turns()


async def until_status(floor: Floor, word: str) -> None:
    await until(lambda: status(floor).word == word)


def status(floor: Floor) -> MemberStatus:
    return floor.team_state.roster.state.members["alice"].status


async def ask_to_stop(floor: Floor, message: Message = STOP, sender: str = LEAD) -> None:
    """Ask alice to stop; return once that is being timed."""
    asleep = floor.clock.sleeping
    await floor.send(message, sender=sender, to="alice")
    await until(lambda: floor.clock.sleeping > asleep)


async def pass_by(floor: Floor, seconds: float) -> None:
    floor.clock.advance(seconds)
    await turns()


# -- playing ----------------------------------------------------------------------------------------


async def test_whoever_joins_is_started_once_by_the_launcher_it_was_spawned_for(floor: Floor) -> None:
    inline, process = Stage(), Stage()
    async with task_group() as tasks:
        tasks.start_soon(Team(floor.team_state, {"inline": inline, "process": process}, tasks).keep)
        await until(lambda: len(inline.started) == 2)
        await floor.team_state.roster.join(Joined(name="carol", launcher="process", at=0.0))
        await floor.team_state.roster.join(Joined(name="dave", launcher="of another version", at=0.0))
        await floor.team_state.roster.status(Idle(name="alice", at=0.0))
        await until(lambda: len(inline.started) == 3)
        await turns()
        tasks.cancel_scope.cancel()
    assert (inline.started, process.started) == (["alice", "bob", "dave"], ["carol"])


async def test_who_has_left_is_not_started(floor: Floor) -> None:
    await floor.team_state.roster.leave("alice", "done", heard=0)
    stage = Stage()
    async with task_group() as tasks:
        tasks.start_soon(Team(floor.team_state, {"inline": stage}, tasks).keep)
        await until(lambda: stage.started)
        await turns()
        tasks.cancel_scope.cancel()
    assert stage.started == ["bob"]


async def test_it_is_kept_until_it_has_left(floor: Floor) -> None:
    stage = Stage(leaves(floor))
    async with kept(floor, stage) as over:
        await over.wait()
    assert (stage.started, status(floor).word) == (["alice"], "left")


async def test_one_that_fails_is_started_again_up_to_three_times(floor: Floor) -> None:
    stage = Stage(fails, fails, fails)
    async with kept(floor, stage):
        await until(lambda: len(stage.started) == 4)
        await turns()
    assert (len(stage.started), status(floor).word) == (4, "working")


@pytest.mark.behaviour("release", "supervise", "P7")
async def test_the_fourth_failure_within_a_minute_parks_it_visibly_and_frees_its_task(floor: Floor) -> None:
    board = floor.team_state.board
    await board.create(LEAD, "parse")
    await board.claim(floor.team_state.roster.state.members["alice"], 1)
    stage = Stage(*[fails_after(floor, 19.9)] * 4)
    async with kept(floor, stage):
        await until_parked(floor)
    assert (len(stage.started), status(floor).detail) == (4, WHY)
    task = (await board.refresh()).tasks[1]
    assert (task.owner, task.notes) == (None, (Note("alice", f"alice was parked: {WHY}"),))


@pytest.mark.behaviour("supervise", "P7")
async def test_failures_further_apart_never_park_it(floor: Floor) -> None:
    stage = Stage(*[fails_after(floor, 20.0)] * 12)
    async with kept(floor, stage):
        await until(lambda: len(stage.started) == 13)
        await turns()
    assert (len(stage.started), status(floor).word) == (13, "working")


async def test_a_reason_of_any_length_is_bounded(floor: Floor) -> None:
    async def fails_at_length(name: str) -> None:
        raise RuntimeError("x" * 100_000)

    async with kept(floor, Stage(*[fails_at_length] * 4)):
        await until_parked(floor)
    assert len(status(floor).detail) < 500


async def test_parked_it_has_heard_what_it_had_heard_before(floor: Floor) -> None:
    await floor.send(Plain(content="hello"), sender="bob", to="alice")
    await floor.team_state.roster.status(Idle(name="alice", heard=1, at=0.0))
    await floor.team_state.roster.refresh()
    async with kept(floor, Stage(*[fails] * 4)):
        await until_parked(floor)
    assert status(floor).heard == 1


@pytest.mark.parametrize("sender", [USER, LEAD])
async def test_a_new_word_of_user_or_lead_starts_it_again_and_no_other(floor: Floor, sender: str) -> None:
    await floor.send(Plain(content="the word before"), sender=sender, to="alice")
    stage = Stage(*[fails] * 4)
    async with kept(floor, stage):
        await until_parked(floor)
        await floor.send(Plain(content="are you there?"), sender="bob", to="alice")
        await turns()
        assert len(stage.started) == 4
        await floor.send(Plain(content="go on"), sender=sender, to="alice")
        await until(lambda: len(stage.started) == 5)
        await turns()
        assert (stage.playing, status(floor).word) == (["alice"], "working")


async def test_started_again_by_a_word_it_may_fail_as_often_as_at_first(floor: Floor) -> None:
    stage = Stage(*[fails] * 4, *[fails] * 3)
    async with kept(floor, stage):
        await until_parked(floor)
        await floor.send(Plain(content="go on"), to="alice")
        await until(lambda: len(stage.started) == 8)
        await turns()
        assert stage.playing == ["alice"]


async def test_one_that_fails_having_left_is_not_parked(floor: Floor) -> None:
    async def leaves_and_fails(name: str) -> None:
        await leaves(floor)(name)
        raise RuntimeError("boom")

    stage = Stage(leaves_and_fails, *[fails] * 3)
    async with kept(floor, stage) as over:
        await over.wait()
    assert (status(floor).word, await floor.statuses()) == ("left", [])


async def test_a_store_that_cannot_be_reached_is_nobodys_failure_but_ends_the_process(floor: Floor) -> None:
    async def unreachable(name: str) -> None:
        raise StoreUnavailable("the disk is gone")

    stage = Stage(unreachable)
    with pytest.raises(StoreUnavailable):
        async with kept(floor, stage) as over:
            await over.wait()
    assert (len(stage.started), await floor.statuses()) == (1, [])


@pytest.mark.parametrize("error", [StoreCorrupt("alice_transcript.jsonl ends at record 3"), Conflict("log/a", 3, 9)])
async def test_one_whose_records_were_changed_is_parked_at_once_and_goes_on_only_for_the_user(
    floor: Floor, error: StoreError
) -> None:
    async def finds_them_changed(name: str) -> None:
        raise error

    board = floor.team_state.board
    await board.create(LEAD, "parse")
    await board.claim(floor.team_state.roster.state.members["alice"], 1)
    await floor.send(Plain(content="the word before"), sender=USER, to="alice")
    stage = Stage(finds_them_changed)
    async with kept(floor, stage):
        await until_parked(floor)
        assert (await board.refresh()).tasks[1].owner is None
        await floor.send(Plain(content="go on"), sender=LEAD, to="alice")
        await turns()
        assert (len(stage.started), status(floor).detail) == (1, f"{RECORDS_CHANGED}: {error}")
        await floor.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: stage.playing)
    assert len(stage.started) == 2


async def test_resuming_the_team_starts_nobody_that_only_the_user_may_let_go_on(floor: Floor) -> None:
    await floor.send(Plain(content="the word before"), sender=USER, to="alice")
    await floor.team_state.roster.status(MemberParked(name="alice", reason="cut", known=1, only_user=True, at=0.0))
    again = floor.restarted([])
    await again.team_state.roster.refresh()
    stage = Stage()
    async with kept(again, stage):
        await turns()
        assert (stage.started, again.team_state.starting.names) == ([], frozenset())
        await again.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: stage.playing)


@pytest.mark.parametrize("starts_late", [False, True])
async def test_a_restart_that_fails_does_not_let_the_lead_restart_what_only_the_user_may(
    floor: Floor, starts_late: bool
) -> None:
    await floor.team_state.roster.status(MemberParked(name="alice", reason="cut", known=0, only_user=True, at=0.0))
    await floor.team_state.roster.refresh()
    before = status(floor).number
    stage = Stage() if starts_late else Stage(fails, fails, fails, fails)
    async with kept(floor, stage):
        if starts_late:
            stage.feed = None
        await floor.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: stage.started)
        await turns()
        for _ in range(12 if starts_late else 0):
            await pass_by(floor, 10.0)
        await until(lambda: status(floor).number > before)
        await turns()
        why = "it did not start within 120 s" if starts_late else WHY
        assert (status(floor).only_user, status(floor).detail) == (True, f"{RECORDS_CHANGED}; {why}")
        tries = len(stage.started)
        await floor.send(Plain(content="go on"), sender=LEAD, to="alice")
        await turns()
        assert len(stage.started) == tries
        await floor.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: len(stage.started) > tries)


async def test_an_interrupt_does_not_restart_a_parked_member(floor: Floor) -> None:
    stage = Stage(fails, fails, fails, fails)
    async with kept(floor, stage):
        await until_parked(floor)
        await floor.send(Interrupt(), sender=USER, to="alice")
        await turns()
        assert (len(stage.started), status(floor).word) == (4, "parked")
        await floor.send(Plain(content="go on"), sender=USER, to="alice")
        await until(lambda: stage.playing)


async def test_one_that_only_the_user_may_let_go_on_leaves_when_it_is_asked_to(floor: Floor) -> None:
    await floor.send(Plain(content="heard"), sender="bob", to="alice")
    await floor.send(Plain(content="not heard"), sender="bob", to="alice")
    await floor.team_state.roster.status(
        MemberParked(name="alice", reason="cut", heard=1, known=2, only_user=True, at=0.0)
    )
    await floor.team_state.roster.refresh()
    stage = Stage()
    async with kept(floor, stage) as over:
        await floor.send(STOP, sender=LEAD, to="alice")
        await over.wait()
    assert (stage.started, status(floor).word, status(floor).heard) == ([], "left", 1)
    (letter,) = await floor.letters("bob")
    assert isinstance(letter.message, Undeliverable)
    assert letter.message.original["content"] == "not heard"


# -- starting ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("supervise")
async def test_one_that_never_shows_a_status_is_ended_and_parked(floor: Floor) -> None:
    stage = Stage()
    async with kept(floor, stage):
        stage.feed = None
        await until(lambda: stage.playing)
        await turns()
        assert floor.team_state.starting.names == {"alice"}
        for _ in range(11):
            await pass_by(floor, 10.0)
        assert stage.playing == ["alice"]
        await pass_by(floor, 10.0)
        await until_parked(floor)
        assert (stage.playing, floor.team_state.starting.names) == ([], frozenset())
    assert (len(stage.started), status(floor).detail) == (1, "it did not start within 120 s")


async def test_time_in_which_this_process_was_stopped_makes_nobody_late(floor: Floor) -> None:
    stage = Stage()
    async with kept(floor, stage):
        stage.feed = None
        await until(lambda: stage.playing)
        await turns()
        await pass_by(floor, 3600.0)
        assert stage.playing == ["alice"]
        floor.team_state.feed.tell(Changed("alice", "idle"))
        for _ in range(20):
            await pass_by(floor, 10.0)
        assert stage.playing == ["alice"]


async def test_one_that_is_started_again_counts_as_starting_until_it_shows_a_status(floor: Floor) -> None:
    stage = Stage(fails)
    async with kept(floor, stage):
        stage.feed = None
        await until(lambda: len(stage.started) == 2)
        assert floor.team_state.starting.names == {"alice"}
        floor.team_state.feed.tell(Changed("alice", "idle"))
        assert floor.team_state.starting.names == frozenset()


async def test_quitting_is_not_leaving_and_records_nothing(floor: Floor) -> None:
    stage = Stage()
    before = await floor.team_state.roster.refresh()
    async with kept(floor, stage):
        await until(lambda: stage.playing)
    assert (stage.playing, await floor.team_state.roster.refresh()) == ([], before)


# -- stopping ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("shutdown", "bounce")
@pytest.mark.parametrize("sender", [USER, LEAD])
async def test_asked_to_stop_while_nobody_can_play_it_it_leaves_and_its_mail_comes_back(
    floor: Floor, sender: str
) -> None:
    await floor.send(Plain(content="the schema is final"), sender="bob", to="alice")
    async with kept(floor, Stage(*[fails] * 4)) as over:
        await until_parked(floor)
        await floor.send(STOP, sender=sender, to="alice")
        await over.wait()
    alice = floor.team_state.roster.state.members["alice"]
    assert (alice.status.word, alice.agreed) == ("left", False)
    assert alice.status.detail == "forced: asked to shut down while it could not run"
    (letter,) = await floor.letters("bob")
    assert isinstance(letter.message, Undeliverable)
    assert letter.message.original["content"] == "the schema is final"


@pytest.mark.behaviour("shutdown")
async def test_asked_to_stop_before_it_died_it_leaves_all_the_same(floor: Floor) -> None:
    await floor.send(STOP, sender=LEAD, to="alice")
    async with kept(floor, Stage(*[fails] * 4)) as over:
        await over.wait()
    assert status(floor).detail == "forced: asked to shut down while it could not run"


@pytest.mark.behaviour("shutdown")
async def test_one_that_heard_the_request_and_died_before_it_answered_leaves_all_the_same(floor: Floor) -> None:
    await floor.send(STOP, sender=LEAD, to="alice")
    await floor.team_state.roster.status(Idle(name="alice", heard=1, at=0.0))
    await floor.team_state.roster.refresh()
    async with kept(floor, Stage(*[fails] * 4)) as over:
        await over.wait()
    assert status(floor).word == "left"


@pytest.mark.behaviour("shutdown")
async def test_one_that_refused_to_stop_and_died_later_is_only_parked(floor: Floor) -> None:
    await floor.send(STOP, sender=LEAD, to="alice")
    await floor.send(ShutdownResponse(request_id="lead:9.0", approve=False, content="not yet"), sender="alice")
    async with kept(floor, Stage(*[fails] * 4)):
        await until_parked(floor)
        await pass_by(floor, 200.0)
    assert status(floor).word == "parked"


@pytest.mark.behaviour("shutdown", "P1")
async def test_without_an_end_in_185_seconds_the_player_is_ended_and_it_leaves(floor: Floor) -> None:
    store, name = floor.store, "alice"

    async def sits(name: str) -> None:
        async with store.hold(name, "a player"):
            await anyio.sleep_forever()

    await floor.team_state.board.create(LEAD, "parse")
    await floor.team_state.board.claim(floor.team_state.roster.state.members[name], 1)
    stage = Stage(sits)
    async with kept(floor, stage) as over:
        await ask_to_stop(floor)
        await pass_by(floor, 184.9)
        assert (stage.playing, status(floor).word) == ([name], "working")
        floor.clock.advance(0.2)
        await over.wait()
    alice = floor.team_state.roster.state.members[name]
    assert (alice.status.detail, alice.agreed) == ("forced: still running 185 s after a shutdown request", False)
    assert (stage.started, stage.playing) == ([name], [])
    assert (await floor.team_state.board.refresh()).tasks[1].owner is None
    async with store.hold(name, "whoever comes next"):
        pass


@pytest.mark.behaviour("shutdown", "bounce")
async def test_what_it_had_heard_does_not_come_back_from_who_was_ended(floor: Floor) -> None:
    transcript = await Transcript.load(floor.team_state.writer, "alice")
    await transcript.record(Started(name="alice"))
    for words in ("heard", "not heard"):
        await floor.send(Plain(content=words), sender="bob", to="alice")
    await transcript.record(Heard(box=mail("alice"), after=0, upto=1))
    async with kept(floor, Stage()) as over:
        await ask_to_stop(floor)
        floor.clock.advance(185.0)
        await over.wait()
    assert status(floor).heard == 1
    (letter,) = await floor.letters("bob")
    assert isinstance(letter.message, Undeliverable)
    assert letter.message.original["content"] == "not heard"


@pytest.mark.behaviour("shutdown")
async def test_a_refused_shutdown_is_not_forced(floor: Floor) -> None:
    stage = Stage()
    async with kept(floor, stage):
        await ask_to_stop(floor)
        await floor.send(ShutdownResponse(request_id="lead:9.0", approve=False, content="not yet"), sender="alice")
        await pass_by(floor, 200.0)
        assert (stage.playing, status(floor).word) == (["alice"], "working")
        # The next one has a time of its own.
        await ask_to_stop(floor, ShutdownRequest(request_id="lead:11.0"))
        await pass_by(floor, 184.0)
        assert stage.playing == ["alice"]
        await pass_by(floor, 1.0)
        assert (stage.playing, status(floor).word) == ([], "left")


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
async def test_an_answer_that_is_no_refusal_of_its_own_keeps_nobody(floor: Floor, sender: str, answer: Message) -> None:
    async with kept(floor, Stage()) as over:
        await ask_to_stop(floor)
        await floor.send(answer, sender=sender)
        floor.clock.advance(185.0)
        await over.wait()
    assert status(floor).word == "left"


async def test_a_request_of_who_may_not_ask_ends_nobody(floor: Floor) -> None:
    stage = Stage(*[fails] * 4)
    async with kept(floor, stage):
        await until_parked(floor)
        await floor.send(STOP, sender="bob", to="alice")
        await pass_by(floor, 200.0)
    assert (len(stage.started), status(floor).word) == (4, "parked")


@pytest.mark.behaviour("shutdown")
async def test_a_request_made_before_this_process_began_has_its_time_from_now(floor: Floor) -> None:
    await floor.send(STOP, sender=LEAD, to="alice")
    floor.clock.advance(1_000.0)
    again = floor.restarted([])
    await again.team_state.roster.refresh()
    stage = Stage()
    async with kept(again, stage) as over:
        await until(lambda: again.clock.sleeping)
        await pass_by(again, 184.0)
        assert stage.playing == ["alice"]
        again.clock.advance(1.0)
        await over.wait()
    assert status(again).word == "left"
