"""Styled text measured in cells.

Text of others becomes a line with `words` or, if every character counts, with `exact`. Nothing in it moves the
cursor, changes a colour or takes more or fewer cells than are counted here.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import TypeAlias

from rich.cells import cell_len, split_text
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from deskmate.faces.common.terminal_text import TAB_CELLS, clean, is_selector, one_line, written_out

Span: TypeAlias = tuple[str, str]
Line: TypeAlias = tuple[Span, ...]

ESCAPED = "reverse"
_TOKENS = re.compile(r"\S+|\s+")


def words(text: str) -> str:
    """Return text of others on one line, with a width that all terminals agree on."""
    return _countable(one_line(text))


def words_kept(text: str) -> str:
    """Return text of others on one line, with its spaces as they are and a width that all terminals agree on."""
    return _countable(clean(text)).expandtabs(TAB_CELLS).replace("\n", " ")


def paragraphs(text: str) -> list[str]:
    """Return text of others as a list of lines, with widths that all terminals agree on."""
    return [_countable(line).expandtabs(TAB_CELLS).rstrip() for line in clean(text).splitlines()]


def _countable(text: str) -> str:
    """Remove characters that join or widen others on some terminals only."""
    return text if text.isascii() else "".join(one for one in text if not _is_counted_otherwise(one))


def _is_counted_otherwise(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or is_selector(character)


def exact(text: str, style: str = "") -> list[Line]:
    """Return the lines of a text with each invisible character written out, as `\\x1b`.

    Use it for what a person is asked to allow: nothing may be left out there.
    """
    return [tuple(_exact(line, style)) for line in text.split("\n")]


def exact_line(text: str, style: str = "") -> Line:
    """Return a text on one line, with invisible characters and line ends written out."""
    lines = exact(text, style)
    return tuple(span for n, line in enumerate(lines) for span in ((("\\x0a", ESCAPED),) * bool(n) + line))


def _exact(text: str, style: str) -> Iterator[Span]:
    for part, hidden in written_out(text.expandtabs(TAB_CELLS)):
        yield part, ESCAPED if hidden else style


def width(line: Line) -> int:
    """Return how many cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def cut(line: Line, cells: int) -> Line:
    """Return as much of a line as fits in this many cells, ending with `…` if it was cut."""
    if width(line) <= cells:
        return line
    kept: list[Span] = []
    room = cells - 1
    for text, style in line:
        fits = _head(text, room)
        kept += [(fits, style)] if fits else []
        room -= cell_len(fits)
        if fits != text:
            break
    return (*kept, ("…", "dim")) if cells > 0 else ()


def _head(text: str, cells: int) -> str:
    """Return the beginning of a text that fits."""
    if cell_len(text) <= cells:
        return text
    head, _ = split_text(text, max(cells, 0))
    # If a two-cell character crosses the end, a space is left in its place.
    return head if text.startswith(head) else head[:-1]


def spread(left: Line, right: Line, cells: int, least: int = 12) -> Line:
    """Return one line with text at both ends. The right one is cut if the left would have less than `least` cells."""
    if not right:
        return cut(left, cells)
    taken = min(width(left), least)
    right = cut(right, max(cells - taken - 1, 0))
    left = cut(left, cells - width(right) - 1)
    gap = cells - width(left) - width(right)
    return (*left, (" " * max(gap, 0), ""), *right)


def folded(line: Line, cells: int, indent: str = "") -> list[Line]:
    """Return a line wrapped to `cells`, broken between words if possible. Lines after the first are indented."""
    margin = indent if len(indent) < cells // 2 else ""
    rows: list[list[Span]] = [[]]
    room = cells
    for token, style in _tokens(line, max(cells - len(margin), 1)):
        size = cell_len(token)
        if size > room:
            rows.append([(margin, "")] if margin else [])
            room = cells - len(margin)
            if token.isspace():
                continue
        rows[-1].append((token, style))
        room -= size
    return [_joined(row) for row in rows]


def _tokens(line: Line, cells: int) -> Iterator[Span]:
    """Yield words and the white space between them. A word wider than a line is split."""
    for text, style in line:
        for token in _TOKENS.findall(text):
            rest = token
            # White space wider than a line is not split: it is dropped at the line break.
            while cell_len(rest) > cells and not rest.isspace():
                part = _head(rest, cells) or rest[0]
                yield part, style
                rest = rest[len(part) :]
            yield rest, style


def _joined(row: list[Span]) -> Line:
    """Return spans with neighbours of the same style merged."""
    joined: list[Span] = []
    for text, style in row:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + text, style)
        else:
            joined.append((text, style))
    return tuple(joined)


def plain(line: Line) -> str:
    """Return the text of a line."""
    return "".join(text for text, _ in line)


def line_of(text: Text, console: Console) -> Line:
    """Return a text as a line."""
    return tuple((part, str(style or "")) for part, style, _ in text.render(console) if part)


def strip_of(line: Line, cells: int, style: Style) -> Strip:
    """Return a line as a strip with a base style, exactly `cells` wide."""
    segments = [Segment(text, Style.parse(own)) for text, own in line if text]
    return Strip(segments).adjust_cell_length(cells).apply_style(style)
