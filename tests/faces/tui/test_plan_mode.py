"""Plan mode on the screen: the lead's plan is asked about, and each of the three answers does what it says."""

from pathlib import Path

import pytest

from deskmate.core.policy.permissions import Mode
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import hears
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import ScreenHarness, show_live_team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui", "plan")]


def plans(asked: Asked) -> Say:
    """Submit a plan, and tell what was answered."""
    if hears(asked, 'approve="yes"'):
        return Say("I may work now.")
    if hears(asked, 'approve="no"'):
        return Say("I plan again.", [Use("ExitPlanMode", {"plan": "A better plan."})])
    if hears(asked, "change it"):
        return Say("I have read enough.", [Use("ExitPlanMode", {"plan": "1. Write it.\n2. Test it."})])
    return Say("The plan is with you.")


async def handed_in(screen: ScreenHarness) -> None:
    """Have the lead plan, and submit what it planned."""
    await screen.type("/mode plan")
    await screen.type("change it")
    await screen.sees("lead submits a plan", "1. Write it.", "2. Test it.")
    # The question takes the keys by itself.
    await screen.asked("1. Yes", "2. Yes, and accept edits from now on", "4. No, and say what to change")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("key", "mode"), [("enter", Mode.DEFAULT), ("2", Mode.ACCEPT_EDITS)])
async def test_one_key_approves_the_plan_and_ends_plan_mode(
    tmp_path: Path, key: str, mode: Mode, size: tuple[int, int]
) -> None:
    async with FakeProvider(plans) as provider, show_live_team(tmp_path, provider, size) as screen:
        await handed_in(screen)
        assert screen.session.permitted.planning == ("lead",)
        await screen.press(key)
        await screen.sees("I may work now.", f"{mode}  no sandbox")
        await screen.sees_no("submits a plan")
        assert screen.session.permitted.mode is mode
        assert not screen.session.permitted.planning


async def test_words_refuse_the_plan_and_the_next_one_is_asked_about(tmp_path: Path) -> None:
    async with FakeProvider(plans) as provider, show_live_team(tmp_path, provider, SIZES[0]) as screen:
        await handed_in(screen)
        await screen.press("4", *"tests", "enter")
        await screen.sees("submits a plan", "A better plan.")
        await screen.sees_no("1. Write it.\n")
        assert screen.session.permitted.planning == ("lead",)
