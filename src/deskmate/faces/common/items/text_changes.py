"""What a change removes and adds, as a diff.

Each line begins with `-`, `+` or a space, as in a unified diff. An edit of a known file also has the lines that begin
with `@@`, and a few lines around each change.
"""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import takewhile
from operator import eq
from typing import Any

# Comparing costs the product of both lengths. Longer texts are shown as fully removed and fully added.
_COMPARED_LINES = 1000
_AROUND = 3


def diff_of(tool: str, arguments: Mapping[str, Any], current: str = "", *, compares: bool = True) -> str:
    """Return what a call would change in a file, or "" if it changes none. `current`: the file as it is.

    Without `compares`, everything is removed and added. That costs nothing.
    """
    match tool, arguments:
        case "edit_file", {"old_text": str(old), "new_text": str(new)}:
            return _in_file(current, old, new, arguments.get("replace_all") is True) or _diff(old, new, compares)
        case "write_file", {"content": str(content)}:
            return _diff(current, content, compares)
    return ""


def other_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the diff of a call does not show."""
    match tool, arguments:
        case "edit_file", {"old_text": str(), "new_text": str()}:
            shown: tuple[str, ...] = ("old_text", "new_text")
        case "write_file", {"content": str()}:
            shown = ("content",)
        case _:
            shown = ()
    return {name: value for name, value in arguments.items() if name not in shown}


def _diff(old: str, new: str, compares: bool) -> str:
    before, after = _lines(old, new)
    return "\n".join(f"{sign}{line}" for sign, lines in _changes(before, after, compares) for line in lines)


def _lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines of both texts, without the empty ones after a last line end that both have."""
    before, after = old.split("\n") if old else [], new.split("\n")
    ends = after[-1:] == [""] and before[-1:] in ([""], [])
    return (before[:-1], after[:-1]) if ends else (before, after)


def _in_file(current: str, old: str, new: str, replace_all: bool) -> str:
    """Return an edit with the lines around it, or "" if the text is not in the file or cannot be compared."""
    # The tool matches either line ending.
    current, old, new = (one.replace("\r\n", "\n") for one in (current, old, new))
    places = current.count(old) if old else 0
    if not places or (places > 1 and not replace_all):
        return ""
    before, after = _lines(current, current.replace(old, new))
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    start, end = max(head - _AROUND, 0), max(tail - _AROUND, 0)
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    return "" if max(len(before), len(after)) > _COMPARED_LINES else "\n".join(_hunks(before, after, start + 1))


def _same(one: list[str], other: list[str]) -> int:
    """Return how many lines two texts have in common at their beginning."""
    return sum(takewhile(bool, map(eq, one, other)))


def _hunks(before: list[str], after: list[str], first: int) -> Iterator[str]:
    """Yield the changes in groups. `first`: the number of the first line."""
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND):
        (_, start, _, from_, _), (_, _, end, _, to) = group[0], group[-1]
        yield f"@@ -{first + start},{end - start} +{first + from_},{to - from_} @@"
        for tag, start, end, from_, to in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[start:end])
            else:
                yield from (f"-{line}" for line in before[start:end])
                yield from (f"+{line}" for line in after[from_:to])


def _changes(before: list[str], after: list[str], compares: bool) -> Iterator[tuple[str, list[str]]]:
    if not compares or max(len(before), len(after)) > _COMPARED_LINES:
        yield from (("-", before), ("+", after))
        return
    for tag, start, end, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield " ", before[start:end]
        else:
            yield from (("-", before[start:end]), ("+", after[from_:to]))
