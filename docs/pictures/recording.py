"""A program recorded in a terminal: what its screen showed, and when."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeAlias

import pyte

# A terminal in memory does not know these, and would print them.
_UNKNOWN = re.compile(r"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")
_SWITCH = re.compile(r"\x1b\[\?1049([hl])")
# What a terminal shows within this time becomes one frame.
_FRAME_SECONDS = 0.2
_MOST_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Style:
    """How a cell is drawn. Colours are names of pyte, or six hexadecimal digits."""

    fg: str = "default"
    bg: str = "default"
    bold: bool = False
    italic: bool = False


# Text from a column on, in one style.
Run: TypeAlias = tuple[int, str, Style]


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, row by row, from a time on."""

    seconds: float
    rows: tuple[tuple[Run, ...], ...]

    def shows(self, words: str) -> bool:
        """Return whether words are on it."""
        return any(words in "".join(text for _, text, _ in row) for row in self.rows)


class Terminal:
    """A terminal in memory, with the second screen that full-screen programs switch to."""

    def __init__(self, columns: int, rows: int) -> None:
        self._main, self._other = pyte.Screen(columns, rows), pyte.Screen(columns, rows)
        self._streams = {screen: pyte.Stream(screen) for screen in (self._main, self._other)}
        self._shown = self._main
        self._left = ""

    def feed(self, text: str) -> None:
        """Obey what a program wrote."""
        text = self._left + text
        cut = text.rfind("\x1b", max(0, len(text) - 32))
        # The rest of an order may be on its way.
        text, self._left = (text[:cut], text[cut:]) if cut >= 0 and not _is_whole(text[cut:]) else (text, "")
        place = 0
        for switch in _SWITCH.finditer(text):
            self._obey(text[place : switch.start()])
            place = switch.end()
            self._shown = self._other if switch[1] == "h" else self._main
            if switch[1] == "h":
                self._other.reset()
        self._obey(text[place:])

    def _obey(self, text: str) -> None:
        self._streams[self._shown].feed(_UNKNOWN.sub("", text))

    def rows(self) -> tuple[tuple[Run, ...], ...]:
        """Return what is shown."""
        screen = self._shown
        return tuple(tuple(_runs(screen.buffer[number], screen.columns)) for number in range(screen.lines))


def _is_whole(order: str) -> bool:
    return re.match(r"\x1b(\[[?<>=0-9;$]*[@-~]|[^\[])", order) is not None


def _runs(row: Mapping[int, pyte.screens.Char], columns: int) -> Iterator[Run]:
    """Yield the runs of a row, without blank cells in the colour of the terminal."""
    cells, style = list[tuple[Style, str]](), Style()
    for column in range(columns):
        # The style of a blank cell cannot be seen, except its background, so it does not end a run.
        own = _style(row[column])
        style = style if not row[column].data.strip() and own.bg == style.bg else own
        cells.append((style, row[column].data))
    place = 0
    for style, group in groupby(cells, key=lambda cell: cell[0]):
        text = "".join(data for _, data in group)
        if text.strip() or style.bg != "default":
            yield place, text, style
        place += len(text)


def _style(char: pyte.screens.Char) -> Style:
    fg, bg = (char.bg, char.fg) if char.reverse else (char.fg, char.bg)
    return Style(fg, bg, char.bold, char.italics)


def record(
    command: Sequence[str], size: tuple[int, int], environ: Mapping[str, str], answers: Mapping[str, tuple[float, str]]
) -> list[Frame]:
    """Run a command in a terminal to its end, and return what it showed. Raises TimeoutError if it does not end.

    `answers`: what to type, how many seconds after which words are shown.
    """
    columns, rows = size
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(command, stdin=far, stdout=far, stderr=far, env=environ, start_new_session=True)
    os.close(far)
    terminal, frames = Terminal(columns, rows), list[Frame]()
    start, due, open_answers = time.monotonic(), dict[float, str](), dict(answers)
    while (text := _read(near)) is not None:
        terminal.feed(text)
        if (now := time.monotonic() - start) > _MOST_SECONDS:
            process.terminate()
            raise TimeoutError(f"{command[0]} did not end within {_MOST_SECONDS} s")
        shown = terminal.rows()
        if not frames or shown != frames[-1].rows:
            frames.append(Frame(now, shown))
        for words in [words for words in open_answers if frames[-1].shows(words)]:
            after, keys = open_answers.pop(words)
            due[now + after] = keys
        for at in [at for at in due if at <= now]:
            os.write(near, due.pop(at).encode())
    os.close(near)
    process.wait()
    return frames


def shortened(frames: Sequence[Frame], most: float, seconds: float) -> list[Frame]:
    """Return frames that follow each other within `most` seconds, and faster if they would take longer in all."""
    gaps = [min(later.seconds - frame.seconds, most) for frame, later in pairwise(frames)]
    rate = min(1.0, seconds / sum(gaps))
    return [Frame(rate * sum(gaps[:number]), frame.rows) for number, frame in enumerate(frames)]


def _read(terminal: int) -> str | None:
    """Return what was written within the time of a frame, or None at the end."""
    end, data = time.monotonic() + _FRAME_SECONDS, b""
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                data += os.read(terminal, 65536)
            except OSError:
                # So Linux says that nobody writes to it any more.
                return data.decode(errors="replace") if data else None
    return data.decode(errors="replace")
