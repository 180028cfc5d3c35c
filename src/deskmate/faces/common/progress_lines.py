"""What a team does, one line each.

On a terminal there is also one live line. It shows what is being said or done right now, and the next line overwrites
it.
"""

import os
import textwrap
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import assert_never

import click

from deskmate.app import Arrived, Changed, Printed, Recorded, Seated, Streamed, TeamEvent, TeamStarted
from deskmate.core.agent.entries import Entry, Said
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.team.status import Idle, Parked, Working
from deskmate.faces.common.command_start import can_draw
from deskmate.faces.common.items import transcript_items as items
from deskmate.faces.common.items.call_summaries import retry_line
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.member_items import status_text
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.terminal_text import clean, cut, gist, one_line
from deskmate.faces.common.text_tables import CleanLine, Sheet

PIPE_CELLS = 200
_LEAST_CELLS = 20
_ERASE = "\r\x1b[K"


class Progress:
    """Print what happens, with live lines only while the reader keeps up. It neither waits nor raises.

    `cells`: returns the width of a line. It is called before each line, since people resize their windows.
    """

    def __init__(self, output_stream: OutputStream, *, terminal: bool, colour: bool, cells: Callable[[], int]) -> None:
        self._output_stream, self._terminal, self._colour, self._cells = output_stream, terminal, colour, cells
        self._reader = EntryReader()
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
                # The lead's text without calls is the answer, and that goes to stdout.
                is_answer = member == LEAD and isinstance(entry, Said) and not entry.calls
                self.hear_entry(member, number, entry, words=not is_answer)
            case Changed(member, Parked(reason)):
                self._show_whole(member, f"stopped: {reason}")
            case Changed(member, status):
                # Every step passes through working and idle, so they only go on the live line.
                show = self._show_live if isinstance(status, Working | Idle) else self._show
                show(member, status_text(status))
            case Arrived(member, sender):
                self._show_live(member, f"message from {sender} waiting")
            case Printed(member, _, text):
                self._show_live(member, text.rstrip().rpartition("\n")[2])
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

    def hear_entry(self, member: str, number: int, entry: Entry, *, words: bool = True) -> None:
        """Print the items of an entry that are worth a line. Without `words`, what the member said is not printed."""
        if isinstance(entry, Said):
            self._words.pop(member, None)
        for item in self._reader.read(member, number, entry):
            if words or not isinstance(item, items.WordsItem):
                self._hear_item(member, item)

    def _hear_item(self, member: str, item: items.TranscriptItem) -> None:
        match item:
            case items.WordsItem():
                self._show(member, gist(item.text))
            case items.CallItem():
                self._hear_call(member, item)
            case items.TakenTaskItem() | items.NoticeItem(minor=False):
                self._show(member, f"{item.title}: {gist(item.text)}" if item.text.strip() else item.title)
            case items.SummaryItem():
                self._show(member, item.title)
            case MailItem() if item.labels:
                self._show(member, f"got {', '.join(item.labels)}")
            # Mail is the call of its sender, and the status says who is parked.
            case items.ThoughtItem() | MailItem() | items.NoticeItem() | items.ParkedItem():
                pass
            case unreachable:
                assert_never(unreachable)

    def _hear_call(self, member: str, call: items.CallItem) -> None:
        match call.state:
            case items.CallState.RUNNING:
                self._show(member, call.title)
            case items.CallState.DONE if call.tells_end:
                self._show(member, call.title)
            case items.CallState.FAILED:
                # Keep half of the line for the reason: a long command must not push it out.
                label = call.title if call.tells_end else f"{cut(one_line(call.title), self._cells() // 2)} failed"
                self._show(member, f"{label}: {call.failure}")
            case items.CallState.SAID | items.CallState.ASKED | items.CallState.DONE:
                pass
            case unreachable:
                assert_never(unreachable)

    def _show(self, member: str, text: str) -> None:
        self._write(f"{self._line(member, text)}\n")

    def _show_whole(self, member: str, text: str) -> None:
        """Print a text that must not be cut. In a window it is wrapped, in a pipe it is one line."""
        line = f"{one_line(f'[{self._with_team(member)}]')} {one_line(text)}"
        cells = self._cells()
        wrapped = textwrap.wrap(line, max(cells - 1, _LEAST_CELLS), subsequent_indent="  ")
        self.note(line if cells == PIPE_CELLS else "\n".join(wrapped))

    def _show_live(self, member: str, text: str) -> None:
        if self._terminal and text and not self._output_stream.behind:
            self._write(self._line(member, text), live=True)

    def _with_team(self, member: str) -> str:
        return member if "@" in member else f"{member}{self._team}"

    def _line(self, member: str, text: str) -> str:
        name = one_line(f"[{self._with_team(member)}]")
        # Leave one cell free: on some terminals a cursor after the last cell wraps, and then the line is not erased.
        rest = cut(one_line(text), max(self._cells() - len(name) - 2, 1))
        return f"{click.style(name, fg=self._colours.get(member.partition('@')[0])) if self._colour else name} {rest}"

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
