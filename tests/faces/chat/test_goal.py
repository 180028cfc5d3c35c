"""/goal in a conversation: the lead begins at once, and goes on until the goal is met."""

from pathlib import Path

import pytest

from deskmate.testing import Asked, Say
from deskmate.testing.team_scripts import step, write_file
from tests.faces.chat.chat_harness import chat
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("goals")]


def writes_late(asked: Asked) -> Say:
    """Say that it is done, and only at the second time make it so."""
    return Say("I write.", [write_file("done.txt", "x")]) if step(asked) == 1 else Say("Done.")


async def test_a_goal_lets_the_lead_work_until_its_command_succeeds(harness: AppHarness) -> None:
    async with chat(harness, writes_late) as typist:
        assert (await typist.types("/goal"))[0].startswith("There is no goal")
        await typist.talk.carry_out("/mode bypass")
        set_ = await typist.types("/goal !test -f done.txt")
        assert set_[0] == "the lead goes on until this command succeeds: test -f done.txt"
        await typist.until(lambda session: session.goal is not None and session.goal.met)
        assert (Path(typist.session.workspace) / "done.txt").exists()
        assert await typist.types("/goal") == ["!test -f done.txt (the goal is met after 2 rounds)"]
        assert (await typist.talk.carry_out("/goal off")).refused


async def test_a_goal_can_be_ended(harness: AppHarness) -> None:
    async with chat(harness, lambda asked: Say("NOT MET: no.") if asked.texts else Say("Done.")) as typist:
        await typist.types("/goal the moon is made of cheese")
        assert await typist.types("/goal off") == ["the goal is ended"]
        assert (await typist.types("/goal"))[0].startswith("There is no goal")
