"""The board of a lead with two teams: both boards, each with its own tasks, members and folds."""

from pathlib import Path

import pytest

from deskmate.faces.tui.panels.board_panel import BoardPanel
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import hears, member_of, step
from tests.faces.tui.screen_harness import ScreenHarness, show_live_team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui", "two-teams")]


def create(subject: str, **more: object) -> Use:
    return Use("TaskCreate", {"subject": subject, **more})


def take(task: int, status: str = "in_progress") -> Use:
    return Use("TaskUpdate", {"taskId": task, "status": status})


LEAD = (
    (create("parse"), Use("Task", {"name": "alice", "prompt": "Rest.", "role": "dev"}), create("test", role="tester")),
    (Use("TeamCreate", {"team_name": "web"}),),
    (create("paint", role="painter"), create("sweep", owner="lead"), take(2)),
    (take(2, "completed"),),
)


def script(asked: Asked) -> Say:
    """Found two teams. Alice of the first takes its task #1, and asks the user about it."""
    if member_of(asked) == "alice":
        return Say("", [Use("bash", {"command": "make parse"})]) if hears(asked, "is yours now") else Say("Ready.")
    return Say("", list(LEAD[step(asked)])) if step(asked) < len(LEAD) else Say("Both are set up.")


def board_of(screen: ScreenHarness) -> list[str]:
    """Return the rows of the board panel, without what is beside it."""
    panel = screen.app.screen.query_one(BoardPanel)
    return ["".join(text for text, _ in panel._seen(y)[0]) for y in range(len(panel._places))]


async def test_both_boards_are_shown_in_groups_and_each_folds_by_itself(tmp_path: Path) -> None:
    async with FakeProvider(script) as provider, show_live_team(tmp_path, provider, (120, 40), "go") as screen:
        await screen.sees("Both are set up.", "board 1/4", "make parse")
        rows = [" ".join(row.split()) for row in board_of(screen)]
        assert rows[:3] == ["web 1/2", "○ #1 paint free", "✓ 1 done ▸"]
        assert rows[3] == "main 0/2"
        assert rows[4].startswith("● #1 parse @alice")
        assert rows[5] == "○ #2 test free"
        # The list of members names the task of a member of either team.
        await screen.sees("alice@main", "#1")
        panel = screen.app.screen.query_one(BoardPanel)
        panel.unfold("done@web")
        panel.unfold("2@main")
        await screen.sees("✓ #2 sweep", "created")
        assert [row.strip() for row in board_of(screen)].count("main 0/2") == 1
