"""A lead with a goal goes on until the goal is met, and a restart at any point changes nothing about that."""

from collections import deque

import pytest

from deskmate.core.agent.actions import CheckGoal, EndRun, Rest, Think
from deskmate.core.agent.entries import AgentParked, Noticed, Said
from deskmate.core.agent.rules.goal_rules import goal_check
from deskmate.core.goals import GoalRound
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team import roster_records
from deskmate.core.team.messages import Interrupt
from tests.core.simulated_team import SimulatedTeam

pytestmark = pytest.mark.behaviour("goals")
GOAL = GoalRound(until="make test")


def lead(*checks: tuple[str, bool]) -> SimulatedTeam:
    """Return a lead at rest with a goal, whose teammates have left."""
    team = SimulatedTeam(LEAD, ends_at_rest=True)
    for name in ("alice", "bob", "carol"):
        team.note(roster_records.MemberLeft(name=name, agreed=True, at=0))
    team.record(Noticed(text="goal", goal=GOAL))
    team.record(Noticed(text="news", roster=team.roster.number, board=team.board.number))
    team.record(Said(text="Done."))
    team.checks = deque(checks)
    return team


def played(team: SimulatedTeam, *, restarts: bool = False) -> list[type]:
    """Return what the lead does until its run is over. `restarts`: it is killed after each step."""
    done = list[type]()
    while EndRun not in done:
        done.append(type(team.step()))
        if restarts:
            team.reload()
        assert len(done) < 40, "the run never ends"
    return done


CHECK_AND_THINK = [CheckGoal, Think]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("checks", "rounds", "ended"),
    [
        ([("a", False), ("b", False), ("c", True)], 3, ""),
        ([("a", False)] * 3, 3, "3 rounds without change"),
        ([("a", False), ("b", False)] * 2, 4, "3 rounds without change"),
        ([("a", True)], 1, ""),
    ],
    ids=["met", "never", "flapping", "met at once"],
)
def test_the_lead_continues_after_each_round_and_the_run_ends_with_the_last(
    checks: list[tuple[str, bool]], rounds: int, ended: str, restarts: bool
) -> None:
    team = lead(*checks)
    assert played(team, restarts=restarts) == [*CHECK_AND_THINK * (rounds - 1), CheckGoal, EndRun]
    assert team.memory.goal is not None
    assert (team.memory.goal.round, team.memory.goal.ended) == (rounds, ended)


def test_a_lead_that_reached_a_cap_is_not_checked_and_goes_on_with_the_same_round_later() -> None:
    team = lead(("a", False), ("b", True))
    team.step()
    team.record(AgentParked(reason="budget: $2 are spent", caps=team.caps))
    assert isinstance(team.step(), EndRun)
    assert team.memory.goal is not None
    assert team.memory.goal.round == 1


def test_neither_an_interrupted_lead_nor_a_working_team_is_checked() -> None:
    team = lead()
    team.mail(USER, Interrupt())
    assert isinstance(team.step(), EndRun)
    working = lead()
    working.note(roster_records.Joined(name="dave", at=0))
    assert goal_check(working.view, Rest()) is None


def test_after_the_time_is_up_nothing_is_checked() -> None:
    team = lead()
    team.seconds_left = -1.0
    assert not isinstance(team.step(), CheckGoal)


def test_a_goal_that_the_user_ended_is_not_checked() -> None:
    team = lead()
    team.record(Noticed(text="ended", goal=GoalRound(until="")))
    assert isinstance(team.step(), EndRun)
