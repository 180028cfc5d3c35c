"""Code in colours, and diffs with line numbers.

The colours are named ones, so they follow the theme.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rich.syntax import Syntax
from rich.text import Text

from deskmate.faces.tui.drawing.styled_lines import paragraphs
from deskmate.faces.tui.drawing.wrapped_lines import UnwrappedLine

_THEME = "ansi_dark"
# More than this is shown without colours: finding them would keep the screen waiting.
_COLOURED_CHARS = 60_000
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_SIGNS = {"+": "green", "-": "red"}


def code_lines(code: str, language: str) -> list[Text]:
    """Return the lines of a piece of code, coloured if the language is known. Its text must be safe to show."""
    plain = paragraphs(code)
    if not language or len(code) > _COLOURED_CHARS:
        return [Text(line) for line in plain]
    coloured = Syntax("", language, theme=_THEME).highlight("\n".join(plain))
    lines = list(coloured.split("\n", allow_blank=True))
    # A lexer may drop empty lines at both ends.
    return lines[: len(plain)] if [line.plain for line in lines[: len(plain)]] == plain else [Text(x) for x in plain]


@lru_cache(maxsize=256)
def language_of(path: str) -> str:
    """Return the language of a file by its name, or ""."""
    found = Syntax.guess_lexer(path)
    return "" if found == "default" else found


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff. `number`: its number in the file, before or after; None if that is not known."""

    sign: str
    text: str
    number: int | None


def diff_rows(diff: str, path: str, margin: Text, tints: tuple[str, str]) -> Iterator[UnwrappedLine]:
    """Yield a unified diff with line numbers and colours. Lines without a hunk before them have no numbers.

    `tints`: the styles behind added and removed lines.
    """
    lines = list(numbered_lines(paragraphs(diff)))
    width = max((len(str(one.number)) for one in lines if one.number), default=0)
    coloured = _coloured(lines, language_of(path))
    for one, text in zip(lines, coloured, strict=True):
        if one.sign == "@":
            yield UnwrappedLine(Text("⋯", "dim"), margin, margin, source="")
            continue
        colour = _SIGNS.get(one.sign, "dim")
        number = f"{one.number or '':>{width}} " if width else ""
        first = margin.copy().append(number, "dim").append(f"{one.sign} ", f"bold {colour}")
        if one.sign != " " and not text.spans:
            text.stylize(colour)
        back = {"+": tints[0], "-": tints[1]}.get(one.sign, "")
        yield UnwrappedLine(text, first, margin.copy().append(" " * (len(number) + 2)), back=back, hangs=True)


def numbered_lines(lines: list[str]) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff with their numbers. Between two hunks is a line with the sign `@`."""
    before = after = None
    first = True
    for line in lines:
        if hunk := _HUNK.match(line):
            before, after = int(hunk[1]), int(hunk[2])
            if not first:
                yield DiffLine("@", "", None)
            first = False
            continue
        first, sign = False, line[:1] if line[:1] in _SIGNS else " "
        text = line[1:] if line[:1] in ("+", "-", " ") else line
        yield DiffLine(sign, text, before if sign == "-" else after)
        if before is not None and after is not None:
            before, after = before + (sign != "+"), after + (sign != "-")


def _coloured(lines: list[DiffLine], language: str) -> list[Text]:
    """Return the lines in colours. The file before and the file after are each coloured as a whole."""
    found = [Text(one.text) for one in lines]
    for left_out in "+-":
        places = [place for place, one in enumerate(lines) if one.sign not in (left_out, "@")]
        code = code_lines("\n".join(lines[place].text for place in places), language)
        for place, text in zip(places, code, strict=False):
            found[place] = text
    return found
