"""The demo: a team in a process of its own, which is killed with SIGKILL in the middle and resumed.

`demo_act` is that process. This one starts it, kills it, starts it again, and says at the end what is left.
"""

import os
import signal
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

from deskmate.app import environment, wants_colour
from deskmate.app.demo_team import prepare
from deskmate.faces.cli.demo_page import Records, last_page
from deskmate.faces.common.exit_codes import INTERRUPTED
from deskmate.faces.common.progress_lines import cells_of

RED = 1
INTRODUCTION = (
    "A team moves a small library service from REST to GraphQL. Halfway, the demo kills the team with kill -9. "
    "The models' words are scripted, so it needs no key and no network. "
    "Everything else is real: files, tests, tasks, mail, plans, questions, the kill."
)
_MOST_CELLS = 100
# Long enough to see that a command runs.
_LAST_GLANCE_SECONDS = 0.2
_TYPING_SECONDS = 0.04
_READING_SECONDS = 1.8
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Everything that a screen which was killed has switched on and not off again.
_PLAIN_TERMINAL = (
    *(f"\x1b[?{mode}l" for mode in (2026, 1000, 1002, 1003, 1015, 1006, 1016, 1004, 2004, 2048)),
    *("\x1b[<u", "\x1b[?1049l", "\x1b[?25h", "\x1b[?7h", "\x1b[0m"),
)


def carry_out(*, fast: bool, on_screen: bool) -> int:
    """Play the demo. Return 0 only if the application's own tests pass at the end. Raises DeskmateError."""
    folder = prepare()
    stage = _Stage(folder, fast=fast, on_screen=on_screen)
    if not on_screen:
        cells = min(cells_of(sys.stderr.fileno()), _MOST_CELLS)
        stage.tell(f"{textwrap.fill(INTRODUCTION, cells)}\nThe folder is {folder}\n")
    first = stage.play(None)
    records = Records.of(folder)
    last = first
    if first.is_killed:
        stage.show_kill(first, records)
        last = stage.play(first.pid)
    if last.code:
        stage.tell(f"{'deskmate: interrupted' if last.code == INTERRUPTED else ''}\nThe files are in {folder}".lstrip())
        return last.code
    page = last_page(folder, records, (first.pid, last.pid) if first.is_killed else None)
    print("\n".join(("", *(_wrapped(line, cells_of(sys.stdout.fileno())) for line in page.lines))))
    return 0 if page.passed else RED


def _wrapped(line: str, cells: int) -> str:
    """Return a line of the last page, wrapped if it is a sentence. A command must stay on one line."""
    indent = line[: len(line) - len(line.lstrip())]
    if len(line) <= cells or line.startswith(("  cd ", "  export ")):
        return line
    return textwrap.fill(line, cells, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True, slots=True)
class _Played:
    """An act that is over: its process, and how that ended."""

    pid: int
    code: int

    @property
    def is_killed(self) -> bool:
        return self.code == -signal.SIGKILL


class _Stage:
    """Where the acts are played."""

    def __init__(self, folder: Path, *, fast: bool, on_screen: bool) -> None:
        self._folder, self._fast, self._on_screen = folder, fast, on_screen

    def play(self, killed: int | None) -> _Played:
        """Play an act, and kill its process if it gives the cue. `killed`: the process of the act before."""
        near, far = os.pipe()
        process = subprocess.Popen(self._command(far, killed), pass_fds=[far])
        os.close(far)
        with open(near, "rb", buffering=0) as cue, _in_good_order(process), self._terminal():
            if cue.read(1):
                self._pause(_LAST_GLANCE_SECONDS)
                process.kill()
            return _Played(process.pid, process.wait())

    def _command(self, cue: int, killed: int | None) -> list[str]:
        command = [sys.executable, "-P", "-m", "deskmate", "-C", str(self._folder), "demo-act"]
        command += ["--cue", str(cue)] if killed is None else ["--killed", str(killed)]
        command += ["--fast"] if self._fast else []
        return [*command, "--tui"] if self._on_screen else command

    @contextmanager
    def _terminal(self) -> Iterator[None]:
        """Leave the terminal as it was, even after a process that could not do that itself."""
        if not self._on_screen:
            yield
            return
        before = termios.tcgetattr(sys.stdin)
        try:
            yield
        finally:
            # A terminal that was closed meanwhile needs nothing any more.
            with suppress(OSError, termios.error):
                sys.stderr.write("".join(_PLAIN_TERMINAL))
                sys.stderr.flush()
                # What was typed to a screen is not meant for a shell.
                termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)

    def show_kill(self, killed: _Played, records: Records) -> None:
        """Say what just happened, and what happens next."""
        self._type(f"kill -9 {killed.pid}", "red")
        self._pause(_READING_SECONDS / 3)
        self.tell("Killed\n")
        screen = "the screen, " if self._on_screen else ""
        self.tell(
            f"That was everything: {screen}the lead and three teammates, in the middle of a test run.\n"
            f"There was no chance to save anything. On disk there are {records.words}.\n"
        )
        self._pause(_READING_SECONDS)
        self._type("deskmate resume graphql", "green")
        self._pause(_READING_SECONDS / 3)

    def tell(self, words: str) -> None:
        """Print words of the demo itself."""
        print(words, file=sys.stderr, flush=True)

    def _type(self, words: str, colour: str) -> None:
        """Print a command as if somebody typed it."""
        colours = wants_colour(environment()) and sys.stderr.isatty()
        styled = [click.style(letter, fg=colour, bold=True) if colours else letter for letter in words]
        for piece in ("$ ", *styled, "\n"):
            sys.stderr.write(piece)
            sys.stderr.flush()
            if sys.stderr.isatty():
                self._pause(_TYPING_SECONDS)

    def _pause(self, seconds: float) -> None:
        if not self._fast:
            time.sleep(seconds)


@contextmanager
def _in_good_order(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Pass signals on to a process. It ends in good order, and so does this one then.

    A key pressed at a terminal reaches both by itself.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT or not _is_in_foreground():
            process.send_signal(number)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heeded = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in heeded:
        signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


def _is_in_foreground() -> bool:
    return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
