"""The user's own rules, from the settings to a command: at founding, at resuming, for teammates in their processes."""

import pytest

from deskmate.core.log.names import ROSTER
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio

TOUCH = Use("bash", {"command": "touch done && echo touched | cat"})
RULES = {"allow": ["bash(touch *)", "bash(echo *)", "bash(cat)"]}


def touches(asked: Asked) -> Say:
    """Touch a file whenever somebody speaks, and tell what came of it."""
    return Say(f"It said: {asked.results[-1].text}") if asked.results else Say("I touch it.", [TOUCH])


def has_it_touched(asked: Asked) -> Say:
    """Have a teammate touch the file, as the lead; as the teammate, touch it."""
    if "Task" not in asked.tools:
        return touches(asked)
    scout = Use("Task", {"name": "scout", "prompt": "Touch it.", "description": "touches"})
    return Say("It does." if asked.results else "I have it touched.", [] if asked.results else [scout])


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("rules", [{}, {"allow": ["bash(touch *)"]}, {**RULES, "deny": ["bash(cat *)", "bash(cat)"]}])
async def test_a_command_that_not_every_rule_of_the_user_lets_pass_is_not_run(
    harness: AppHarness, rules: dict[str, list[str]]
) -> None:
    async with FakeProvider(touches) as provider:
        outcome = await harness.run(provider, "anthropic", permission_mode="default", permission=rules)
    assert (outcome.text.startswith("It said: "), "done" in harness.files) == (True, False)


@pytest.mark.behaviour("permission", "resume")
async def test_rules_of_the_user_hold_for_as_long_as_they_are_in_the_settings(harness: AppHarness) -> None:
    async with FakeProvider(touches) as provider:
        await harness.run(provider, "anthropic", permission_mode="default", permission=RULES)
        assert "done" in harness.files
        (harness.place / "done").unlink()
        again = await harness.resume(provider, "anthropic", "Once more.", permission_mode=None)
        assert ("nobody is here to answer" in again.text, "done" in harness.files) == (True, False)
    # They are the user's, not the team's: nothing of them is left in its records.
    assert not any(body.get("add_rules") for body in await harness.records(ROSTER))


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("launcher", ["inline", "process"])
async def test_rules_of_the_user_hold_for_a_teammate_wherever_it_is_played(harness: AppHarness, launcher: str) -> None:
    async with FakeProvider(has_it_touched) as provider:
        await harness.run(provider, "anthropic", permission_mode="default", permission=RULES, launcher=launcher)
    assert "done" in harness.files
