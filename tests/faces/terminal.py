"""A terminal to type at: the program at its far end, and a screen that obeys what it is sent, as far as it must."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from deskmate.faces.common.terminal_text import width
from tests.warm_program import begin_deskmate

SECONDS = 30
_CONTROL = re.compile(r"\x1b\][^\x07]*\x07|\x1b\[([?0-9;]*)([@-~])|\x1b([78DM=>])|([\r\n\b\x07])|([^\x1b])")


class Screen:
    """Rows of characters, those that take no cell left out. An order that it does not know is an error."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._saved = (0, 0)
        self._left = ""
        self.gone: list[str] = []

    @property
    def lines(self) -> list[str]:
        """All that was shown and is not erased, empty rows at the end left out."""
        shown = [*self.gone, *("".join(row).rstrip() for row in self._cells)]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    @property
    def cursor(self) -> tuple[str, int]:
        """The row that the cursor is in, and its column there."""
        return "".join(self._cells[self._row]).rstrip(), self._column

    def feed(self, text: str) -> None:
        """Obey a text."""
        text, self._left = self._left + text, ""
        place = 0
        while place < len(text):
            found = _CONTROL.match(text, place)
            if found is None:
                # The rest of an order is on its way.
                self._left = text[place:]
                assert len(self._left) < 20, f"no order that is known: {self._left!r}"
                return
            place = found.end()
            numbers, order, short, control, character = found.groups()
            if order:
                self._order(order, numbers)
            elif short or control:
                self._move(short or control)
            elif character:
                self._write(character)

    def _order(self, order: str, numbers: str) -> None:
        count = int(numbers or 1) if numbers.isdecimal() or not numbers else 1
        row = self._cells[self._row]
        match order:
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._row = min(self.rows - 1, self._row + count)
            case "C":
                self._column = min(self.columns - 1, self._column + count)
            case "D":
                self._column = max(0, self._column - count)
            case "K":
                row[self._column :] = [" "] * (self.columns - self._column)
            case "J":
                row[self._column :] = [" "] * (self.columns - self._column)
                for below in range(self._row + 1, self.rows):
                    self._cells[below] = [" "] * self.columns
            case "L":
                empty = [[" "] * self.columns for _ in range(count)]
                self._cells[self._row :] = [*empty, *self._cells[self._row :]][: self.rows - self._row]
            case "P":
                row[self._column :] = [*row[self._column + count :], *[" "] * count][: self.columns - self._column]
            case "@":
                row[self._column :] = [*[" "] * count, *row[self._column :]][: self.columns - self._column]
            case "m" | "h" | "l" | "t":
                pass
            case _:
                raise AssertionError(f"no order that is known: {numbers}{order}")

    def _move(self, control: str) -> None:
        match control:
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case "7":
                self._saved = (self._row, self._column)
            case "8":
                self._row, self._column = self._saved
            case "\n" | "D":
                self._down()

    def _down(self) -> None:
        if self._row < self.rows - 1:
            self._row += 1
            return
        self.gone.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([" "] * self.columns)

    def _write(self, character: str) -> None:
        cells = width(character)
        if self._column + cells > self.columns:
            self._column = 0
            self._down()
        if cells:
            self._cells[self._row][self._column : self._column + cells] = [character, *[""] * (cells - 1)]
        self._column += cells


class Terminal:
    """The program at a terminal of its own, typed at by a test. It does not outlive the context."""

    def __init__(
        self,
        args: list[str],
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int],
        told: tuple[int, int],
        *,
        warm: bool = True,
    ) -> None:
        columns, rows = size
        self.screen, self.raw, self._ended = Screen(columns, rows), "", False
        self.near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", told[1], told[0], 0, 0))
        self.found = termios.tcgetattr(far)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        begin = begin_deskmate if warm else _begin_cold
        self.process = begin(
            args, folder=cwd, env={**env, "INPUTRC": "/dev/null"}, files=(far, far, far), terminal=True
        )
        # Kept by nobody but the program, it ends with it.
        os.close(far)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.near)

    @property
    def modes(self) -> list[Any]:
        """How the terminal is set now."""
        return termios.tcgetattr(self.near)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.near, keys.encode())

    def say(self, text: str) -> None:
        """Type a text and Enter once there is a prompt."""
        self.prompted()
        self.type(f"{text}\r")

    def prompted(self) -> None:
        """Wait for a prompt with nothing typed behind it."""
        self.cursor_in(">", 2)

    def cursor_in(self, row: str, column: int) -> None:
        """Wait until the cursor is in a row that reads so, at a column."""
        self.until(lambda: self.screen.cursor == (row, column))

    def until(self, holds: Callable[[], bool]) -> None:
        """Show what comes until something holds, bounded."""
        end = time.monotonic() + SECONDS
        while not holds():
            # Of a program that has ended, nothing more comes.
            is_late = self._ended or time.monotonic() > end
            assert not is_late, "\n".join(["this was never seen; the screen:", *self.screen.lines])
            self._take_in(0.2)

    def see(self, text: str) -> None:
        """Wait for a text on the screen."""
        self.until(lambda: any(text in line for line in self.screen.lines))

    def end(self) -> int:
        """Wait for the end, show all that came; return the exit code."""
        self.until(lambda: self._ended)
        return self.process.wait(SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self.process.send_signal(number)

    def _take_in(self, seconds: float) -> None:
        if not select.select([self.near], [], [], seconds)[0]:
            return
        try:
            text = self._decoder.decode(os.read(self.near, 65536))
        except OSError:
            # How Linux tells that nobody holds the far end any more.
            self._ended = True
            return
        self._ended = not text
        self.raw += text
        self.screen.feed(text)


def _begin_cold(
    args: Sequence[str], *, folder: Path, env: Mapping[str, str], files: tuple[int, int, int], terminal: bool
) -> "subprocess.Popen[bytes]":
    """Begin `python -m deskmate`, as `begin_deskmate` would begin a fork."""
    stdin, stdout, stderr = files
    return subprocess.Popen(
        [sys.executable, "-m", "deskmate", *args],
        cwd=folder,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=terminal,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )


@contextmanager
def at_terminal(
    *args: str,
    cwd: Path,
    env: Mapping[str, str],
    columns: int = 100,
    rows: int = 30,
    told: tuple[int, int] | None = None,
    term: str = "xterm",
    warm: bool = True,
) -> Iterator[Terminal]:
    """Have the program at a terminal. `told`: the size that the terminal tells, where that is not its own.

    `warm`: begin a fork of the warm process. Without it, Python itself starts.
    """
    size = (columns, rows)
    with Terminal(list(args), cwd, {**env, "TERM": term}, size, told or size, warm=warm) as terminal:
        yield terminal
