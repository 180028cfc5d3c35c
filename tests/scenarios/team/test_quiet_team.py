"""A team that has come to rest is seen to have: whatever its last teammate heard or may not begin, the run ends."""

from collections.abc import Callable

import pytest

from deskmate.app import Changed, Recorded, TeamEvent
from deskmate.core.agent.entries import Heard
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.prompts import Spoke
from deskmate.core.team.messages import Interrupt, Plain
from deskmate.core.team.status import Idle, status_word
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import (
    add_task,
    answer_stop,
    calls_in,
    complete_task,
    given_task,
    hears,
    in_turn,
    member_of,
    request_in,
    send_mail,
    spawn,
    step,
)
from tests.scenarios.team.team_runner import TeamRunner

pytestmark = pytest.mark.anyio
LONG = "word " * 40_000


@pytest.fixture
def launcher() -> str:
    """How teammates are launched: what is told here holds for any way."""
    return "inline"


def when_idle(name: str, count: int, deed: Callable[[], object]) -> Callable[[TeamEvent], None]:
    """Return a listener that does something once, when a member goes idle for the so-manieth time."""
    seen: list[TeamEvent] = []

    def listen(event: TeamEvent) -> None:
        if event == Changed(name, Idle()):
            seen.append(event)
            if len(seen) == count:
                deed()

    return listen


# -- what was heard and started no turn -----------------------------------------------------------


@pytest.mark.behaviour("plan", "headless")
async def test_an_answer_to_a_plan_that_nobody_submitted_keeps_no_team_from_being_quiet(runner: TeamRunner) -> None:
    late = {"type": "plan_approval_response", "recipient": "alice", "request_id": "alice:99.0", "approve": True}

    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[spawn("alice")])
        return Say(calls=[Use("SendMessage", late)]) if step(asked) == 2 else Say("I wait.")

    played = await runner.play({"lead": lead, "alice": in_turn()})
    assert "plan_approval_response" not in [envelope.message.type for envelope in played.envelopes_of("alice")]
    assert (False, "alice has no open plan 'alice:99.0'. Open: none.") in played.results_of("lead")
    assert len(played.requests_of("alice")) == 1
    assert (played.outcome.end, played.everyone_left) == ("answered", True)


@pytest.mark.behaviour("headless", "M2")
async def test_a_letter_sent_again_in_doubt_keeps_no_team_from_being_quiet(runner: TeamRunner) -> None:
    def send_again() -> None:
        runner.in_between(
            lambda writer, team: Mailbox("bob", writer, team).send("alice", Plain(content="hi"), id_="bob:2.0")
        )

    first: list[TeamEvent] = []

    def write(event: TeamEvent) -> None:
        """Once she rests and has answered the first copy, let the second come."""
        if isinstance(event, Recorded) and event.member == "alice" and isinstance(event.entry, Heard):
            first.append(event)
        elif event == Changed("alice", Idle()) and len(first) == 1:
            first.append(event)
            send_again()

    parts = {
        "lead": in_turn(Say(calls=[spawn("alice"), spawn("bob")])),
        "alice": in_turn(),
        "bob": in_turn(Say(calls=[send_mail("alice", "hi")])),
    }
    played = await runner.play(parts, write)
    letters = [
        envelope.id for envelope in await runner.scenario().mailbox("alice") if isinstance(envelope.message, Plain)
    ]
    assert letters == ["bob:2.0", "bob:2.0"]
    assert played.mail_to("alice") == [("bob", "hi")]
    assert played.everyone_left


@pytest.mark.behaviour("urgent", "headless")
async def test_whom_the_user_interrupted_is_at_rest_though_peers_write_and_tasks_are_free(runner: TeamRunner) -> None:
    def disturb() -> None:
        runner.send(USER, "alice", Interrupt())
        runner.send("bob", "alice", Plain(content="are you there?"))
        runner.in_between(add)

    async def add(writer: LogWriter, roster: Roster) -> None:
        await Board(writer, roster).create(LEAD, NewTask("for nobody else", owner="alice"))

    def alice(asked: Asked) -> Say:
        request = request_in(asked, "shutdown_request")
        return Say(calls=[answer_stop(request)]) if request else Say("I wait.")

    parts = {"lead": in_turn(Say(calls=[spawn("alice"), spawn("bob")])), "alice": alice, "bob": in_turn()}
    played = await runner.play(parts, when_idle("alice", 1, disturb))
    # Asked to stop she answers what she owes, and before that nothing.
    assert [bool(request_in(asked, "shutdown_request")) for asked in played.requests_of("alice")][:2] == [False, True]
    assert played.mail_to("alice") == [("bob", "are you there?")]
    assert played.board.tasks[1].status is TaskStatus.PENDING
    assert played.everyone_left


# -- who may not begin ----------------------------------------------------------------------------


@pytest.mark.behaviour("budget", "headless", "lead-wake")
async def test_who_reached_its_cap_with_its_last_words_is_parked_when_there_is_something_to_take(
    runner: TeamRunner,
) -> None:
    lead = in_turn(Say(calls=[add_task("one"), spawn("alice")]))
    played = await runner.play({"lead": lead, "alice": in_turn(Say(LONG))}, max_member_tokens=40_000)
    assert len(played.requests_of("alice")) == 1
    assert any(hears(asked, "alice is parked (") for asked in played.requests_of(LEAD))
    assert (played.board.tasks[1].status, played.board.tasks[1].owner) == (TaskStatus.PENDING, None)
    assert (played.outcome.end, played.everyone_left) == ("answered", True)


@pytest.mark.behaviour("budget", "headless")
async def test_a_team_at_its_cap_ends_with_what_it_could_not_begin_still_free(runner: TeamRunner) -> None:
    def alice(asked: Asked) -> Say:
        number = given_task(asked)
        if number:
            return Say(calls=[complete_task(number)])
        return Say("Ready.") if step(asked) == 0 else Say(LONG)

    lead = in_turn(Say(calls=[add_task("one"), add_task("two"), spawn("alice")]))
    played = await runner.play({"lead": lead, "alice": alice}, max_tokens=40_000)
    assert [found.status for found in played.board.tasks.values()] == [TaskStatus.COMPLETED, TaskStatus.PENDING]
    assert (played.outcome.end, status_word(played.roster.members["alice"].status)) == ("parked", "parked")


@pytest.mark.behaviour("plan", "headless")
async def test_a_planner_that_submits_no_plan_waits_for_one_and_the_team_is_quiet(runner: TeamRunner) -> None:
    lead = in_turn(Say(calls=[add_task("one"), spawn("alice", plan_mode_required=True)]))
    played = await runner.play({"lead": lead, "alice": in_turn()})
    assert any(hears(asked, "ended two turns without submitting a plan") for asked in played.requests_of(LEAD))
    assert not any(request_in(asked, "plan_approval_request") for asked in played.requests_of(LEAD))
    assert played.board.tasks[1].status is TaskStatus.PENDING
    assert (played.outcome.end, played.everyone_left) == ("answered", True)


# -- no end of joining ----------------------------------------------------------------------------


def spawner(begins: Callable[[Asked], bool]) -> Callable[[Asked], Say]:
    """Return a lead that makes another teammate each time it is woken by something."""

    def lead(asked: Asked) -> Say:
        spoken = [passage for passage in asked.prompt.passages if isinstance(passage, Spoke)]
        if not spoken or (begins(asked) and not calls_in(spoken[-1])):
            return Say(calls=[spawn(f"mate-{step(asked)}")])
        return Say("All is at work.")

    return lead


def played_by(lead: Callable[[Asked], Say]) -> Callable[[Asked], Say]:
    return lambda asked: lead(asked) if member_of(asked) == LEAD else Say("I wait.")


@pytest.mark.behaviour("headless", "P2")
async def test_once_its_team_was_let_go_a_lead_can_make_no_other(runner: TeamRunner) -> None:
    played = await runner.play(played_by(spawner(lambda asked: hears(asked, " left ("))))
    assert [member.name for member in played.roster.teammates] == ["mate-0"]
    ok, why = played.results_of(LEAD)[-1]
    assert (ok, "nobody can join" in why) == (False, True)
    assert (played.outcome.end, played.outcome.text) == ("answered", "All is at work.")
    assert played.everyone_left


@pytest.mark.behaviour("budget", "P2")
async def test_a_lead_that_makes_another_teammate_whenever_it_is_woken_comes_to_an_end(runner: TeamRunner) -> None:
    played = await runner.play(played_by(spawner(lambda _: True)), max_members=4)
    assert len(played.roster.teammates) == 4
    assert (played.outcome.end, played.everyone_left) == ("answered", True)
