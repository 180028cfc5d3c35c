"""Rows in columns, at any width.

On a terminal, lines fit the window and are coloured unless NO_COLOR is set. In a pipe nothing is cut or coloured.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO, TypeAlias

import click

from deskmate.core.log.names import agent_id
from deskmate.faces.common.exit_codes import UNUSABLE
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.terminal_text import clean, cut, one_line, width

_GAP = "  "
_LEAST_CELLS = 8
# The damage reported per stream is already bounded. This bounds the total over many streams and teams.
_MOST_TOLD = 100


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a table. `colour`: the colour of the member it is about, if any."""

    text: str
    colour: str | None = None


# Cells side by side, all cleaned.
CleanLine: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where lines are printed. `cells`: its width, or None if the width does not matter."""

    cells: int | None
    colour: bool

    def table(self, rows: Sequence[Sequence[Cell | str]], *, gives: int, indent: str = "") -> list[str]:
        """Return rows as lines with aligned columns. The column `gives` is narrowed if the table is too wide."""
        return [self.painted(line) for line in self.lines(rows, gives=gives, indent=indent)]

    def lines(
        self, rows: Sequence[Sequence[Cell | str]], *, gives: int, indent: str = "", keeps: int | None = None
    ) -> list[CleanLine]:
        """Return rows as `table` does, but not painted. The column `keeps` stays even if all others must go."""
        cleaned = [[_cleaned(cell) for cell in row] for row in rows]
        widths = [max(width(cell.text) for cell in column) for column in zip(*cleaned, strict=True)]
        if self.cells is not None and widths:
            _fit(widths, self.cells - len(indent), gives, keeps)
        return [self._line(row, widths, indent) for row in cleaned]

    def name(self, name: str, team: str, colours: Mapping[str, str]) -> str:
        """Return a member's name as every screen shows it."""
        return self.paint(named(name, team, colours))

    def painted(self, line: CleanLine) -> str:
        """Return the text of a line, coloured if this sheet is."""
        return "".join(map(self.paint, line)).rstrip()

    def paint(self, cell: Cell) -> str:
        """Return the text of a cell, coloured if this sheet is."""
        return click.style(cell.text, fg=cell.colour) if self.colour and cell.colour else cell.text

    def _line(self, row: Sequence[Cell], widths: Sequence[int], indent: str) -> CleanLine:
        shown, space = [Cell(indent)], 0
        room = None if self.cells is None else self.cells - len(indent)
        for cell, cells in zip(row, widths, strict=True):
            # A column that is empty in every row takes no space.
            if not cells:
                continue
            if room is not None and room <= space:
                break
            text = cut(cell.text, cells if room is None else min(cells, room - space))
            shown += [Cell(" " * space), Cell(text, cell.colour)]
            room = None if room is None else room - space - width(text)
            space = cells - width(text) + len(_GAP)
        return tuple(cell for cell in shown if cell.text)


def named(name: str, team: str, colours: Mapping[str, str]) -> Cell:
    """Return a member's name as every screen shows it, in its colour."""
    return Cell(f"[{one_line(agent_id(name, team))}]", colours.get(name))


def _fit(widths: list[int], cells: int, gives: int, keeps: int | None) -> None:
    """Make columns narrower until the table fits this many cells."""
    _narrow(widths, gives, cells)
    if keeps is None:
        return
    # Drop columns from the right. Keep the first: it names what the row is about.
    for column in (gives, *reversed(range(1, len(widths)))):
        if column != keeps and _excess(widths, cells):
            widths[column] = 0
    _narrow(widths, 0, cells)


def _narrow(widths: list[int], column: int, cells: int) -> None:
    widths[column] = max(min(widths[column], _LEAST_CELLS), widths[column] - _excess(widths, cells))


def _excess(widths: Sequence[int], cells: int) -> int:
    return max(0, sum(widths) + len(_GAP) * (sum(map(bool, widths)) - 1) - cells)


def _cleaned(cell: Cell | str) -> Cell:
    return Cell(one_line(cell)) if isinstance(cell, str) else Cell(one_line(cell.text), cell.colour)


def sheet_for(stream: TextIO) -> Sheet:
    """Return a sheet that suits a stream."""
    try:
        cells = os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return Sheet(None, colour=False)
    # Imported here because it is slow, and a pipe does not need it.
    from deskmate.app import environment, wants_colour

    return Sheet(cells, colour=wants_colour(environment()))


def put(lines: Sequence[str], damage: Sequence[str] = ()) -> int:
    """Print lines to stdout and damage reports to stderr. Return the exit code."""
    for words in damage[:_MOST_TOLD]:
        warn(f"damaged: {words}")
    if len(damage) > _MOST_TOLD:
        warn(f"damaged: {len(damage) - _MOST_TOLD:,} more. To see them, run: deskmate doctor")
    with OutputStream(sys.stdout) as output_stream:
        output_stream.put("".join(f"{line}\n" for line in lines))
        output_stream.drain(None)
    if output_stream.failure:
        warn(f"cannot write to stdout: {output_stream.failure}")
        return UNUSABLE
    return UNUSABLE if damage else 0


def warn(words: str) -> None:
    """Print one line to stderr, prefixed with the program's name."""
    note(f"deskmate: {one_line(words)}")


def note(words: str) -> None:
    """Print text to stderr, without anything a terminal would obey."""
    print(clean(words), file=sys.stderr, flush=True)


def ago(seconds: float) -> str:
    """Return a duration in the largest unit that it fills."""
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {name}"
    return f"{max(0, int(seconds))} s"


def clock(seconds: float) -> str:
    """Return a duration as a clock shows it: `0:42`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
