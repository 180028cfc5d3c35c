"""Lines wrapped to a width, which know what they were before.

Copying returns the text as it was written: without wraps and margins, and with the marks that Markdown had.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from deskmate.faces.common.terminal_text import TAB_CELLS


@dataclass(frozen=True, slots=True)
class UnwrappedLine:
    """A line before it is wrapped. `first` goes before its first row, `rest` before the others.

    `copied`: what a copy has instead of `first`. `source`: what a copy of the whole line is, if not its text. `back`:
    the style behind it, to the end of the line.
    """

    text: Text
    first: Text = field(default_factory=Text)
    rest: Text = field(default_factory=Text)
    copied: str = ""
    source: str | None = None
    back: str = ""


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
    plain, place = row.text.plain, 0
    for index, line in enumerate(row.text.wrap(console, room, overflow="fold", tab_size=TAB_CELLS)):
        line.rstrip()
        start = max(plain.find(line.plain, place), place)
        yield _shown(row, line, first=not index, gap=plain[place:start] if index else "\n")
        place = start + len(line.plain)


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
