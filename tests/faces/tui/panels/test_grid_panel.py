"""Several conversations side by side: who is shown, live, and how one is chosen."""

from pathlib import Path

import pytest

from deskmate.app import Streamed
from deskmate.core.prompt.prompts import TextDelta
from deskmate.faces.tui.panels.grid_panel import tiled_names
from tests.faces.tui.busy_team import MEMBERS, at_work
from tests.faces.tui.idle_sessions import SIZES, session_at
from tests.faces.tui.screen_harness import show_team
from tests.faces.tui.snapshots import compare

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES


@pytest.mark.parametrize("size", SIZES)
async def test_a_key_shows_several_conversations_and_one_again(tmp_path: Path, size: tuple[int, int]) -> None:
    async with show_team(await at_work(tmp_path), size) as screen:
        await screen.sees("make serve")
        await screen.press("f7")
        await screen.sees("─lead──", "─alice──", "─bob──", "· parked: no money left", "? bash rm -rf build")
        await compare(screen.app, "grid")
        await screen.press("f7")
        await screen.sees("make serve")
        await screen.sees_no("─alice──")


async def test_all_of_them_are_live(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("f7")
        await screen.sees("─lead──", "─alice──", "─carol──")
        screen.feed.tell(Streamed("alice", TextDelta("I write it")))
        screen.feed.tell(Streamed("carol", TextDelta("I port it")))
        await screen.sees("I write it▍", "I port it▍")


async def test_a_click_chooses_who_is_written_to_and_reading_shows_only_that_one(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("f7")
        await screen.sees("─bob──", "? bash rm -rf build")
        y = next(y for y, line in enumerate(screen.lines) if "? bash rm -rf build" in line)
        await screen.pilot.click(offset=(screen.lines[y].index("rm -rf"), y))
        await screen.sees("to bob", "─lead──")
        await screen.press("f6")
        await screen.sees("Enter unfold", "rm -rf build")
        await screen.sees_no("─lead──")


async def test_to_whom_something_was_said_is_shown_in_the_grid_and_stays_afterwards(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("f7")
        await screen.sees("─alice──")
        await screen.press("f5", "escape")
        await screen.type("@alice use ids")
        await screen.sees("│ said to alice")
        await screen.press("f7")
        await screen.sees_no("─alice──")
        await screen.sees("said to alice")
        assert len([line for line in screen.lines if "said to alice" in line]) == 1


async def test_a_search_is_in_one_conversation(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("f7")
        await screen.sees("─alice──")
        await screen.press("ctrl+f")
        await screen.type("test 3")
        await screen.sees("─1 of 1", "test 3 passed")


async def test_of_many_members_those_that_are_busy_are_shown_and_the_chosen_one(tmp_path: Path) -> None:
    members = (*((f"mate{number}", "dev") for number in range(8)), *MEMBERS)
    async with session_at(await at_work(tmp_path, members)) as session:
        shown = tiled_names(session.members, "carol")
    assert shown == ["lead", "mate0", "mate1", "mate2", "mate3", "carol"]
