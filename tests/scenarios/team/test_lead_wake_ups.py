"""What wakes the lead, and what does not: a call of its model is paid for by something worth one."""

from typing import Any

import pytest

from deskmate.app import Changed, Recorded, TeamEvent
from deskmate.core.agent.entries import Heard, Noticed, Nudged, Reported, Said, Took
from deskmate.core.agent.entries import PermissionAsked as AskedFor
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team.messages import PermissionRequest, PermissionResponse, Plain
from deskmate.core.team.roster_records import MemberIdle, PolicySet
from deskmate.core.team.status import Idle, Parked, status_word
from deskmate.core.team.tasks import Claimed, Released, TaskStatus
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.testing import Asked, Say
from deskmate.testing.provider_faults import ErrorStatus as Failing
from deskmate.testing.provider_faults import Fault
from deskmate.testing.team_scripts import (
    WAITING,
    MemberScript,
    add_task,
    complete_task,
    given_task,
    hears,
    in_turn,
    member_of,
    send_mail,
    spawn,
    step,
    update_task,
    wait_for_file,
    was_told,
    write_file,
)
from tests.scenarios.team.team_runner import TeamRun, TeamRunner

pytestmark = pytest.mark.anyio

QUIET = ("idle", "parked")
PAIR = {"alice": "bob", "bob": "alice"}


def worker(asked: Asked) -> Say:
    """Complete whatever task comes."""
    number = given_task(asked)
    return Say(calls=[complete_task(number)]) if number else Say("Next.")


def early(played: TeamRun) -> list[Noticed]:
    """Return what woke the lead by itself while somebody was still at work and nobody parked, left or spoke."""
    found, heard = [], False
    for entry in played.streams.entries(LEAD):
        if isinstance(entry, Noticed) and entry.roster and not heard:
            at = played.streams.roster_at(entry.roster).teammates
            worth = any(not member.here or isinstance(member.status, Parked) or member.reports for member in at)
            settled = all(status_word(member.status) in QUIET for member in at)
            found += [] if worth or settled else [entry]
        # News in front of what is heard anyway wakes nobody.
        heard = isinstance(entry, Heard) or (heard and not isinstance(entry, Said))
    return found


# -- trouble --------------------------------------------------------------------------------------


@pytest.mark.behaviour("release", "lead-wake", "P6")
@pytest.mark.parametrize("code", [400, 401])
async def test_who_cannot_be_asked_any_more_is_parked_the_lead_told_why_and_another_takes_its_task(
    runner: TeamRunner, code: int
) -> None:
    victims: list[str] = []

    def fault(_: int, asked: Asked) -> Fault | None:
        if given_task(asked) == 1 and not victims:
            victims.append(member_of(asked))
        return Failing(code, message="no such thing for you") if member_of(asked) in victims else None

    lead = in_turn(Say(calls=[add_task("the one"), spawn("alice"), spawn("bob")]))
    played = await runner.play({"lead": lead, "alice": worker, "bob": worker}, faults=fault)
    (victim,) = victims
    (other,) = {"alice", "bob"} - {victim}
    assert any(hears(asked, f"{victim} is parked (") for asked in played.requests_of(LEAD))
    assert any(hears(asked, "no such thing for you") for asked in played.requests_of(LEAD))
    assert (played.board.tasks[1].status, played.board.tasks[1].owner) == (TaskStatus.COMPLETED, other)
    events = played.streams.board_events
    assert [event.by for event in events if isinstance(event, Claimed)] == [victim, other]
    assert [event.by for event in events if isinstance(event, Released)] == [victim]
    assert any(hears(asked, f'by="{victim}">{victim} was parked') for asked in played.requests_of(other))
    assert played.everyone_left
    assert played.outcome.end == "answered"


@pytest.mark.behaviour("lead-wake", "retry")
async def test_a_team_is_not_quiet_while_somebody_waits_for_its_provider(runner: TeamRunner) -> None:
    failed: list[int] = []

    def fault(number: int, asked: Asked) -> Fault | None:
        if member_of(asked) == "alice" and len(failed) < 2:
            failed.append(number)
            return Failing(529, retry_after=0.2)
        return None

    lead = in_turn(Say(calls=[spawn("alice"), spawn("bob")]))
    # Each writes to the other: words alone would wake the lead as well.
    parts = {name: in_turn(*[Say(calls=[send_mail(peer, "Hello.")]), WAITING] * 2) for name, peer in PAIR.items()}
    played = await runner.play({"lead": lead, **parts}, faults=fault)
    assert len(failed) == 2
    assert "member_waiting" in [item.body["type"] for item in played.streams.roster_items]
    assert early(played) == []


@pytest.mark.behaviour("lead-wake")
@pytest.mark.parametrize("launcher", ["inline"])
async def test_a_team_is_not_quiet_while_a_letter_lies_unheard(runner: TeamRunner) -> None:
    sent: list[str] = []

    def write(event: TeamEvent) -> None:
        # The mail is there before her idle record. So a reader that sees her idle also sees that she will work.
        if event == Changed("alice", Idle()) and len(sent) < 10:
            sent.append(f"letter {len(sent)}.")
            runner.send(USER, "alice", Plain(content=sent[-1]))

    def alice(asked: Asked) -> Say:
        return Say("I rest.") if asked.results else Say(calls=[send_mail(USER, "Yes.")])

    played = await runner.play({"lead": in_turn(Say(calls=[spawn("alice")])), "alice": alice}, write)
    assert [words for _, words in played.mail_to("alice")] == sent
    first = played.notices[0]
    assert played.streams.roster_at(first.roster).members["alice"].heard == len(sent)


@pytest.mark.behaviour("lead-wake", "permission", "P5")
async def test_a_team_is_not_quiet_while_somebody_waits_for_permission(runner: TeamRunner) -> None:
    asked, told = [], []

    async def attend(writer: LogWriter, roster: Roster) -> None:
        await roster.permit(PolicySet(by=USER, attended=True, at=writer.clock.timestamp()))

    def attending(event: TeamEvent) -> None:
        match event:
            case Recorded(member="lead", number=1):
                runner.in_between(attend)
            case Recorded(member="alice", entry=AskedFor(request_id=request_id)):
                # The lead is woken meanwhile, ends its turn, and finds nothing to notice.
                asked.append(request_id)
                runner.send(USER, LEAD, Plain(content="How is it going?"))
            case Recorded(member="lead", entry=Heard() as heard) if "How is it going?" in str(heard):
                told.append(heard)
            case Changed(member="lead", status=Idle()) if told:
                told.clear()
                runner.send(USER, "alice", PermissionResponse(request_id=asked[0], approve=True))

    alice = in_turn(Say(calls=[write_file("allowed.txt", "yes")]), Say(calls=[send_mail("lead", "Written.")]))
    lead = in_turn(Say(calls=[spawn("alice", mode="default")]))
    played = await runner.play({"lead": lead, "alice": alice}, attending)
    assert runner.file("allowed.txt") == "yes"
    assert early(played) == []
    letters = await runner.scenario().mailbox(USER)
    assert [type(letter.message) for letter in letters] == [PermissionRequest]


# -- what costs nothing ---------------------------------------------------------------------------


@pytest.mark.behaviour("idle", "lead-wake")
async def test_resting_however_often_costs_the_lead_no_call(runner: TeamRunner) -> None:
    def pong(peer: str) -> MemberScript:
        def part(asked: Asked) -> Say:
            if was_told(asked, "Stop.") or not hears(asked, "ping"):
                return Say("I rest.")
            # Put there once, by whom it is first enough.
            enough = step(asked) > 20 and not (runner.place / "enough").exists()
            return Say(calls=[send_mail(peer, "ping"), *([write_file("enough")] if enough else [])])

        return part

    lead = in_turn(
        Say(calls=[spawn("carol"), spawn("alice"), spawn("bob")]),
        Say(calls=[send_mail("alice", "ping")]),
        Say("Go on."),
    )
    carol = in_turn(Say(calls=[wait_for_file("enough"), send_mail("alice", "Stop."), send_mail("bob", "Stop.")]))
    played = await runner.play({"lead": lead, "carol": carol, "alice": pong("bob"), "bob": pong("alice")})
    rests = [
        item.body
        for item in played.streams.roster_items
        if item.body["type"] == MemberIdle.model_fields["type"].default
    ]
    assert sum(rest["name"] != LEAD for rest in rests) > 10
    before_quiet = [asked for asked in played.requests_of(LEAD) if not was_told(asked, "Since you last looked")]
    assert len(before_quiet) == 3
    assert early(played) == []


@pytest.mark.behaviour("claim", "assign")
async def test_who_claims_a_task_itself_is_not_told_of_it_again(runner: TeamRunner) -> None:
    says = [Say(calls=[update_task(1, status="in_progress")]), Say(calls=[complete_task(1)]), Say("Done.")]
    lead = in_turn(Say(calls=[add_task("the one"), spawn("alice")]))
    played = await runner.play({"lead": lead, "alice": in_turn(*says)})
    assert len(played.requests_of("alice")) == 3
    assert played.entries_of("alice", Took) == []
    assert played.board.tasks[1].owner == "alice"


@pytest.mark.behaviour("assign")
async def test_what_the_lead_assigns_wakes_its_new_owner_and_waits_for_it_while_that_one_is_busy(
    runner: TeamRunner,
) -> None:
    lead = in_turn(
        Say(calls=[add_task("one", role="x"), add_task("two", role="x"), add_task("three", role="x", blockedBy=[1])]),
        Say(calls=[spawn("alice"), spawn("bob")]),
        Say("I wait."),
        Say(calls=[update_task(number, owner="alice") for number in (1, 2, 3)]),
    )
    played = await runner.play({"lead": lead, "alice": worker, "bob": worker})
    assert [entry.task for entry in played.entries_of("alice", Took)] == [1, 2, 3]
    assert played.entries_of("bob", Took) == []
    assert {found.owner for found in played.board.tasks.values()} == {"alice"}
    assert {found.status for found in played.board.tasks.values()} == {TaskStatus.COMPLETED}


# -- what is worth a call -------------------------------------------------------------------------


@pytest.mark.behaviour("sender", "lead-wake")
async def test_words_that_are_all_that_came_of_a_turn_wake_the_lead_together(runner: TeamRunner) -> None:
    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[spawn("alice"), spawn("bob"), spawn("carol")])
        return Say(calls=[write_file("heard")]) if hears(asked, "The answer is 42.") else Say("I wait.")

    parts = {
        "alice": in_turn(Say("The answer is 42.")),
        "bob": in_turn(Say("And the question is lost.")),
        "carol": in_turn(Say(calls=[wait_for_file("heard")])),
    }
    played = await runner.play({"lead": lead, **parts})
    told = [asked for asked in played.requests_of(LEAD) if hears(asked, "The answer is 42.")]
    assert len(told) == 1
    assert hears(told[0], "And the question is lost.")
    assert len([noticed for noticed in played.notices if "42" in noticed.text]) == 1


@pytest.mark.behaviour("nudge")
async def test_who_rests_on_its_task_is_reminded_once_and_then_the_lead_is_told(runner: TeamRunner) -> None:
    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[add_task("the one"), spawn("alice")])
        return (
            Say(calls=[send_mail("alice", "Then finish it.")])
            if hears(asked, "my task #1 is unfinished")
            else Say("I wait.")
        )

    def alice(asked: Asked) -> Say:
        return Say(calls=[complete_task(1)]) if hears(asked, "Then finish it.") else Say("I think about it.")

    played = await runner.play({"lead": lead, "alice": alice})
    assert len(played.entries_of("alice", Nudged)) == 1
    assert len(played.entries_of("alice", Reported)) == 1
    ((sender, report),) = played.mail_to(LEAD)
    assert (sender, "#1 is unfinished" in report) == ("alice", True)
    assert played.board.tasks[1].status is TaskStatus.COMPLETED


@pytest.mark.behaviour("tiers")
async def test_each_is_offered_the_tools_of_its_kind(runner: TeamRunner) -> None:
    mates: dict[str, dict[str, Any]] = {
        "alice": {},
        "bob": {"subagent_type": "Explore"},
        "carol": {"plan_mode_required": True},
    }
    lead = in_turn(Say(calls=[spawn(name, **more) for name, more in mates.items()]))
    played = await runner.play({"lead": lead, **dict.fromkeys(mates, in_turn())})
    tools = {name: set(played.requests_of(name)[0].tools) for name in (LEAD, *mates)}
    shared = {"TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage"}
    reading = {"read_file", "glob", "grep"}
    assert tools["alice"] == {*shared, *reading, "bash", "write_file", "edit_file"}
    assert tools["bob"] == {*shared, *reading}
    assert tools["carol"] == {*reading, "TaskGet", "TaskList", "SendMessage", "ExitPlanMode"}
    assert tools[LEAD] > {*tools["alice"], "Task", "TaskOutput", "TaskStop"}


@pytest.mark.behaviour("sender")
async def test_a_report_in_words_reaches_the_lead_although_its_author_does_something_else_at_once(
    runner: TeamRunner,
) -> None:
    report = "The bug is in line 7."
    rests: list[TeamEvent] = []

    def write(event: TeamEvent) -> None:
        if event == Changed("alice", Idle()):
            rests.append(event)
            runner.send("bob", "alice", Plain(content="Ping?")) if len(rests) == 1 else (
                runner.place / "enough"
            ).touch()

    def alice(asked: Asked) -> Say:
        if hears(asked, "Ping?"):
            return Say(calls=[send_mail("bob", "Pong.")])
        return Say(report if step(asked) == 0 else "Answered.")

    bob = in_turn(Say(calls=[wait_for_file("enough")]))
    parts: dict[str, MemberScript] = {
        "lead": in_turn(Say(calls=[spawn("alice"), spawn("bob")])),
        "alice": alice,
        "bob": bob,
    }
    played = await runner.play(parts, write)
    assert any(was_told(asked, report) for asked in played.requests_of(LEAD))
