"""Keys that fingers know: new lines, what was typed before, modes, pasted lines, and typing from anywhere."""

from pathlib import Path

import pytest
from textual import events

from deskmate.core.policy.permissions import Mode
from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.draft.draft_menu import DraftMenu
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.tui.busy_team import at_work
from tests.faces.tui.draft.test_draft_input import said
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import ScreenHarness, show_live_team, show_team
from tests.faces.tui.snapshots import compare
from tests.faces.tui.test_live_team import answers
from tests.sample_images import png

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES
LINES = "\n".join(f"line {number}" for number in range(60))


def draft(screen: ScreenHarness) -> Draft:
    return screen.app.screen.query_one(Draft)


async def paste(screen: ScreenHarness, text: str) -> None:
    screen.app.post_message(events.Paste(text))
    await screen.pilot.pause()


@pytest.mark.parametrize("keys", [["alt+enter"], ["shift+enter"], ["ctrl+j"], ["backslash", "enter"]])
async def test_a_key_starts_a_new_line(tmp_path: Path, keys: list[str]) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"one", *keys, *"two")
        assert draft(screen).text == "one\ntwo"


# -- what was typed before --------------------------------------------------------------------------


async def test_what_was_typed_before_is_searched_and_taken_without_being_sent(tmp_path: Path) -> None:
    before = ["fix the parser", "run the tests", "fix the docs"]
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, before=before) as screen:
        await screen.press("ctrl+r")
        await screen.sees("fix the docs", "run the tests", "fix the parser")
        await compare(screen.app, "menu-history")
        await screen.press(*"fix", "ctrl+r", "enter")
        assert draft(screen).text == "fix the parser"
        assert said(screen, "fix the parser") == []
        await screen.press("enter")
        await screen.until(lambda: said(screen, "fix the parser") == ["lead"])


async def test_escape_ends_the_search_and_brings_back_what_was_typed(tmp_path: Path) -> None:
    before = ["fix the parser"]
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, before=before) as screen:
        await screen.press(*"par", "ctrl+r", *"zzz")
        await screen.sees("no match")
        await screen.press("escape")
        assert (draft(screen).text, screen.app.screen.query_one(DraftMenu).display) == ("par", False)


# -- pasted lines -----------------------------------------------------------------------------------


async def test_many_pasted_lines_are_a_label_until_they_are_sent(tmp_path: Path) -> None:
    kept: list[str] = []
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, keep=kept.append) as screen:
        await screen.press(*"see ")
        await paste(screen, LINES.replace("\n", "\r"))
        await paste(screen, LINES)
        assert draft(screen).text == "see [60 lines pasted][60 lines pasted #2]"
        await screen.press("backspace")
        assert draft(screen).text == "see [60 lines pasted]"
        await screen.press("enter")
        await screen.until(lambda: said(screen, f"see {LINES}") == ["lead"])
    assert kept == [f"see {LINES}"]


async def test_few_pasted_lines_are_shown(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await paste(screen, "one\r\ntwo\x1b[2J")
        assert draft(screen).text == "one\ntwo"


async def test_the_pasted_path_of_an_image_is_sent_as_an_image(tmp_path: Path) -> None:
    shot = tmp_path / "my shot.png"
    shot.write_bytes(png(40, 30))
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press(*"see")
        await paste(screen, f"{shot}\n".replace(" ", "\\ "))
        assert draft(screen).text == f'see @"{shot}" '
        await screen.press("enter")
        await screen.sees("[my shot.png, 40x30, 1 kB]")
        assert provider.complaints == []


# -- modes ------------------------------------------------------------------------------------------


async def test_shift_tab_goes_through_the_modes_and_the_draft_shows_them(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        for mode in (Mode.ACCEPT_EDITS, Mode.PLAN):
            await screen.press("shift+tab")
            await screen.sees(f"to lead  mode {mode}: Shift-Tab")
            assert screen.session.permitted.mode is mode
        await screen.press("shift+tab")
        await screen.sees_no("mode plan:")
        assert screen.session.permitted.mode is Mode.DEFAULT


async def test_shift_tab_goes_from_a_wide_mode_back_to_the_default(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.session.set_mode(Mode.DONT_ASK)
        await screen.press("shift+tab")
        await screen.until(lambda: screen.session.permitted.mode is Mode.DEFAULT)


# -- from anywhere ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["f2", "f3", "f4", "f5", "f6"])
async def test_what_is_typed_in_another_panel_goes_to_the_draft(tmp_path: Path, key: str) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("x", "backspace", key)
        await screen.press(*"a word")
        assert (draft(screen).text, screen.app.focused) == ("a word", draft(screen))


async def test_a_click_into_the_conversation_leaves_the_keys_to_the_draft(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.press("x")
        await screen.pilot.click("#conversation", offset=(5, 5))
        await screen.press("y")
        assert draft(screen).text == "xy"


# -- commands of the user ---------------------------------------------------------------------------


async def test_a_command_of_the_user_is_shown_and_stopped_while_words_go_on(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.type("!echo begun; sleep 600")
        await screen.sees("▌ you", "▌ $ echo begun; sleep 600  0:0", "▌ │ begun")
        await screen.type("meanwhile")
        await screen.until(lambda: said(screen, "meanwhile") == ["lead"])
        await screen.press("escape")
        await screen.sees("▌ │ begun", "▌ stopped by signal 15")


async def test_the_lead_is_told_of_a_command_and_the_message_shows_what_was_run(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, LARGE) as screen:
        await screen.type("!echo '<b>'; exit 3")
        await screen.sees("▌ │ <b>", "▌ exit status 3")
        await screen.type("see?")
        await screen.sees("You said:", "▌ you  ▸ 5 lines", "▌ see?", "▌ $ echo '<b>'; exit 3")
        assert screen.session.title == "see?"
        await screen.press("f6", "up", "up", "enter")
        await screen.until(lambda: sum("▌ │ <b>" in line for line in screen.lines) == 2)
