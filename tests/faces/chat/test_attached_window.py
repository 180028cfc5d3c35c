"""A second window on a running team: what is typed there counts, and it ends with the process that runs the team."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faces.chat_program import ChatProgram
from tests.faces.terminal import Terminal, at_terminal
from tests.faces.tui.test_tui_start import AtScreen

pytestmark = pytest.mark.behaviour("attach")
CTRL_D = "\x04"


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    return shared.own(tmp_path, NO_COLOR="1")


@contextmanager
def running(place: ChatProgram) -> Iterator[Terminal]:
    """Have a team that runs, whose lead asks something."""
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.say("ls")
        terminal.see("question 1")
        yield terminal


def test_a_question_is_answered_in_another_window_and_leaving_it_stops_nothing(place: ChatProgram) -> None:
    with running(place) as first, at_terminal("attach", "--plain", cwd=place.folder, env=place.env) as window:
        window.see("It continues when you leave this window.")
        window.see("question 1")
        window.say("y")
        window.see("yes to lead: bash ls")
        first.see("Done.")
        window.see("Done.")
        window.prompted()
        window.type(CTRL_D)
        assert window.end() == 0
        assert window.modes == window.found
        assert "deskmate attach main" in window.screen.lines[-1]
        first.say("hello")
        first.see("I am here.")


def test_the_window_ends_with_the_process_that_runs_the_team(place: ChatProgram) -> None:
    with running(place) as first, at_terminal("attach", "main", "--plain", cwd=place.folder, env=place.env) as window:
        window.see("question 1")
        window.prompted()
        first.prompted()
        first.type(CTRL_D)
        assert first.end() == 0
        assert window.end() == 2
        assert window.modes == window.found
        assert window.screen.lines[-1] == "To continue the team, run: deskmate --team main"


def test_the_screen_of_an_attached_team_shows_it_and_takes_words(place: ChatProgram) -> None:
    with running(place) as first, AtScreen(place, "attach", "main") as screen:
        screen.see("to lead")
        screen.see("1 question")
        first.say("n")
        screen.see("Done.")
        screen.type("hello\r")
        first.see("I am here.")
        screen.see("I am here.")
        assert "continues without this window" in screen.leave()


def test_choosing_a_running_team_from_the_list_attaches_to_it(place: ChatProgram) -> None:
    with running(place), at_terminal("--plain", "-r", cwd=place.folder, env=place.env) as window:
        window.see("asks you")
        window.type("\r")
        window.see("It continues when you leave this window.")


def test_a_team_that_is_stopped_is_refused_with_the_command_that_continues_it(place: ChatProgram) -> None:
    assert place.piped("hello").code == 0
    with at_terminal("attach", "main", cwd=place.folder, env=place.env) as window:
        assert window.end() == 2
        assert "deskmate --team main" in window.raw


def test_a_pipe_cannot_be_attached(place: ChatProgram) -> None:
    end = place.piped("", "attach", "main")
    assert (end.code, end.stdout) == (2, "")
