"""Lines wrapped to a width, which know what they were before.

Copying returns the text as it was written: without wraps and margins, and with the marks that Markdown had.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.text import Text

from deskmate.faces.common.terminal_text import TAB_CELLS

# Before the rows of a line after its first.
HANGING = "↳ "
_HANGING_ROOM = 12


@dataclass(frozen=True, slots=True)
class UnwrappedLine:
    """A line before it is wrapped. `first` goes before its first row, `rest` before the others.

    `copied`: what a copy has instead of `first`. `source`: what a copy of the whole line is, if not its text. `back`:
    the style behind it, to the end of the line. `hangs`: rows after the first are indented like it and have a mark, so
    that they do not look like lines of their own.
    """

    text: Text
    first: Text = field(default_factory=Text)
    rest: Text = field(default_factory=Text)
    copied: str = ""
    source: str | None = None
    back: str = ""
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class WrappedLine:
    """A line as it is shown. `margin`: how many characters at its beginning are not copied, but `copied` is.

    `gap`: what is between the line above and this one in a copy. `back`: as in UnwrappedLine.
    """

    text: Text
    margin: int = 0
    copied: str = ""
    gap: str = "\n"
    source: str | None = None
    back: str = ""

    def part(self, start: int, end: int | None) -> str:
        """Return a copy of the characters from `start` to `end`, or of all to the end."""
        plain = self.text.plain
        if self.source is not None and start <= self.margin and (end is None or end >= len(plain)):
            return self.source
        kept = plain[max(start, self.margin) : end]
        return f"{self.copied}{kept}" if start < max(self.margin, 1) else kept


BLANK = WrappedLine(Text(no_wrap=True, end=""))


def wrapped(row: UnwrappedLine, width: int, console: Console) -> Iterator[WrappedLine]:
    """Yield a line as rows that are at most `width` wide."""
    room = max(2, width - row.first.cell_len)
    if row.text.cell_len <= room:
        yield _shown(row, row.text, first=True, gap="\n")
        return
    row = replace(row, rest=_hanging(row, room)) if row.hangs and room >= _HANGING_ROOM else row
    plain, place = row.text.plain, 0
    for index, line in enumerate(_rows(row, room, max(2, width - row.rest.cell_len), console)):
        line.rstrip()
        start = max(plain.find(line.plain, place), place)
        yield _shown(row, line, first=not index, gap=plain[place:start] if index else "\n")
        place = start + len(line.plain)


def _hanging(row: UnwrappedLine, room: int) -> Text:
    """Return what goes before the rows after the first: the indentation of the line, but not too much of it."""
    plain = row.text.plain
    indent = min(len(plain) - len(plain.lstrip(" ")), room // 3)
    return row.rest.copy().append(" " * indent).append(HANGING, "dim")


def _rows(row: UnwrappedLine, room: int, rest_room: int, console: Console) -> Iterator[Text]:
    text = row.text
    if rest_room != room:
        # The end of the first row does not depend on what comes after the room for it.
        first = text[: room + 1].wrap(console, room, overflow="fold", tab_size=TAB_CELLS)[0]
        yield first
        text = text[len(first.plain) :]
        text = text[len(text.plain) - len(text.plain.lstrip()) :]
    yield from text.wrap(console, rest_room, overflow="fold", tab_size=TAB_CELLS)


def _shown(row: UnwrappedLine, line: Text, *, first: bool, gap: str) -> WrappedLine:
    margin = row.first if first else row.rest
    text = Text(no_wrap=True, end="").append_text(margin).append_text(line)
    if row.source is None:
        return WrappedLine(text, len(margin), row.copied if first else "", gap, None, row.back)
    source = row.source if first else ""
    # A line that is nothing in the source does not end a line there.
    return WrappedLine(text, len(margin), row.copied, "\n" if source else "", source, row.back)


def joined(parts: Iterable[tuple[WrappedLine, str]]) -> str:
    """Return the parts of lines as one text. Rows that were one line are one again."""
    text = ""
    for index, (line, part) in enumerate(parts):
        text += f"{line.gap if index else ''}{part}"
    return text
