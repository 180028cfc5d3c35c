"""Which lines of a text changed: hunks of a unified diff, with a few lines around each change."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

_AROUND = 3
# Comparing costs the product of both lengths.
_MAX_COMPARED = 2000
_MAX_COMPARED_CHARS = 1_000_000

Opcode: TypeAlias = tuple[str, int, int, int, int]


def hunk_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the lines of all hunks, each after its line with `@@`. Yield nothing if nothing changed.

    In a long text, everything between the first and the last change is shown as replaced.
    """
    for group in _groups(before, after):
        yield from _hunk(group, before, after)


def _groups(before: Sequence[str], after: Sequence[str]) -> Iterator[list[Opcode]]:
    """Yield the changes with the lines around them. Changes that are close together form one group."""
    if before == after:
        return
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    # Compare only the part between the common beginning and end, with a few lines around it.
    start, end = max(head - _AROUND, 0), max(tail - _AROUND, 0)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for group in _compared(old, new, head - start, tail - end):
        yield [(tag, a1 + start, a2 + start, b1 + start, b2 + start) for tag, a1, a2, b1, b2 in group]


def _compared(old: Sequence[str], new: Sequence[str], head: int, tail: int) -> Iterator[list[Opcode]]:
    if len(old) + len(new) <= _MAX_COMPARED and sum(map(len, [*old, *new])) <= _MAX_COMPARED_CHARS:
        yield from SequenceMatcher(None, old, new).get_grouped_opcodes(_AROUND)
        return
    # Finding common lines in long texts takes too long, so show the whole part as replaced.
    old_end, new_end = len(old) - tail, len(new) - tail
    middle = [("equal", 0, head, 0, head), ("replace", head, old_end, head, new_end)]
    yield [*middle, ("equal", old_end, len(old), new_end, len(new))]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _hunk(group: list[Opcode], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
    yield f"@@ -{_range(a1, a2)} +{_range(b1, b2)} @@"
    for tag, a1, a2, b1, b2 in group:
        if tag == "equal":
            yield from (f" {line}" for line in before[a1:a2])
        else:
            yield from (f"-{line}" for line in before[a1:a2])
            yield from (f"+{line}" for line in after[b1:b2])


def _range(start: int, stop: int) -> str:
    # The format counts from 1. An empty range names the line before it.
    return f"{start + (stop > start)},{stop - start}"
