"""Choosing a team to continue: from a list at a terminal, the one used last by Enter alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces.chat_program import ChatProgram
from tests.faces.terminal import Terminal, at_terminal
from tests.faces.tui.test_tui_start import ENTERED, LEFT, AtScreen

UP, DOWN, ESC = "\x1b[A", "\x1b[B", "\x1b"
ASKED = "Continue which team?"


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    """A place with three teams, main-3 the one used last."""
    place = shared.own(tmp_path, NO_COLOR="1")
    for words in ("fix the retries", "write the docs", "hello"):
        assert place.piped(words).code == 0
    return place


@pytest.fixture
def picker(place: ChatProgram) -> Iterator[Terminal]:
    with at_terminal("--plain", "-r", cwd=place.folder, env=place.env) as terminal:
        terminal.see("Esc: leave")
        yield terminal


def rows(terminal: Terminal) -> list[str]:
    return [line for line in terminal.screen.lines if "ago" in line]


def test_the_teams_are_listed_with_title_age_state_and_cost_the_one_used_last_first(picker: Terminal) -> None:
    assert [row.split()[-1] for row in rows(picker)] == ["main-3", "main-2", "main"]
    assert rows(picker)[0].startswith("> hello")
    assert " s ago  stopped  $0.0" in rows(picker)[2]


def test_enter_continues_the_one_used_last(picker: Terminal) -> None:
    picker.type("\r")
    picker.see("team main-3 (/help, /quit)")
    picker.prompted()
    assert ASKED not in "\n".join(picker.screen.lines)


def test_arrow_keys_choose_another(picker: Terminal) -> None:
    picker.type(DOWN + DOWN + DOWN + UP)
    picker.until(lambda: rows(picker)[1].startswith("> "))
    picker.type("\r")
    picker.see("team main-2 (/help, /quit)")


def test_typing_filters_by_words_of_the_title(picker: Terminal) -> None:
    picker.type("RETR fix")
    picker.until(lambda: len(rows(picker)) == 1)
    picker.type("\r")
    picker.see("team main (/help, /quit)")


def test_words_that_fit_no_team_choose_none(picker: Terminal) -> None:
    picker.type("nothing like that")
    picker.see("No team matches")
    picker.type("\r" + ESC)
    assert picker.end() == 0


@pytest.mark.parametrize("key", [ESC, "\x03", "\x04"])
def test_leaving_opens_nothing(picker: Terminal, key: str) -> None:
    picker.type(key)
    assert picker.end() == 0
    assert picker.modes == picker.found
    assert picker.screen.lines == []


def test_resume_without_a_name_opens_it_at_a_terminal(place: ChatProgram) -> None:
    with at_terminal("resume", cwd=place.folder, env=place.env) as terminal:
        terminal.see(ASKED)
        terminal.type(ESC)
        assert terminal.end() == 0


@pytest.mark.parametrize(("keys", "team"), [(DOWN + "\r", "main-3"), (ESC, "main")])
def test_a_conversation_goes_over_to_the_team_that_is_chosen_or_goes_on(
    place: ChatProgram, keys: str, team: str
) -> None:
    with at_terminal("--plain", "--team", "main", cwd=place.folder, env=place.env) as terminal:
        terminal.say("/resume")
        terminal.see("Continue which team?")
        terminal.type(keys)
        terminal.until(lambda: sum("(/help, /quit)" in line for line in terminal.screen.lines) == 2)
        heads = [line for line in terminal.screen.lines if "(/help, /quit)" in line]
        assert heads[-1].endswith(f"team {team} (/help, /quit)")


def test_a_screen_goes_over_to_the_team_that_is_chosen(place: ChatProgram) -> None:
    with AtScreen(place, "--team", "main") as screen:
        screen.see("to lead")
        screen.type("/resume\r")
        screen.see("Continue which team?")
        screen.type("write\r")
        screen.until(lambda: screen.raw.count(ENTERED) == 2)
        screen.until(lambda: "to lead" in screen.raw.rpartition(ENTERED)[2])
        screen.type("\x04")
        assert screen.end() == 0
        assert screen.modes == screen.found
        assert "team main-2: 1 model call" in screen.raw.rpartition(LEFT)[2]


def test_resume_without_a_terminal_continues_the_team_used_last(place: ChatProgram) -> None:
    end = place.piped("", "resume")
    assert (end.code, end.stdout) == (0, "Hello.\nI am here.\n")
    assert "team main-3 had nothing left to do" in end.stderr


def test_the_option_needs_a_terminal(place: ChatProgram) -> None:
    end = place.piped("hello", "--resume")
    assert end.code == 2
    assert "--resume needs a terminal" in end.stderr


def test_a_folder_without_teams_is_told(shared: ChatProgram, tmp_path: Path) -> None:
    place = shared.own(tmp_path)
    with at_terminal("-r", cwd=place.folder, env=place.env) as terminal:
        assert terminal.end() == 2
        assert "There is no team in" in terminal.raw
