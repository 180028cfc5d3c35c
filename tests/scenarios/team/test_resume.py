"""A resumed run waits for every teammate to come up before it takes the team for quiet, however long that takes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.app import Changed, TeamEvent
from deskmate.core.log.names import LEAD
from deskmate.core.team.status import Idle, status_word
from deskmate.core.team.tasks import TaskStatus as TaskStatus
from deskmate.testing import Asked, Say
from deskmate.testing.provider_faults import ErrorStatus, Fault
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    complete_task,
    given_task,
    in_turn,
    member_of,
    send_mail,
    spawn,
    step,
    was_told,
)
from tests.scenarios.team.team_runner import TeamRunner

pytestmark = pytest.mark.anyio
LONG = "word " * 40_000
# Python runs this first in every process that plays a teammate. No such process gets anywhere before the lead has
# rested, and then the lead has a second more to do something wrong.
SLOW = """
import os, sys, time
if "play" in sys.orig_argv:
    while not os.path.exists({gate!r}):
        time.sleep(0.01)
    time.sleep(1)
"""

DEAD = """
import sys
if "play" in sys.orig_argv:
    raise SystemExit(7)
"""


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


@pytest.fixture
def lead_rested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Callable[[TeamEvent], None]]:
    """Slow the start of every teammate's process; return what makes a listener that lets them start."""
    slow, gate = tmp_path / "slow", tmp_path / "gate"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(SLOW.format(gate=str(gate)))

    def slowed() -> Callable[[TeamEvent], None]:
        monkeypatch.setenv("PYTHONPATH", str(slow))

        def listen(event: TeamEvent) -> None:
            if event == Changed(LEAD, Idle()):
                gate.touch()

        return listen

    return slowed


def writes_to_bob(steps: int) -> MemberScript:
    """Return a lead that has spoken so often before, writes to bob and waits."""
    return lambda asked: Say("I wait.") if step(asked) > steps else Say(calls=[send_mail("bob", "Go on.")])


def rejected(number: int, asked: Asked) -> Fault | None:
    """Reject all that bob asks, and all that the lead asks once it knows."""
    return ErrorStatus(400) if member_of(asked) == "bob" or was_told(asked, "bob is parked") else None


def bob(asked: Asked) -> Say:
    number = given_task(asked)
    return Say(calls=[complete_task(number)]) if number else Say("Ready.")


@pytest.mark.behaviour("headless", "resume")
async def test_a_parked_teammate_that_the_lead_writes_to_is_waited_for_though_it_starts_slowly(
    runner: TeamRunner, lead_rested: Callable[[], Callable[[TeamEvent], None]]
) -> None:
    first = await runner.play({"lead": in_turn(Say(calls=[add_task("one"), spawn("bob")]))}, faults=rejected)
    assert (first.outcome.end, status_word(first.roster.members["bob"].status)) == ("parked", "parked")

    parts = {"lead": writes_to_bob(len(first.requests_of(LEAD)) - 1), "bob": bob}
    played = await runner.resume(parts, lead_rested(), goal="Write to bob.")
    assert played.board.tasks[1].status is TaskStatus.COMPLETED
    assert (played.outcome.end, played.everyone_left) == ("answered", True)


@pytest.mark.parametrize("launcher", ["process"])
@pytest.mark.behaviour("headless", "resume", "supervise")
async def test_a_parked_teammate_whose_process_cannot_start_is_told_of_and_keeps_no_run_from_its_end(
    runner: TeamRunner, tmp_path: Path
) -> None:
    first = await runner.play({"lead": in_turn(Say(calls=[add_task("one"), spawn("bob")]))}, faults=rejected)
    (tmp_path / "sitecustomize.py").write_text(DEAD)
    runner.environ.setenv("PYTHONPATH", str(tmp_path))
    played = await runner.resume({"lead": writes_to_bob(len(first.requests_of(LEAD)) - 1)}, goal="Write to bob.")
    assert (played.outcome.end, played.requests_of("bob")) == ("answered", [])
    assert any(was_told(asked, "failed 4 times within a minute") for asked in played.requests_of(LEAD))
    assert not played.roster.members["bob"].here


@pytest.mark.behaviour("headless", "resume", "budget")
async def test_a_teammate_parked_at_its_cap_goes_on_under_a_raised_one_though_it_starts_slowly(
    runner: TeamRunner, lead_rested: Callable[[], Callable[[TeamEvent], None]]
) -> None:
    def parked_lead(number: int, asked: Asked) -> Fault | None:
        return ErrorStatus(400) if was_told(asked, "bob is parked") else None

    parts = {"lead": in_turn(Say(calls=[add_task("one"), spawn("bob")])), "bob": in_turn(Say(LONG))}
    first = await runner.play(parts, faults=parked_lead, max_member_tokens=40_000)
    assert (first.outcome.end, status_word(first.roster.members["bob"].status)) == ("parked", "parked")
    resumed = {"lead": in_turn(), "bob": bob}
    played = await runner.resume(resumed, lead_rested(), goal="Go on.", max_member_tokens=4_000_000)
    assert played.board.tasks[1].status is TaskStatus.COMPLETED
    assert (played.outcome.end, played.everyone_left) == ("answered", True)
