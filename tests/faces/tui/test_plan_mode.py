"""Plan mode on the screen: the lead's plan is asked about, and each of the three answers does what it says."""

from functools import partial
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


async def cycle(screen: ScreenHarness, presses: int) -> None:
    """Press Shift-Tab that often, each time when the mode before is in force."""
    for _ in range(presses):
        before = screen.session.permitted.mode
        await screen.press("shift+tab")
        await screen.until(partial(has_left, screen, before))


def has_left(screen: ScreenHarness, mode: Mode) -> bool:
    return screen.session.permitted.mode is not mode


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


@pytest.mark.parametrize(
    ("began", "presses", "after"),
    [
        (Mode.DEFAULT, 2, Mode.DEFAULT),
        (Mode.DEFAULT, 5, Mode.DEFAULT),
        (Mode.ACCEPT_EDITS, 1, Mode.ACCEPT_EDITS),
        (Mode.BYPASS, 3, Mode.DEFAULT),
    ],
)
async def test_a_plain_yes_never_leads_to_a_mode_that_was_only_passed_on_the_way_to_plan_mode(
    tmp_path: Path, began: Mode, presses: int, after: Mode
) -> None:
    async with FakeProvider(plans) as provider, show_live_team(tmp_path, provider, SIZES[0]) as screen:
        await screen.type(f"/mode {began}")
        await screen.sees(f"mode of the team from now on: {began}")
        await cycle(screen, presses)
        await screen.type("change it")
        await screen.asked("1. Yes")
        await screen.press("enter")
        await screen.sees("I may work now.")
        assert screen.session.permitted.mode is after


async def test_plan_mode_returns_to_accepted_edits_if_the_lead_worked_so(tmp_path: Path) -> None:
    async with FakeProvider(plans) as provider, show_live_team(tmp_path, provider, SIZES[0]) as screen:
        await cycle(screen, 1)
        await screen.type("hello")
        await screen.sees("The plan is with you.")
        await cycle(screen, 1)
        await screen.type("change it")
        await screen.asked("1. Yes")
        await screen.press("enter")
        await screen.sees("I may work now.")
        assert screen.session.permitted.mode is Mode.ACCEPT_EDITS


async def test_words_refuse_the_plan_and_the_next_one_is_asked_about(tmp_path: Path) -> None:
    async with FakeProvider(plans) as provider, show_live_team(tmp_path, provider, SIZES[0]) as screen:
        await handed_in(screen)
        await screen.press("4", *"tests", "enter")
        await screen.sees("submits a plan", "A better plan.")
        await screen.sees_no("1. Write it.\n")
        assert screen.session.permitted.planning == ("lead",)
