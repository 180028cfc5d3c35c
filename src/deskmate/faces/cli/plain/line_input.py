"""Lines from a keyboard or a pipe.

Reading may block forever, so it is done in a daemon thread, which ends with the process.
"""

import asyncio
import ctypes
import io
import os
import re
import readline
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TextIO

from deskmate.app import GOAL_CAP
from deskmate.errors import Refused
from deskmate.faces.common.output_stream import PATIENCE_SECONDS, OutputStream
from deskmate.faces.common.terminal_text import clean, width

PROMPT, MORE = "> ", ". "
# In order: move down one row, scrolling at the end of the screen, save the cursor, restore the cursor.
_DOWN, _SAVE, _BACK = "\x1bD", "\x1b7", "\x1b8"
_NEXT = "\r\n"
# The size readline assumes if the terminal reports none.
_COLUMNS, _ROWS = 80, 24
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Typed:
    """Texts as they are typed. `read` returns the next line, or None at the end. It may block forever."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._asked: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[str | None]]] = SimpleQueue()
        self.thread = threading.Thread(target=self._keep_reading, daemon=True)
        self.thread.start()

    async def next(self) -> str | None:
        """Return the next text, or None at the end. A line that ends in a backslash continues on the next.

        Raises Refused if stdin cannot be read.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()
        self._asked.put((loop, answer))
        return await answer

    def _keep_reading(self) -> None:
        while True:
            loop, answer = self._asked.get()
            try:
                text, trouble = _text(self._read), None
            except OSError as error:
                text, trouble = None, error
            # The event loop that asked may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, answer, text, trouble)


def _text(read: Callable[[str], str | None]) -> str | None:
    text = read(PROMPT)
    while text is not None and text.endswith("\\"):
        more = read(MORE)
        text = f"{text[:-1]}\n{more}" if more is not None else text[:-1]
    return text


def _settle(answer: "asyncio.Future[str | None]", text: str | None, trouble: OSError | None) -> None:
    if answer.done():
        return
    if trouble is None:
        answer.set_result(text)
    else:
        answer.set_exception(_unreadable(trouble))


def _unreadable(trouble: OSError) -> Refused:
    return Refused(f"Cannot read stdin: {trouble.strerror}", "Connect it to a terminal, a file or a pipe.")


def piped(_: str) -> str | None:
    """Return the next line of stdin. A line too long for a message is cut, but stays long enough to be refused."""
    line = piece = sys.stdin.buffer.readline(GOAL_CAP)
    while piece and not piece.endswith(b"\n"):
        piece = sys.stdin.buffer.readline(GOAL_CAP)
        line = (line + piece)[: 2 * GOAL_CAP]
    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


def first_piped() -> str:
    """Return the first text of stdin that is not blank. Raises Refused if there is none."""
    try:
        while (text := _text(piped)) is not None:
            if text.strip():
                return text
    except OSError as error:
        raise _unreadable(error) from error
    raise Refused("stdin is empty, so there is no message", 'Pipe text in, or type it: deskmate "TEXT"')


class Keyboard(OutputStream):
    """A terminal for typing and printing at the same time. Printed lines go above the prompt."""

    def __init__(self, screen: TextIO, commands: Iterable[str]) -> None:
        super().__init__(screen)
        self._commands = tuple(commands)
        self._names: Callable[[], Iterable[str]] = tuple
        self._typing = self._over = False
        self._prompt = ""
        # Set while readline is not about to change the terminal modes.
        self._steady = threading.Event()
        self._steady.set()
        self._turn_to_read = threading.RLock()
        self._found = termios.tcgetattr(self.number)
        self._point = _point()

    @property
    def size(self) -> tuple[int, int]:
        """The number of columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self.number)
        except OSError:
            # The terminal was closed in the meantime.
            columns = rows = 0
        return columns or _COLUMNS, rows or _ROWS

    @contextmanager
    def open(self, past: Iterable[str], names: Callable[[], Iterable[str]]) -> Iterator[Typed]:
        """Let the user type, with earlier texts in the history. The terminal is restored at the end.

        `names`: returns the completions after an @. It is called from another thread.
        """
        self._names = names
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        # The caller decides which texts are worth keeping.
        readline.set_auto_history(False)
        for text in past:
            self.remember(text)
        readline.set_completer_delims(" \n")
        readline.set_completer(self._complete)
        readline.set_startup_hook(self._steady.set)
        for setting in ("tab: complete", "set enable-bracketed-paste on"):
            readline.parse_and_bind(setting)
        termios.tcsetattr(self.number, termios.TCSANOW, _without_marks(self._found))
        try:
            yield Typed(self._read)
        finally:
            self.restore()

    def put(self, text: str) -> None:
        """Print whole lines, above the prompt if there is one."""
        if not self._typing:
            super().put(text)
            return
        columns, rows = self.size
        before, behind = self._rows_typed(columns)
        for part in _parts(text, columns, max(rows - before - behind - 2, 1)):
            super().put(_above(part, columns, before, behind))

    def remember(self, text: str) -> None:
        """Add a text to the history."""
        readline.add_history(clean(text))

    def restore(self) -> None:
        """Restore the terminal and remove the prompt. Safe to call from a signal handler."""
        with self._turn_to_read:
            self._over = True
        self._steady.wait(PATIENCE_SECONDS)
        if self._typing:
            self._typing = False
            before, _ = self._rows_typed(self.size[0])
            with suppress(OSError):
                os.write(self.number, f"{_up(before)}\r\x1b[J\x1b[?2004l".encode())
        self._set_as_found()

    def _set_as_found(self) -> None:
        # The terminal may no longer exist.
        with suppress(termios.error):
            termios.tcsetattr(self.number, termios.TCSANOW, self._found)

    def _read(self, prompt: str) -> str | None:
        self._prompt, self._typing = prompt, True
        # Output from before the prompt belongs above it.
        self.drain(PATIENCE_SECONDS)
        with self._turn_to_read:
            if self._over:
                return None
            self._steady.clear()
        try:
            return input(prompt)
        except EOFError:
            return None
        finally:
            self._typing = False
            # Enter was pressed while closing, so readline restored the modes that it found itself.
            if self._over:
                self._set_as_found()
            self._steady.set()

    def _rows_typed(self, columns: int) -> tuple[int, int]:
        """Return how many rows of the typed text are above the cursor's row, and how many below."""
        typed = os.fsencode(readline.get_line_buffer())
        # If the cursor position is unknown, assume the end.
        point = len(typed) if self._point is None else self._point.value
        before, whole = (_breaks(self._prompt + os.fsdecode(text), columns) for text in (typed[:point], typed))
        return before, whole - before

    def _complete(self, text: str, state: int) -> str | None:
        words = [f"/{name}" for name in self._commands] + [f"@{name}" for name in self._names()]
        if readline.get_begidx():
            words = list(self._names()) if readline.get_line_buffer().startswith("/") else []
        fit = [f"{word} " for word in words if word.startswith(text)]
        return fit[state] if state < len(fit) else None


def _point() -> ctypes.c_int | None:
    """Return readline's count of bytes before the cursor, or None if it is not available.

    Python's readline module gives the typed line, but not the cursor position in it.
    """
    library = ctypes.CDLL(getattr(readline, "__file__", None))
    try:
        return ctypes.c_int.in_dll(library, "rl_point")
    except ValueError:
        return None


def _above(lines: list[str], columns: int, before: int, behind: int) -> str:
    """Return the output that puts lines above the typed rows and keeps the cursor where it is in them.

    `before`, `behind`: how many typed rows are above and below the cursor's row. This makes room at the end of the
    screen, then moves everything from the first typed row down.
    """
    rows = sum(_rows(line, columns) for line in lines)
    made = f"{_down(behind)}{_DOWN * rows}{_up(rows + before + behind)}{_SAVE}\x1b[{rows}L\r"
    return f"{made}{_NEXT.join(lines)}{_BACK}{_down(rows + before)}"


def _without_marks(modes: list[Any]) -> list[Any]:
    """Return terminal modes in which signal keys such as Ctrl-C are not echoed."""
    return [*modes[:3], modes[3] & ~termios.ECHOCTL, *modes[4:]]


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""


def _down(rows: int) -> str:
    return f"\x1b[{rows}B" if rows else ""


def _breaks(text: str, columns: int) -> int:
    """Return how many rows a typed text takes beyond its first."""
    lines = text.split("\n")
    return len(lines) - 1 + sum(width(line) // columns for line in lines)


def _parts(text: str, columns: int, most: int) -> Iterator[list[str]]:
    """Yield the lines of a text in groups that take at most `most` rows each."""
    part: list[str] = []
    taken = 0
    lines = text.expandtabs().split("\n")[: -1 if text.endswith("\n") else None]
    for line in (piece for whole in lines for piece in _pieces(whole, columns, most)):
        rows = _rows(line, columns)
        if part and taken + rows > most:
            yield part
            part, taken = [], 0
        part.append(line)
        taken += rows
    if part:
        yield part


def _pieces(line: str, columns: int, most: int) -> Iterator[str]:
    """Yield a line, split if it takes more than `most` rows."""
    while _rows(line, columns) > most:
        # No character takes more than two cells.
        end = columns * most // 2
        yield line[:end]
        line = line[end:]
    yield line


def _rows(line: str, columns: int) -> int:
    """Return how many rows a line takes. Colour codes take no space."""
    return max(1, -(-width(_COLOURS.sub("", line)) // columns))
