"""What a team does, one line each.

On a terminal there is also one live line. It shows what is being said or done right now, and the next line overwrites
it.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias, assert_never

import click

from deskmate.app import (
    Arrived,
    CallDelta,
    Changed,
    Delta,
    Entry,
    Idle,
    Recorded,
    RetryDelta,
    Seated,
    Streamed,
    TeamEvent,
    TeamStarted,
    TextDelta,
    ThinkingDelta,
    Working,
)
from deskmate.faces.common.call_summaries import begun, call_label, ends, reason
from deskmate.faces.common.command_start import can_draw
from deskmate.faces.common.listings import status_text
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.terminal_text import clean, cut, gist, one_line
from deskmate.faces.common.text_tables import CleanLine, Sheet

PIPE_CELLS = 200
_Call: TypeAlias = tuple[str, Mapping[str, object]]
_ERASE = "\r\x1b[K"


class Progress:
    """Print what happens, with live lines only while the reader keeps up. It neither waits nor raises.

    `cells`: returns the width of a line. It is called before each line, since people resize their windows.
    """

    def __init__(self, output_stream: OutputStream, *, terminal: bool, colour: bool, cells: Callable[[], int]) -> None:
        self._output_stream, self._terminal, self._colour, self._cells = output_stream, terminal, colour, cells
        self._calls: dict[str, _Call] = {}
        self._colours: dict[str, str] = {}
        self._team = ""
        self._words: dict[str, str] = {}
        self._live = False
        # Log messages may come from other threads.
        self._turn = threading.Lock()

    def hear(self, event: TeamEvent) -> None:
        """Print an event if it is worth a line."""
        match event:
            case Streamed(member, delta):
                self._hear_delta(member, delta)
            case Recorded(member, number, entry):
                self._hear_entry(member, number, entry)
            case Changed(member, status):
                # Every step passes through working and idle, so they only go on the live line.
                show = self._show_live if isinstance(status, Working | Idle) else self._show
                show(member, status_text(status))
            case Arrived(member, sender):
                self._show_live(member, f"message from {sender} waiting")
            case Seated(member, colour):
                self._colours[member] = colour
            case TeamStarted(team):
                self._team = f"@{team}"
            case unreachable:
                assert_never(unreachable)

    def note(self, text: str) -> None:
        """Print a text of the program's own, of any length. Safe to call from any thread."""
        self._write(f"{clean(text)}\n")

    def put(self, lines: Iterable[CleanLine]) -> None:
        """Print cleaned lines unchanged, with names in their colours."""
        sheet = Sheet(None, colour=self._colour)
        self._write("".join(f"{sheet.painted(line)}\n" for line in lines))

    def close(self) -> None:
        """Erase the live line, if there is one."""
        self._write("")

    def _hear_delta(self, member: str, delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                self._words[member] = (self._words.get(member, "") + text)[-4 * PIPE_CELLS :]
                lines = filter(None, map(one_line, reversed(self._words[member].splitlines())))
                self._show_live(member, next(lines, ""))
            case ThinkingDelta():
                self._show_live(member, "thinking")
            case CallDelta(tool):
                self._show_live(member, tool)
            case RetryDelta(seconds, reason, model):
                self._words.pop(member, None)
                self._show(member, retry_line(seconds, reason, model))
            case unreachable:
                assert_never(unreachable)

    def _hear_entry(self, member: str, number: int, entry: Entry) -> None:
        # Most entries show nothing: the status or another entry reports them.
        if entry.type == "said":
            self._words.pop(member, None)
            for index, call in enumerate(entry.calls):
                self._calls[f"{member}:{number}.{index}"] = (call.tool, call.arguments)
            # The lead's text without calls is the answer, and that goes to stdout.
            if (entry.calls or member != "lead") and entry.text.strip():
                self._show(member, gist(entry.text))
        elif entry.type == "began":
            for id_ in entry.calls:
                said = self._calls.get(id_)
                self._show(member, begun(*said) if said else id_)
        elif entry.type == "did":
            self._hear_end(member, self._calls.pop(entry.call, None), entry.text, ok=entry.ok)
        elif entry.type == "took":
            self._show(member, gist(entry.shown))
        elif entry.type == "nudged":
            self._show(member, gist(entry.text))
        elif entry.type == "ended":
            self._show(member, f"{entry.background} ended: {entry.status}")
        elif entry.type == "compacted":
            self._show(member, "made room: a summary replaces everything before")
        elif entry.type == "heard":
            for damage in entry.damage:
                self._show(member, f"could not read mail: {damage}")

    def _hear_end(self, member: str, call: _Call | None, text: str, *, ok: bool) -> None:
        told = ends(*call) if call else None
        if ok and told:
            self._show(member, told[0])
        elif not ok:
            # Keep half of the line for the reason: a long command must not push it out.
            label = cut(one_line(call_label(*call)), self._cells() // 2) if call else "an earlier call"
            self._show(member, f"{told[1] if told else f'{label} failed'}: {reason(text)}")

    def _show(self, member: str, text: str) -> None:
        self._write(f"{self._line(member, text)}\n")

    def _show_live(self, member: str, text: str) -> None:
        if self._terminal and text and not self._output_stream.behind:
            self._write(self._line(member, text), live=True)

    def _line(self, member: str, text: str) -> str:
        name = one_line(f"[{member}{self._team}]")
        # Leave one cell free: on some terminals a cursor after the last cell wraps, and then the line is not erased.
        rest = cut(one_line(text), max(self._cells() - len(name) - 2, 1))
        return f"{click.style(name, fg=self._colours.get(member)) if self._colour else name} {rest}"

    def _write(self, text: str, *, live: bool = False) -> None:
        with self._turn:
            self._output_stream.put(f"{_ERASE if self._live else ''}{text}")
            self._live = live


def progress_on(output_stream: OutputStream, *, colour: bool) -> Progress:
    """Return a Progress for an output stream: coloured, live and as wide as the window only on a terminal."""
    terminal = can_draw() and os.isatty(output_stream.number)
    return Progress(
        output_stream, terminal=terminal, colour=terminal and colour, cells=partial(cells_of, output_stream.number)
    )


def cells_of(number: int) -> int:
    """Return how many cells a line has on this descriptor."""
    try:
        return os.get_terminal_size(number).columns or PIPE_CELLS
    except OSError:
        # Not a terminal, or one that was closed in the meantime.
        return PIPE_CELLS


def retry_line(seconds: float, reason: str, model: str) -> str:
    """Return a line saying that a model is asked again, and when. The model is named only once."""
    if not seconds:
        return f"asking {model} instead: {reason}"
    when = f"in {seconds:.0f} s" if seconds >= 1 else "in less than 1 s"
    return f"{reason}. Trying again {when}" if model in reason else f"trying {model} again {when}: {reason}"
