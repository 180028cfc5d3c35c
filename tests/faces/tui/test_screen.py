"""The one screen: each of its panels at each size, and the keys that go from one to the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deskmate.core.agent.entries import Said, Started
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.testing import FakeClock
from tests.faces.disk_teams import OpenTeam, hands
from tests.faces.tui.busy_team import at_work, record
from tests.faces.tui.idle_sessions import NOW, SIZES, Deed
from tests.faces.tui.idle_sessions import team as idle_team
from tests.faces.tui.screen_harness import ScreenHarness, show_team
from tests.faces.tui.snapshots import compare

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
Size = tuple[int, int]
ASKED = "may I use bash?"


@pytest.mark.parametrize("size", [*SIZES, (120, 36)])
async def test_all_of_a_team_is_on_one_screen(tmp_path: Path, size: Size) -> None:
    async with show_team(await at_work(tmp_path), size) as screen:
        await screen.sees("make serve", ASKED)
        await compare(screen.app, "screen")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("key", "panel", "words"), [("f2", "members", "no money"), ("f3", "board", "tell the users")])
async def test_a_key_brings_a_panel_forward_and_back(
    tmp_path: Path, size: Size, key: str, panel: str, words: str
) -> None:
    async with show_team(await at_work(tmp_path), size) as screen:
        await screen.sees("make serve", ASKED)
        await screen.press(key)
        await screen.sees(words, "Esc write")
        await compare(screen.app, f"on-{panel}")
        await screen.press(key)
        await screen.sees("make serve", "to lead", "Ctrl-D leave")
        await screen.press(key, "escape")
        await screen.sees("make serve")


async def test_where_there_is_little_room_one_panel_is_in_sight_at_a_time(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 24)) as screen:
        await screen.press("f3")
        await screen.sees("board 0/3")
        await screen.sees_no("make serve")
        await screen.press("f4")
        await screen.sees("mail 2")
        await screen.sees_no("board 0/3")
        await screen.press("f6")
        await screen.sees("make serve")
        await screen.sees_no("mail 2")


async def test_where_there_is_more_room_board_and_mail_share_a_place_and_the_last_one_stays(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (120, 30)) as screen:
        await screen.sees("board 0/3", "make serve")
        await screen.press("f4")
        await screen.sees("mail 2", "make serve")
        await screen.sees_no("board 0/3")
        await screen.press("escape", "f2")
        await screen.sees("mail 2")


async def test_the_questions_stay_in_sight_whatever_panel_is_looked_at(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 24)) as screen:
        for key in ("f2", "f3", "f4", "f6", "ctrl+f"):
            await screen.press(key)
            await screen.sees(ASKED, "─1 question")


@pytest.mark.parametrize("size", SIZES)
async def test_help_shows_every_key_and_command_over_all_else(tmp_path: Path, size: Size) -> None:
    async with show_team(await at_work(tmp_path), size) as screen:
        await screen.sees("make serve", ASKED)
        await screen.press("f1")
        await screen.sees("Everywhere", "Shift-Tab")
        await compare(screen.app, "help")
        await screen.press("end")
        await screen.sees("/quit")
        await screen.press("f2", "tab", "escape")
        await screen.sees("make serve", "to lead")


async def test_help_opens_by_a_question_mark_where_nothing_is_typed(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 24)) as screen:
        await screen.press("?")
        await screen.sees(" ?")
        await screen.press("f6", "?")
        await screen.sees("Everywhere")


async def test_it_uses_the_room_it_is_given(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 24)) as screen:
        await screen.sees("make serve", ASKED)
        await screen.sees_no("board 0/3")
        await screen.pilot.resize_terminal(200, 60)
        await screen.sees("board 0/3", "mail 2", "members 5", "make serve", "you", ASKED)
        await compare(screen.app, "resized")
        await screen.pilot.resize_terminal(80, 24)
        await screen.sees_no("board 0/3")
        await screen.sees("make serve", ASKED)
        await compare(screen.app, "screen")


@pytest.mark.parametrize("size", [(40, 12), (20, 8), (300, 20)])
async def test_at_any_size_something_can_be_typed(tmp_path: Path, size: Size) -> None:
    async with show_team(await at_work(tmp_path), size) as screen:
        await screen.press(*"hello")
        await screen.sees("hello")


async def test_a_click_on_a_key_presses_it(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 24)) as screen:
        await screen.asked("F1 help")
        place = screen.lines[-1].index("F1")
        await screen.pilot.click("#keys", offset=(place, 0))
        await screen.sees("Everywhere")


# -- a screen that grows --------------------------------------------------------------------------


@asynccontextmanager
async def alone(folder: Path, deed: Deed, size: Size) -> AsyncIterator[ScreenHarness]:
    """Show a lead without a team, after it did something."""
    async with idle_team(folder) as (one, clock):
        await deed(one, clock)
    async with show_team(folder, size) as screen:
        yield screen


async def says(team: OpenTeam, clock: FakeClock) -> None:
    await record(team, "lead", Started(name="lead"), Said(text="word " * 30))


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_one_agent_has_the_whole_width(tmp_path: Path, size: Size) -> None:
    async with alone(tmp_path, says, size) as screen:
        await screen.sees("word word")
        assert max(len(line) for line in screen.lines if "word" in line) > size[0] - 12
        assert not any(word in line for line in screen.lines for word in ("─members", "─board", "─mail"))


async def test_a_panel_that_is_not_needed_yet_opens_by_its_key(tmp_path: Path) -> None:
    async with alone(tmp_path, says, (120, 36)) as screen:
        for key, title in (("f2", "─members 1"), ("f3", "no tasks yet"), ("f4", "no mail yet")):
            await screen.press(key)
            await screen.sees(title, "word word")
            await screen.press("escape")
            await screen.sees_no(title)


async def test_members_board_and_mail_come_when_they_are_needed(tmp_path: Path) -> None:
    async with alone(tmp_path, says, (120, 50)) as screen:
        await screen.sees("word word")
        async with hands(tmp_path) as team:
            await team.board.create("lead", NewTask("write"))
            await screen.session.look()
            await screen.sees("─board 0/1", "#1 write")
            await screen.sees_no("─members")
            await team.roster.join(Joined(name="alice", role="dev", at=NOW))
            await screen.session.look()
            await screen.sees("─members 2", "alice")
            await team.mailbox("user").send("lead", Plain(content="hello"))
            await screen.session.look()
            await screen.sees_no("─mail")
            await team.mailbox("alice").send("lead", Plain(content="it is done"))
            await screen.session.look()
            await screen.sees("─mail 1 of agents, 1 hidden", "it is done")


# -- themes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "terminal"])
async def test_a_screen_in_another_theme(tmp_path: Path, theme: str) -> None:
    async with show_team(await at_work(tmp_path), (120, 36), theme=theme) as screen:
        await screen.sees("make serve", ASKED)
        await compare(screen.app, f"screen-{theme}")


async def test_a_theme_that_is_changed_changes_what_is_shown_already(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (120, 36)) as screen:
        await screen.sees("make serve", ASKED)
        screen.app.theme = "light"
        await screen.pilot.pause()
        await compare(screen.app, "screen-light")
