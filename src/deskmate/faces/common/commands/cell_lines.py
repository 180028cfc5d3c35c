"""Texts as lines of cells."""

from collections.abc import Iterable
from typing import TypeAlias

from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine

Lines: TypeAlias = list[CleanLine]


def cell_lines(texts: Iterable[str]) -> Lines:
    """Return texts one below the other, an empty one as an empty line."""
    return [line for text in texts for line in plain_lines(text) or [()]]


def plain_lines(text: str) -> Lines:
    """Return the lines of a text."""
    return [(Cell(line),) for line in clean(text).splitlines()]


def damage_lines(damage: tuple[str, ...]) -> Lines:
    """Return a line for each thing that could not be read."""
    return [(Cell(one_line(f"damaged: {words}")),) for words in damage]
