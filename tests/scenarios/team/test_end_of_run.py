"""How a run without a person ends: reminded once, then everybody is sent home, then one last word."""

import subprocess
import sys

import anyio
import anyio.to_thread
import pytest

from deskmate.core.log.names import LEAD
from deskmate.core.team.messages import ShutdownRequest
from deskmate.core.team.status import Left
from deskmate.faces.cli.run_command import LEFT
from deskmate.testing import Asked, Say
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import hears, in_turn, member_of, spawn, step
from deskmate.texts import text
from tests.scenarios.team.team_runner import SOON, TeamRunner

LAST_WORD = "They are gone, and this is my answer."

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


def lead(asked: Asked) -> Say:
    """Forget all about the team once it is there."""
    if step(asked) == 0:
        return Say(calls=[spawn("alice"), spawn("bob")])
    gone = hears(asked, "alice left") and hears(asked, "bob left")
    return Say(LAST_WORD) if gone else Say("I think that is all.")


PARTS = {"lead": lead, "alice": in_turn(), "bob": in_turn()}


@pytest.mark.behaviour("headless", "shutdown", "P2")
async def test_a_lead_that_forgets_its_team_is_reminded_once_and_has_the_last_word_once_all_have_left(
    runner: TeamRunner,
) -> None:
    played = await runner.play(PARTS)
    assert (played.outcome.end, played.outcome.text) == (
        "answered",
        f"I think that is all.\n\n{LAST_WORD}",
    )
    assert [noticed.text for noticed in played.notices].count(text("reminder")) == 1
    assert sum(hears(asked, text("reminder")) for asked in played.requests_of(LEAD)) == 1
    for name in ("alice", "bob"):
        assert [type(envelope.message) for envelope in played.envelopes_of(name)] == [ShutdownRequest]
        # Nobody needs a model to agree to that.
        assert len(played.requests_of(name)) == 1
    assert played.everyone_left


@pytest.mark.behaviour("headless")
async def test_the_command_prints_the_last_word_and_says_that_teammates_were_dismissed(runner: TeamRunner) -> None:
    async with FakeProvider(lambda asked: PARTS[member_of(asked)](asked)) as provider:
        runner.connect(provider)
        command = [
            sys.executable,
            "-m",
            "deskmate",
            "-C",
            str(runner.place),
            "run",
            "Go.",
            "--launcher",
            runner.launcher,
        ]
        with anyio.fail_after(SOON):
            ended = await anyio.to_thread.run_sync(
                lambda: subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)
            )
    assert (ended.returncode, provider.complaints) == (LEFT, []), ended.stderr
    assert LAST_WORD in ended.stdout
    streams = await runner.scenario().streams()
    assert all(isinstance(member.status, Left) and member.status.agreed for member in streams.roster.teammates)
