"""Limits for everything a model reads."""

from collections.abc import Sequence
from itertools import accumulate

MAX_LINES = 200
MAX_CHARS = 30_000


def clip(lines: Sequence[str], rest: str, *, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS) -> str:
    """Return the first lines that fit. If some do not, add how many are missing and how to get the `rest`."""
    shown = fitting(lines[:max_lines], max_chars)
    left_out = len(lines) - len(shown)
    return "\n".join([*shown, f"… {counted(left_out, 'line')} more. {rest}."] if left_out else shown)


def fitting(lines: Sequence[str], max_chars: int) -> Sequence[str]:
    """Return as many first lines as fit in `max_chars` characters, counting one line end for each."""
    totals = accumulate(len(line) + 1 for line in lines)
    return lines[: sum(total <= max_chars for total in totals)]


def cut(line: str, max_chars: int) -> str:
    """Return the line, or its first `max_chars` characters with the number of characters left out."""
    return line if len(line) <= max_chars else f"{line[:max_chars]}… (+{counted(len(line) - max_chars, 'character')})"


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: `1 line`, `1,234 lines`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their line ends, counted as editors count them."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
