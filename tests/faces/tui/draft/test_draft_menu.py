"""The menu of the draft: commands, members and files are chosen with few keys, and nothing is sent by mistake."""

import subprocess
from pathlib import Path

import pytest

from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.draft.draft_menu import DraftMenu
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.tui.draft.test_draft_input import at_once, said
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import ScreenHarness, show_live_team
from tests.faces.tui.snapshots import compare
from tests.faces.tui.test_live_team import answers, team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES


def draft(screen: ScreenHarness) -> Draft:
    return screen.app.screen.query_one(Draft)


def menu(screen: ScreenHarness) -> list[str]:
    """Return the names that are offered."""
    shown = screen.app.screen.query_one(DraftMenu)
    return [str(option.prompt).split()[0] for option in shown.options] if shown.is_open else []


def repository(folder: Path) -> Path:
    for name in (".gitignore", "src/http.py", "src/html.py", "build/out.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("build/\n.*/\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


async def test_a_slash_opens_the_commands_and_tab_takes_one(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press("/")
        assert menu(screen)[0] == "/team"
        await screen.press(*"mod")
        assert menu(screen)[:2] == ["/mode", "/model"]
        await screen.press("down", "tab")
        assert (draft(screen).text, menu(screen)) == ("/model ", [])


async def test_enter_runs_the_marked_command(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.type("/que")
        await screen.sees("No question is open")
        # This one needs a name.
        await screen.type("/sto")
        assert draft(screen).text == "/stop "
        await screen.press("ctrl+c")
        await screen.type("/mode")
        await screen.sees("mode: default")


async def test_escape_closes_the_menu_until_another_word(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"/te", "escape")
        assert menu(screen) == []
        await screen.press("a")
        assert (draft(screen).text, menu(screen)) == ("/tea", [])
        await screen.press("ctrl+c", "/")
        assert menu(screen)[0] == "/team"


async def test_what_was_typed_before_opens_no_menu(tmp_path: Path) -> None:
    before = ["first", "/team"]
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, before=before) as screen:
        await screen.press("up")
        assert (draft(screen).text, menu(screen)) == ("/team", [])
        await screen.press("up")
        assert draft(screen).text == "first"


async def test_an_at_offers_members_and_the_files_that_git_does_not_ignore(tmp_path: Path) -> None:
    repository(tmp_path)
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"look at ", "@")
        await screen.until(lambda: "src/http.py" in menu(screen))
        assert menu(screen)[:2] == ["@lead", "@all"]
        assert sorted(menu(screen)[2:]) == [".gitignore", "src/html.py", "src/http.py"]
        await screen.press(*"ht")
        await screen.until(lambda: menu(screen) == ["src/html.py", "src/http.py"])
        await screen.sees("look at @ht", "Tab insert")
        await compare(screen.app, "menu-files")
        await screen.press(*"tp", "enter")
        assert (draft(screen).text, menu(screen)) == ("look at @src/http.py ", [])


async def test_a_file_that_is_found_later_brings_the_keys_of_the_menu(tmp_path: Path) -> None:
    repository(tmp_path)
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        at_once(screen, "@", *"htm")
        await screen.sees("src/html.py", "Tab insert")


async def test_a_message_with_a_file_shows_it_folded(tmp_path: Path) -> None:
    repository(tmp_path)
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"see @src/http.py", "escape", "enter")
        await screen.sees("▌ see @src/http.py", "▌ @src/http.py, ")
        await screen.sees_no("attached")


async def test_a_teammate_is_answered_with_three_keys_and_the_words(tmp_path: Path) -> None:
    async with FakeProvider(team) as provider, show_live_team(tmp_path, provider, SMALL, "begin") as screen:
        await screen.sees("Ready.", "alice")
        # Keys as fast as they can come: the third one is Enter.
        at_once(screen, "@", "a", "tab")
        await screen.until(lambda: draft(screen).text == "@alice ")
        await screen.type("well done")
        await screen.until(lambda: said(screen, "well done") == ["alice"])


async def test_a_completion_can_be_clicked(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"/mod")
        await screen.pilot.click(DraftMenu, offset=(3, 2))
        await screen.until(lambda: draft(screen).text == "/model ")
        assert screen.app.focused is draft(screen)
