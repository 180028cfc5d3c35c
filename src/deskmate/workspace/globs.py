"""Which paths a glob pattern matches."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from deskmate.errors import ToolError

MAX_ALTERNATIVES = 100
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

Pattern: TypeAlias = tuple[str, ...]


class GlobPattern:
    """A pattern: `*`, `?` and `[…]` within a name, `**` for any folders, `{a,b}` for either.

    A name that begins with a dot is matched only by a part that begins with one.
    """

    def __init__(self, text: str) -> None:
        self._patterns = [_parts(one) for one in alternatives(text)]

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether the pattern matches the whole path of a file, given in parts."""
        return any(len(pattern) in _reached(pattern, parts) for pattern in self._patterns)

    def reaches(self, parts: Sequence[str]) -> bool:
        """Tell whether something in a folder could match."""
        return any(min(_reached(pattern, parts), default=len(pattern)) < len(pattern) for pattern in self._patterns)


def alternatives(text: str) -> list[str]:
    """Return the patterns that a pattern with braces stands for, nested braces included."""
    done, todo = list[str](), [text]
    while todo:
        one = todo.pop()
        if found := _BRACES.search(one):
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        else:
            done.append(one)
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise ToolError(f"This pattern has more than {MAX_ALTERNATIVES} alternatives. Use fewer braces.")
    return done


def _parts(text: str) -> Pattern:
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if text.startswith("/") or ".." in parts:
        raise ToolError("This pattern leads outside the workspace. Write it relative to the root, without '..'.")
    # A folder itself never matches. Everything in it does.
    return (*parts, "**") if text.endswith("/") else parts


def _reached(pattern: Pattern, parts: Iterable[str]) -> set[int]:
    """Return every position in the pattern that can be reached by matching these parts."""
    reached = _passing(pattern, {0})
    for part in parts:
        reached = _passing(pattern, {after for at in reached for after in _step(pattern, at, part)})
    return reached


def _step(pattern: Pattern, at: int, part: str) -> tuple[int, ...]:
    if at == len(pattern):
        return ()
    if pattern[at] == "**":
        return () if part.startswith(".") else (at,)
    hidden = part.startswith(".") and not pattern[at].startswith(".")
    return (at + 1,) if not hidden and fnmatchcase(part, pattern[at]) else ()


def _passing(pattern: Pattern, reached: set[int]) -> set[int]:
    """Add the positions after each `**`, which also matches no folder at all."""
    todo = list(reached)
    while todo:
        at = todo.pop()
        if at < len(pattern) and pattern[at] == "**" and at + 1 not in reached:
            reached.add(at + 1)
            todo.append(at + 1)
    return reached
