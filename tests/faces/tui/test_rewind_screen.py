"""Esc Esc opens the points to go back to, and the chosen one becomes a command."""

from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import show_live_team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, _ = SIZES
WRITE = Use("write_file", {"path": "new.txt", "content": "new"})


def writes(asked: Asked) -> Say:
    """Write a file once."""
    return Say("It is written.") if asked.results else Say(calls=[WRITE])


async def test_esc_twice_lists_the_points_and_enter_writes_the_command_that_restores_files(tmp_path: Path) -> None:
    async with (
        FakeProvider(writes) as provider,
        show_live_team(tmp_path, provider, SMALL, permission_mode="acceptEdits") as screen,
    ):
        await screen.type("write it")
        await screen.sees("It is written.")
        await screen.until(lambda: not screen.session.busy)
        await screen.press("escape", "escape")
        await screen.sees("write it", "files changed since")
        await screen.press("d")
        await screen.sees("remove (created by the team since): new.txt", "+++ b/new.txt")
        assert (tmp_path / "new.txt").exists()
        await screen.press("escape", "escape")
        await screen.sees("files changed since")
        await screen.press("enter")
        await screen.sees("/rewind 1")
        await screen.press("enter")
        await screen.sees("removed: new.txt", "To undo this, type: /rewind 2")
        assert not (tmp_path / "new.txt").exists()


async def test_the_list_closes_with_esc_and_changes_nothing(tmp_path: Path) -> None:
    async with FakeProvider(writes) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press("escape", "escape")
        await screen.sees("There is no point to go back to yet.")
        await screen.press("escape")
        await screen.until(lambda: not any("no point" in line for line in screen.lines))
