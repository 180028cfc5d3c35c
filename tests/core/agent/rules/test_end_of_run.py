"""A run that nobody attends comes to its end by rules, and a restart at any point leads to the same end."""

import random
from dataclasses import replace
from typing import Any

import pytest

from deskmate.core.agent.actions import (
    Action,
    Dismiss,
    EndRun,
    Notice,
    Park,
    RemindOfCommands,
    RemindOfTeam,
    Rest,
    SeeOff,
    Stop,
    Think,
)
from deskmate.core.agent.entries import AgentParked, Did, Noticed, Said
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.rules.end_of_run import LAST_SECONDS, RunStep, end_of_run
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team import roster_records
from deskmate.core.team.messages import Interrupt, Plain
from deskmate.core.team.status import Idle, Parked, Waiting
from tests.core.simulated_team import SimulatedTeam

MATES = ("alice", "bob", "carol")
BUILD, SUBAGENT = "b00c0de", "a00c0de"


def lead(*, alone: bool = False, background: str = "") -> SimulatedTeam:
    """Return a lead at rest in a run that nobody attends. Its teammates are idle, or have left."""
    team = SimulatedTeam(LEAD, ends_at_rest=True)
    team.record(Said(text="I rest."))
    for name in MATES:
        if alone:
            team.note(roster_records.MemberLeft(name=name, agreed=True, at=0))
        else:
            team.note(roster_records.MemberIdle(name=name, at=0))
    if background:
        team.record(Did(call="lead:1.0", text="started", background=background))
    told = Noticed(text="news", roster=team.roster.number, board=team.board.number)
    team.record(told)
    team.record(Said(text="I rest."))
    return team


def next_step(team: SimulatedTeam, **view: Any) -> RunStep:
    seen = replace(team.view, **view)
    rest = decide(seen)
    assert isinstance(rest, Rest), rest
    return end_of_run(seen, rest, team.seconds_left)


def until_the_end(team: SimulatedTeam) -> list[Action]:
    """Let a team do what it decides, until its run is over."""
    actions: list[Action] = []
    while not actions or not isinstance(actions[-1], EndRun | Stop):
        assert len(actions) < 30, actions
        actions.append(team.step())
    return actions


# -- what comes next ------------------------------------------------------------------------------


def test_a_lead_without_teammates_ends_when_it_rests() -> None:
    assert next_step(lead(alone=True)) == EndRun(Idle())


def test_a_teammate_or_subagent_ends_when_it_rests_whoever_else_is_here() -> None:
    team = SimulatedTeam("alice", ends_at_rest=True)
    team.record(Said(text="I rest."))
    assert next_step(team) == EndRun(Idle())


def test_a_lead_waits_while_somebody_works() -> None:
    team = lead()
    team.note(roster_records.MemberWorking(name="bob", at=0))
    assert next_step(team) == Rest()


@pytest.mark.parametrize("waits", [{"starting": frozenset({"bob"})}, {"unheard": frozenset({"bob"})}])
def test_a_lead_waits_for_who_starts_or_has_mail_to_act_on(waits: dict[str, Any]) -> None:
    assert next_step(lead(), **waits) == Rest()


def test_a_lead_with_a_quiet_team_is_reminded_once_then_the_team_is_dismissed() -> None:
    team = lead()
    assert team.step() == RemindOfTeam(team.roster.number, team.board.number)
    assert team.step() == Think()
    assert team.step() == Dismiss(MATES)


@pytest.mark.parametrize("worked", [True, False])
def test_a_lead_is_reminded_again_only_after_somebody_worked(worked: bool) -> None:
    team = lead()
    team.step()
    if worked:
        team.note(roster_records.MemberWorking(name="bob", at=0))
    team.note(roster_records.MemberIdle(name="bob", at=0))
    team.record(Noticed(text="news", roster=team.roster.number, board=team.board.number))
    team.record(Said(text="I rest."))
    assert isinstance(next_step(team), RemindOfTeam if worked else Dismiss)


def test_who_was_interrupted_is_no_reason_to_remind_again() -> None:
    team = lead()
    team.step()
    team.note(roster_records.MemberWorking(name="bob", at=0))
    team.note(roster_records.MemberIdle(name="bob", held=True, at=0))
    team.record(Noticed(text="news", roster=team.roster.number, board=team.board.number))
    team.record(Said(text="I rest."))
    assert next_step(team) == Dismiss(MATES)


def test_the_dismissed_leave_before_the_last_words() -> None:
    team = lead()
    team.record(Noticed(text="dismissed", dismissed=MATES))
    assert [team.step(), team.step(), team.step()] == [SeeOff(), Notice(), Think()]
    assert team.step() == EndRun(Idle())


def test_who_was_dismissed_is_not_seen_off_where_somebody_attends() -> None:
    team = lead()
    team.ends_at_rest = False
    team.record(Noticed(text="dismissed", dismissed=MATES))
    assert team.step() == Think()


def test_words_of_the_user_keep_the_dismissed() -> None:
    team = lead()
    team.record(Noticed(text="dismissed", dismissed=MATES))
    team.mail(USER, Plain(content="One more thing."))
    assert team.step() == Think()


def test_running_commands_are_reminded_of_once_then_the_run_ends() -> None:
    team = lead(alone=True, background=BUILD)
    assert [team.step(), team.step(), team.step()] == [RemindOfCommands(), Think(), EndRun(Waiting("background"))]


def test_a_lead_that_is_over_a_limit_is_not_reminded_of_commands() -> None:
    team = lead(alone=True, background=BUILD)
    assert next_step(team, over="cost") == EndRun(Waiting("background"))


def test_subagents_in_the_background_are_waited_for_until_the_time_is_up() -> None:
    team = lead(alone=True, background=SUBAGENT)
    assert next_step(team) == Rest(Waiting("background"))
    team.seconds_left = 0.0
    assert next_step(team) == Park("the time is up")


# -- parked, interrupted, out of time -------------------------------------------------------------


@pytest.mark.parametrize("alone", [True, False])
def test_a_parked_lead_ends_the_run_and_dismisses_nobody(alone: bool) -> None:
    team = lead(alone=alone)
    team.record(AgentParked(reason="money", caps=team.caps))
    assert next_step(team) == EndRun(Parked("money"))


def test_an_interrupted_lead_ends_the_run() -> None:
    team = lead()
    team.mail(USER, Interrupt())
    assert next_step(team) == EndRun(Idle())


def test_when_the_time_is_up_a_lead_with_company_is_parked() -> None:
    team = lead()
    team.seconds_left = 0.0
    assert next_step(team, over="time") == Park("time")


@pytest.mark.parametrize(
    ("late", "works", "step"),
    [
        (0.0, True, Rest(Parked("time"))),
        (LAST_SECONDS, True, EndRun(Parked("time"))),
        (0.0, False, EndRun(Parked("time"))),
    ],
)
def test_after_the_time_limit_a_lead_waits_a_little_for_who_still_records(
    late: float, works: bool, step: RunStep
) -> None:
    team = lead()
    team.record(AgentParked(reason="time", caps=team.caps))
    if works:
        team.note(roster_records.MemberWorking(name="bob", at=0))
    team.seconds_left = -late
    assert next_step(team) == step


# -- properties -----------------------------------------------------------------------------------


def disturbed(seed: int) -> SimulatedTeam:
    """Return a lead in the middle of any life, in a run that nobody attends."""
    rng = random.Random(seed)
    team = SimulatedTeam(LEAD, ends_at_rest=True)
    team.note(roster_records.PolicySet(by=USER, attended=False, at=0))
    for _ in range(rng.randint(0, 30)):
        team.disturb(rng) if rng.random() < 0.4 else team.step(rng)
    for member in team.roster.teammates:
        if member.here:
            team.note(roster_records.MemberIdle(name=member.name, held=rng.random() < 0.2 or None, at=0))
    return team


def in_silence(team: SimulatedTeam) -> list[Action]:
    """Let a team go on without anything from outside, until its run ends or it waits for others."""
    actions: list[Action] = []
    while not actions or not isinstance(actions[-1], EndRun | Stop | Rest):
        assert len(actions) <= 40 + len(team.memory.calls), actions[-12:]
        actions.append(team.step())
    return actions


def test_in_silence_every_run_ends_or_waits_for_somebody() -> None:
    ends = 0
    for seed in range(300):
        team = disturbed(seed)
        last = in_silence(team)[-1]
        ends += isinstance(last, EndRun)
        if isinstance(last, EndRun) and last.status == Idle() and not team.memory.interrupted:
            assert not any(member.here for member in team.roster.teammates), seed
    assert ends > 150


def test_a_restart_between_any_two_steps_leads_to_the_same_end() -> None:
    whole = until_the_end(lead())
    assert [type(action) for action in whole] == [RemindOfTeam, Think, Dismiss, SeeOff, Notice, Think, EndRun]
    for killed_after in range(len(whole)):
        team = lead()
        before = [team.step() for _ in range(killed_after)]
        team.reload()
        assert [*before, *until_the_end(team)] == whole
