"""The head of the screen says whether somebody can go on."""

import pytest

from deskmate.core.team.status import Idle, Parked
from deskmate.faces.tui.panels.head_line import gauge, head_of
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import member_of, step
from tests.faces.chat.chat_harness import chat
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio


async def test_a_team_that_did_all_it_was_told_is_at_rest(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await typist.types("hello")
        await typist.until(lambda session: isinstance(session.members[0].status, Idle) and session.spent.calls == 1)
        assert "  idle  " in head_of(typist.session, 200).plain


async def test_a_lead_that_is_parked_is_not_at_rest(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await typist.types("hello")
        await typist.until(lambda session: session.spent.calls == 1)
        await typist.types("/budget tokens 1")
        await typist.types("hello again")
        await typist.until(lambda session: isinstance(session.members[0].status, Parked))
        head = head_of(typist.session, 200).plain
    assert "  parked: budget: " in head
    assert "  idle  " not in head


def plans(asked: Asked) -> Say:
    """Have a teammate submit a plan, and leave it to the user."""
    if member_of(asked) == "alice":
        return Say("I wait.") if step(asked) else Say("", [Use("ExitPlanMode", {"plan": "First this."})])
    if step(asked) == 0:
        return Say("", [Use("Task", {"name": "alice", "prompt": "Plan it.", "plan_mode_required": True})])
    return Say("The user decides.")


async def test_a_team_whose_plan_waits_for_a_word_is_not_at_rest(harness: AppHarness) -> None:
    async with chat(harness, plans) as typist:
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions) and not session.busy)
        head = head_of(typist.session, 200).plain
    assert "  1 question  " in head
    assert "  idle  " not in head


async def test_what_matters_least_is_dropped_first_if_there_is_little_room(harness: AppHarness) -> None:
    async with chat(harness) as typist:
        await typist.types("hello")
        await typist.until(lambda session: session.spent.calls == 1)
        wide, small, tiny = (
            head_of(typist.session, cells, title="hello", context_share=0.4).plain for cells in (200, 60, 30)
        )
    assert wide.startswith("deskmate  hello  ")
    assert "▰▰▱▱▱ 40%" in wide
    assert typist.session.workspace.name in wide
    assert "▰▰▱▱▱ 40%" in small
    assert typist.session.workspace.name not in small
    assert len(tiny) <= 30


@pytest.mark.parametrize(("share", "shown"), [(0.0, "▱▱▱▱▱ 0%"), (0.23, "▰▱▱▱▱ 23%"), (1.0, "▰▰▰▰▰ 100%")])
def test_a_gauge_shows_how_full_the_context_is(share: float, shown: str) -> None:
    assert gauge(share) == shown
