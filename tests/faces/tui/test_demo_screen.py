"""The demo on a screen: in a terminal of its own, answered by a key, killed, resumed, left with a key."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.faces.tui.questions.answer_guard import UNSEEN_SECONDS
from tests.faces.fake_app import environment

SECONDS = 60


class Watcher:
    """Who sits at the terminal of a demo."""

    def __init__(self, place: Path, *words: str) -> None:
        for name in ("tmp", "home"):
            (place / name).mkdir()
        self.seen = b""
        self._near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        env = {**environment(place / "home", TMPDIR=str(place / "tmp")), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deskmate", "demo", *words],
            cwd=place,
            env=env,
            stdin=far,
            stdout=far,
            stderr=far,
            start_new_session=True,
        )
        os.close(far)

    def sees(self, text: str) -> None:
        """Wait for a text."""
        end = time.monotonic() + SECONDS
        while text.encode() not in self.seen:
            assert time.monotonic() < end, self.seen[-4000:].decode(errors="replace")
            self._look(0.2)

    def reads(self, seconds: float) -> None:
        """Take one's time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._look(left)

    def press(self, keys: bytes) -> None:
        os.write(self._near, keys)

    def ended(self) -> int:
        """Return the exit code."""
        while self._look(SECONDS):
            pass
        return self.process.wait(SECONDS)

    def _look(self, seconds: float) -> bool:
        if not select.select([self._near], [], [], seconds)[0]:
            return False
        try:
            self.seen += (piece := os.read(self._near, 65536))
        except OSError:
            # Linux says so at the end of a terminal.
            return False
        return bool(piece)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._near)


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Watcher]:
    watcher = Watcher(tmp_path, "--fast")
    yield watcher
    watcher.close()


@pytest.mark.behaviour("demo", "tui", "resume")
def test_it_is_killed_comes_back_on_a_new_screen_and_the_end_is_told_after_the_screen(fast: Watcher) -> None:
    fast.sees("may I use")
    fast.sees("$ ")
    fast.sees("Killed")
    # The terminal of the screen that was killed is a plain one again.
    assert b"\x1b[?1049l" in fast.seen
    # What the second screen says of the kill may have scrolled away before it is drawn: this demo is fast.
    fast.sees("$ ")
    fast.sees("That was the demo")
    fast.press(b"q")
    assert fast.ended() == 0
    page = fast.seen.rpartition(b"\x1b[?1049l")[2]
    assert b"kill -9 ended process" in page
    assert b"run once more, pass:" in page
    assert b"Nothing was lost" in page
    assert b"Nothing was done twice" in page


@pytest.mark.behaviour("demo", "tui")
def test_a_question_is_answered_with_a_key(fast: Watcher) -> None:
    fast.sees("may I use")
    # The question takes the keys by itself. What has just come to the front is not answered by a key that was meant for
    # something else.
    fast.reads(4 * UNSEEN_SECONDS)
    fast.press(b"1")
    fast.sees("Killed")
    assert b"Nobody answered" not in fast.seen


@pytest.mark.behaviour("demo", "tui")
def test_ended_in_the_middle_it_leaves_the_terminal_and_says_where_what_there_is_lies(fast: Watcher) -> None:
    fast.sees("may I use")
    fast.process.send_signal(signal.SIGTERM)
    assert fast.ended() == 130
    after = fast.seen.rpartition(b"\x1b[?1049l")[2]
    assert b"The files are in" in after
