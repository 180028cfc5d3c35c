"""Opening and leaving: the terminal is as it was found at every way out, and what is left behind is told."""

import fcntl
import logging
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import pytest

from deskmate.faces.common.run_start import NEVER_ANSWERED
from deskmate.faces.tui.tui_start import noting
from deskmate.testing.provider_faults import ErrorStatus
from tests.faces.chat_program import ChatProgram, chat_program
from tests.faces.terminal import SECONDS, Screen, Terminal
from tests.faces.tui.busy_team import at_work
from tests.faces.tui.screen_harness import show_team

pytestmark = pytest.mark.behaviour("tui")
ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX^_\]][^\x1b\x07]*(?:\x1b\\|\x07)|.)")
_COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")


class Written(Screen):
    """All that was written, in the order it came: on a screen that is drawn in parts, no row is written at once."""

    text = ""

    @property
    def lines(self) -> list[str]:
        return _SEQUENCE.sub("\n", self.text).splitlines()

    def feed(self, text: str) -> None:
        self.text += text


class AtScreen(Terminal):
    """The program at a terminal that it has to itself."""

    def __init__(self, place: ChatProgram, *args: str, **env: str) -> None:
        super().__init__(list(args), place.folder, {**place.env, "TERM": "xterm", **env}, (80, 24), (80, 24))
        self.screen = Written(80, 24)

    def leave(self) -> str:
        """Press Ctrl-D; return what is said at the end, the terminal being as it was found."""
        self.type("\x04")
        return self.left(0)

    def left(self, code: int) -> str:
        """Return what is said at the end, the terminal being as it was found."""
        assert self.end() == code, self.screen.lines
        assert self.modes == self.found
        assert self.raw.count(ENTERED) == self.raw.count(LEFT) == 1
        return self.raw.partition(LEFT)[2]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ChatProgram]:
    with chat_program(tmp_path) as place:
        yield place


def test_a_model_that_never_answered_is_told_with_its_reason_on_leaving(tmp_path: Path) -> None:
    fault = ErrorStatus(401, message="no such key")
    with chat_program(tmp_path, faults=lambda number, asked: fault) as place, AtScreen(place) as terminal:
        terminal.see("to lead")
        terminal.type("good morning\r")
        terminal.see("no such key")
        parting = terminal.leave()
    assert "no such key" in parting
    assert parting.index("no such key") < parting.index(NEVER_ANSWERED)


def test_the_title_of_the_window_tells_of_the_team_and_is_restored(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        terminal.type("good morning\r")
        terminal.until(lambda: "\x1b]0;good morning - deskmate\a" in terminal.raw)
        parting = terminal.leave()
    assert terminal.raw.count("\x1b[22;0t") == parting.count("\x1b[23;0t") == 1


def test_clear_opens_another_team_on_the_same_terminal(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        terminal.type("good morning\r")
        terminal.see("I am here.")
        terminal.type("/clear\r")
        terminal.see("To continue, run: deskmate --team main")
        terminal.see("main-2")
        terminal.type("good evening\r")
        terminal.until(lambda: terminal.raw.count("I am here.") >= 2)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert terminal.modes == terminal.found
    assert place.teams == ["main", "main-2"]


def test_alt_and_enter_start_a_new_line(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        terminal.type("one\x1b\rtwo")
        terminal.see("two")
        terminal.type("\r")
        terminal.see("I am here.")
        terminal.leave()
    assert '"one\\ntwo"' in next(Path(place.env["HOME"]).rglob("history.jsonl")).read_text()


def test_what_is_typed_while_the_screen_starts_is_kept(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.type("early words")
        terminal.see("to lead")
        terminal.see("early words")
        terminal.type("\r")
        terminal.see("I am here.")
        terminal.leave()
    assert "early words" in next(Path(place.env["HOME"]).rglob("history.jsonl")).read_text()


def test_a_text_is_written_in_the_editor_of_the_user(place: ChatProgram, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "in the editor"\nprintf " and more" >> "$1"\n')
    editor.chmod(0o755)
    with AtScreen(place, VISUAL=str(editor)) as terminal:
        terminal.see("to lead")
        terminal.type("some words\x07")
        terminal.see("in the editor")
        terminal.see("and more")
        terminal.type("\r")
        terminal.see("I am here.")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert '"some words and more"' in next(Path(place.env["HOME"]).rglob("history.jsonl")).read_text()


def test_words_are_typed_answered_and_left_with_a_way_back(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        terminal.type("good morning\r")
        terminal.see("I am here.")
        parting = terminal.leave()
    assert "team main: 1 model call, $" in parting
    assert "To continue, run: deskmate --team main" in parting
    with AtScreen(place, "--team", "main") as terminal:
        terminal.see("good morning")
        terminal.see("I am here.")
        terminal.type("\x1b[A")
        terminal.until(lambda: terminal.raw.count("good morning") > 1)
        # What was brought back is dropped first.
        terminal.type("\x03\x03\x03")
        terminal.left(0)
    assert place.teams == ["main"]


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_terminal_that_goes_away_ends_it_without_a_word(place: ChatProgram, handler: signal.Handlers) -> None:
    def begin() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, handler)

    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    at_work = subprocess.Popen(
        [sys.executable, "-m", "deskmate", "sleep a while", "--permission-mode", "bypass"],
        cwd=place.folder,
        env={**place.env, "TERM": "xterm-256color"},
        stdin=far,
        stdout=far,
        stderr=far,
        start_new_session=True,
        preexec_fn=begin,
    )
    os.close(far)
    try:
        seen = b""
        while b"sleep 60" not in seen:
            assert select.select([near], [], [], SECONDS)[0], seen
            seen += os.read(near, 65536)
        os.close(near)
        assert at_work.wait(SECONDS) == 130
    finally:
        at_work.kill()
        at_work.wait()
    assert list(place.folder.parent.rglob("error.log")) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_in_good_order_and_names_who_was_busy(place: ChatProgram, number: signal.Signals) -> None:
    with AtScreen(place, "sleep a while", "--permission-mode", "bypass") as terminal:
        terminal.see("sleep 60")
        terminal.signal(number)
        parting = terminal.left(130)
    assert "lead was stopped while busy.\r\nTo continue, run: deskmate --team main" in parting
    assert "deskmate: interrupted" in parting


def test_what_breaks_while_it_is_played_is_one_sentence_below_a_whole_terminal(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        roster = place.folder / ".teams/main/roster.jsonl"
        roster.write_bytes(b"")
        terminal.type("good morning\r")
        told = terminal.left(3)
    assert re.search(r"deskmate: .*roster", told)
    assert "Traceback" not in terminal.raw


def test_without_a_key_nothing_is_opened(place: ChatProgram) -> None:
    with AtScreen(place, ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="") as terminal:
        assert terminal.end() == 2
        assert ENTERED not in terminal.raw
    assert place.teams == []


def test_no_colour_is_used_where_none_is_wanted(place: ChatProgram) -> None:
    with AtScreen(place, NO_COLOR="1") as terminal:
        terminal.see("to lead")
        terminal.type("good morning\r")
        terminal.see("I am here.")
        terminal.leave()
    assert _COLOUR.findall(terminal.raw) == []
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        terminal.leave()
    assert _COLOUR.findall(terminal.raw) != []


@pytest.mark.anyio
async def test_what_is_logged_by_any_thread_is_a_note_on_the_screen(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 24)) as screen:
        with noting(screen.app.note):
            logging.getLogger("deskmate.odd").warning("left out: %s", "one\x1b[2J two")
            await anyio.to_thread.run_sync(logging.getLogger("deskmate.odd").error, "from afar")
            thread = threading.Thread(target=logging.getLogger("deskmate.odd").warning, args=("from another",))
            thread.start()
            thread.join()
            await screen.sees("warning: left out: one two", "error: from afar", "warning: from another")
