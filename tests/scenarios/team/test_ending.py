"""How a run without a person ends: reminded once, then everybody is sent home, then one last word."""

import subprocess
import sys

import anyio
import anyio.to_thread
import pytest

from deskmate.core.log.names import LEAD
from deskmate.core.team.messages import ShutdownRequest
from deskmate.faces.cli.run_command import LEFT
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.scripts import Asked, Say
from deskmate.texts import text
from tests.scenarios.team.parts import hears, in_turn, spawn, step, who
from tests.scenarios.team.stage import SOON, Stage

pytestmark = pytest.mark.anyio


def lead(asked: Asked) -> Say:
    """Forget all about the team once it is there."""
    if step(asked) == 0:
        return Say(calls=[spawn("alice"), spawn("bob")])
    gone = hears(asked, "alice left") and hears(asked, "bob left")
    return Say("They are gone, and this is my answer.") if gone else Say("I think that is all.")


PARTS = {"lead": lead, "alice": in_turn(), "bob": in_turn()}


@pytest.mark.behaviour("headless", "shutdown", "P2")
async def test_a_lead_that_forgets_its_team_is_reminded_once_and_has_the_last_word_once_all_have_left(
    stage: Stage,
) -> None:
    played = await stage.play(PARTS)
    assert (played.outcome.end, played.outcome.text) == (
        "answered",
        "I think that is all.\n\nThey are gone, and this is my answer.",
    )
    assert [noticed.text for noticed in played.news()].count(text("reminder")) == 1
    assert sum(hears(asked, text("reminder")) for asked in played.calls(LEAD)) == 1
    for name in ("alice", "bob"):
        assert [type(envelope.message) for envelope in played.heard(name)] == [ShutdownRequest]
        # Nobody needs a model to agree to that.
        assert len(played.calls(name)) == 1
    assert played.everyone_left


@pytest.mark.behaviour("headless")
async def test_the_command_prints_the_last_word_and_says_that_teammates_were_dismissed(stage: Stage) -> None:
    async with FakeProvider(lambda asked: PARTS[who(asked)](asked)) as provider:
        stage.connect(provider)
        command = [sys.executable, "-m", "deskmate", "-C", str(stage.place), "run", "Go.", "--launcher", stage.launcher]
        with anyio.fail_after(SOON):
            ended = await anyio.to_thread.run_sync(
                lambda: subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)
            )
    assert (ended.returncode, provider.complaints) == (LEFT, []), ended.stderr
    assert "They are gone, and this is my answer." in ended.stdout
    streams = await stage.read()
    assert all(member.agreed for member in streams.roster.teammates)
