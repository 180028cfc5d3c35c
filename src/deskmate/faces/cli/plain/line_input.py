"""Lines from a keyboard or a pipe.

`plain` asks for the next text. Whoever reads may wait for ever, so each reads in a thread of its own, which ends with
the process.
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

from deskmate import Refused
from deskmate.app import GOAL_CAP
from deskmate.faces.common.output_stream import PATIENCE_SECONDS, OutputStream
from deskmate.faces.common.terminal_text import clean, width

PROMPT, MORE = "> ", ". "
# One row down, the screen moved up where it ends; the place of the cursor kept, and gone back to.
_DOWN, _SAVE, _BACK = "\x1bD", "\x1b7", "\x1b8"
_NEXT = "\r\n"
# What readline takes where a terminal tells no size.
_COLUMNS, _ROWS = 80, 24
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Typed:
    """Texts as they are typed. `read` returns the next line, none at the end; it may wait for ever."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._asked: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[str | None]]] = SimpleQueue()
        self.thread = threading.Thread(target=self._keep_reading, daemon=True)
        self.thread.start()

    async def next(self) -> str | None:
        """Return the next text, none at the end. A line that ends in a backslash goes on with the next.

        Raises Refused where stdin cannot be read.
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
            # Who asked may be gone by now.
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
    return Refused(f"stdin cannot be read: {trouble.strerror}; give it a terminal, a file or a pipe")


def piped(_: str) -> str | None:
    """Return the next line of stdin. Of one that no message holds so much is kept that it is refused."""
    line = piece = sys.stdin.buffer.readline(GOAL_CAP)
    while piece and not piece.endswith(b"\n"):
        piece = sys.stdin.buffer.readline(GOAL_CAP)
        line = (line + piece)[: 2 * GOAL_CAP]
    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


def first_piped() -> str:
    """Return the first text of stdin that is more than white space; raise Refused where there is none."""
    try:
        while (text := _text(piped)) is not None:
            if text.strip():
                return text
    except OSError as error:
        raise _unreadable(error) from error
    raise Refused('there is nothing to say: stdin is empty; pipe words in, or type them: deskmate "WORDS"')


class Keyboard(OutputStream):
    """A terminal that is typed at while it is written to: what is put there, whole lines, goes above the prompt."""

    def __init__(self, screen: TextIO, commands: Iterable[str]) -> None:
        super().__init__(screen)
        self._commands = tuple(commands)
        self._names: Callable[[], Iterable[str]] = tuple
        self._typing = self._over = False
        self._prompt = ""
        # Set while readline is not about to change the modes of the terminal.
        self._steady = threading.Event()
        self._steady.set()
        self._turn_to_read = threading.RLock()
        self._found = termios.tcgetattr(self.number)
        self._point = _point()

    @property
    def size(self) -> tuple[int, int]:
        """How many columns and rows there are."""
        try:
            columns, rows = os.get_terminal_size(self.number)
        except OSError:
            # It was closed meanwhile.
            columns = rows = 0
        return columns or _COLUMNS, rows or _ROWS

    @contextmanager
    def open(self, past: Iterable[str], names: Callable[[], Iterable[str]]) -> Iterator[Typed]:
        """Let texts be typed, those of before a key away. The terminal is left as it was found.

        `names`: what completes behind an @. It is asked from another thread.
        """
        self._names = names
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        # Who asks for a text knows whether it is worth keeping.
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
        """Have whole lines written, above the prompt where there is one."""
        if not self._typing:
            super().put(text)
            return
        columns, rows = self.size
        before, behind = self._rows_typed(columns)
        for part in _parts(text, columns, max(rows - before - behind - 2, 1)):
            super().put(_above(part, columns, before, behind))

    def remember(self, text: str) -> None:
        """Have a text a key away from now on."""
        readline.add_history(clean(text))

    def restore(self) -> None:
        """Leave the terminal as it was found, without a prompt. A signal's handler may."""
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
        # The terminal may be gone.
        with suppress(termios.error):
            termios.tcsetattr(self.number, termios.TCSANOW, self._found)

    def _read(self, prompt: str) -> str | None:
        self._prompt, self._typing = prompt, True
        # What was put before there was a prompt stands above it.
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
            # Enter was pressed on the way out: readline has put back what it had found itself.
            if self._over:
                self._set_as_found()
            self._steady.set()

    def _rows_typed(self, columns: int) -> tuple[int, int]:
        """Return how many rows of what is typed stand above that of the cursor, and how many below it."""
        typed = os.fsencode(readline.get_line_buffer())
        # Where nobody tells where the cursor is, it is taken to be at the end.
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
    """Return where readline keeps how many bytes stand before the cursor; none where it does not say.

    Python hands on the line that is typed, and not the cursor's place in it.
    """
    library = ctypes.CDLL(getattr(readline, "__file__", None))
    try:
        return ctypes.c_int.in_dll(library, "rl_point")
    except ValueError:
        return None


def _above(lines: list[str], columns: int, before: int, behind: int) -> str:
    """Return what puts lines above the typed rows, and leaves the cursor where it is in them.

    `before`, `behind`: how many of these stand above and below the cursor's. Room is made at the end of the screen,
    then all from the first typed row on is moved down into it.
    """
    rows = sum(_rows(line, columns) for line in lines)
    made = f"{_down(behind)}{_DOWN * rows}{_up(rows + before + behind)}{_SAVE}\x1b[{rows}L\r"
    return f"{made}{_NEXT.join(lines)}{_BACK}{_down(rows + before)}"


def _without_marks(modes: list[Any]) -> list[Any]:
    """Return the modes of a terminal with no mark written where a key sends a signal."""
    return [*modes[:3], modes[3] & ~termios.ECHOCTL, *modes[4:]]


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""


def _down(rows: int) -> str:
    return f"\x1b[{rows}B" if rows else ""


def _breaks(text: str, columns: int) -> int:
    """Return how many rows a text that is typed takes beyond its first."""
    lines = text.split("\n")
    return len(lines) - 1 + sum(width(line) // columns for line in lines)


def _parts(text: str, columns: int, most: int) -> Iterator[list[str]]:
    """Yield the lines of a text, so many at a time that they take at most so many rows."""
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
    """Yield a line, in pieces where it takes more rows than there are."""
    while _rows(line, columns) > most:
        # No character takes more than two cells.
        end = columns * most // 2
        yield line[:end]
        line = line[end:]
    yield line


def _rows(line: str, columns: int) -> int:
    """Return how many rows a line takes; its colours take no place."""
    return max(1, -(-width(_COLOURS.sub("", line)) // columns))
