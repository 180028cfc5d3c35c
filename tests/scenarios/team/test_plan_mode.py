"""Plan mode of the whole team: who plans is told so, sees only what it may use, and submits a plan or is reminded."""

import pytest

from deskmate.core.agent.entries import Nudged, Reported
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.tasks import TaskStatus
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    answer_plan,
    ask_to_stop,
    complete_task,
    given_task,
    hears,
    in_turn,
    present_plan,
    request_in,
    send_mail,
    spawn,
    step,
    write_file,
)
from tests.scenarios.team.team_runner import TeamRunner

pytestmark = pytest.mark.anyio

PLANNING = set(tools_of(AgentKind.TEAMMATE, AgentType.GENERAL, planning=True))
# There are no skills here, so nobody is offered the tool that reads one.
WORKING = set(tools_of(AgentKind.TEAMMATE, AgentType.GENERAL)) - {"Skill"}


def leads(**spawned: object) -> MemberScript:
    """Return a lead that has alice do a task, approves what she plans, and ends with the team at rest."""

    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[add_task("write it"), spawn("alice", **spawned)])
        if request := request_in(asked, "plan_approval_request"):
            return Say(calls=[answer_plan("alice", request)])
        return Say(calls=[ask_to_stop("alice")]) if hears(asked, "Your team is quiet") else Say("I wait.")

    return lead


def offered(asked: Asked) -> set[str]:
    return {spec.name for spec in asked.prompt.tools}


@pytest.mark.behaviour("plan", "P4")
async def test_a_planner_is_told_that_it_plans_and_sees_other_tools_once_it_may_work(runner: TeamRunner) -> None:
    def alice(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[present_plan("I write it.")])
        if number := given_task(asked):
            return Say(calls=[write_file("out.txt", "as planned"), complete_task(number)])
        return Say("I wait for the answer.")

    played = await runner.play({"lead": leads(plan_mode_required=True), "alice": alice})
    first, *_, last = played.requests_of("alice")
    assert hears(first, "You are in plan mode")
    assert (offered(first), offered(last)) == (PLANNING, WORKING)
    assert sum(hears(asked, "Plan mode is over for you.") for asked in played.requests_of("alice")) == 1
    assert played.board.tasks[1].status is TaskStatus.COMPLETED


@pytest.mark.behaviour("plan")
async def test_a_plan_in_plain_text_is_asked_for_again_and_submitted(runner: TeamRunner) -> None:
    def alice(asked: Asked) -> Say:
        if hears(asked, "ended your turn without submitting a plan"):
            return Say(calls=[present_plan("I write it.")])
        if number := given_task(asked):
            return Say(calls=[write_file("out.txt", "as planned"), complete_task(number)])
        return Say("My plan: I write it.")

    played = await runner.play({"lead": leads(plan_mode_required=True), "alice": alice})
    assert len(played.entries_of("alice", Nudged)) == 1
    assert runner.file("out.txt") == "as planned"


@pytest.mark.behaviour("plan")
async def test_who_never_submits_a_plan_is_reported_with_its_words_and_shown_as_idle(runner: TeamRunner) -> None:
    said = in_turn(Say("My plan: I write it."), Say("As I said."), then=Say("Nothing new."))
    played = await runner.play({"lead": leads(plan_mode_required=True), "alice": said})
    (report,) = [content for sender, content in played.mail_to(LEAD) if sender == "alice"]
    assert report.startswith("I am in plan mode and ended two turns without submitting a plan")
    assert "My plan: I write it." in report
    assert "As I said." in report
    assert len(played.entries_of("alice", Reported)) == 1
    waited = [item.body for item in played.streams.roster_items if item.body["type"] == "member_waiting"]
    assert [body for body in waited if body["name"] == "alice"] == []


@pytest.mark.behaviour("plan")
async def test_a_teammate_that_the_user_puts_into_plan_mode_plans_and_works_after_the_approval(
    runner: TeamRunner,
) -> None:
    def alice(asked: Asked) -> Say:
        if hears(asked, "You are in plan mode"):
            return Say(calls=[write_file("early.txt", "too early"), present_plan("I write it.")])
        if hears(asked, "Plan mode is over for you."):
            return Say(calls=[write_file("out.txt", "as planned"), send_mail(LEAD, "Written.")])
        return Say("Ready.")

    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[spawn("alice")])
        if request := request_in(asked, "plan_approval_request"):
            return Say(calls=[answer_plan("alice", request)])
        if hears(asked, "Written."):
            return Say(calls=[ask_to_stop("alice")])
        if hears(asked, "Ready."):
            policy = PolicySet(by=USER, member="alice", mode=Mode.PLAN, at=0.0)
            runner.in_between(lambda _, roster: roster.permit(policy))
            return Say(calls=[send_mail("alice", "Write it.")])
        return Say("I wait.")

    played = await runner.play({"lead": lead, "alice": alice})
    assert not (runner.place / "early.txt").exists()
    assert runner.file("out.txt") == "as planned"
    assert [text.split()[0] for ok, text in played.results_of("alice") if not ok] == ["write_file"]
    planning = next(asked for asked in played.requests_of("alice") if hears(asked, "You are in plan mode"))
    assert offered(planning) == PLANNING


@pytest.mark.behaviour("plan")
async def test_a_run_in_plan_mode_ends_with_the_plan_of_the_lead(runner: TeamRunner) -> None:
    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say(calls=[write_file("early.txt", "too early"), Use("glob", {"pattern": "*"})])
        return Say("This is what I want to do.", [present_plan("# Plan\n1. Write it.")])

    played = await runner.play({"lead": lead}, permission_mode="plan")
    first, second = played.requests_of(LEAD)
    assert hears(first, "it ends when you submit your plan")
    assert offered(first) == offered(second) == set(tools_of(AgentKind.LEAD, AgentType.GENERAL, planning=True))
    outcome = played.outcome
    assert (outcome.end, outcome.text) == ("planned", "# Plan\n1. Write it.")
    assert not (runner.place / "early.txt").exists()


@pytest.mark.behaviour("plan")
async def test_a_run_in_plan_mode_without_a_plan_ends_with_the_words_of_the_lead(runner: TeamRunner) -> None:
    played = await runner.play(
        {"lead": in_turn(Say("I would write it."), then=Say("I would write it, really."))}, permission_mode="plan"
    )
    assert (played.outcome.end, played.outcome.text) == ("answered", "I would write it.\n\nI would write it, really.")
    assert len(played.requests_of(LEAD)) == 2
