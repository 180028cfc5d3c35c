"""Which paths a glob pattern matches.

`searching` asks about every file, and about every folder whether to go into it.
"""

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

    What begins with a dot is matched only by a part that does too.
    """

    def __init__(self, text: str) -> None:
        self._patterns = [_parts(one) for one in alternatives(text)]

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether a file's path, in parts, is matched whole."""
        return any(len(pattern) in _reached(pattern, parts) for pattern in self._patterns)

    def reaches(self, parts: Sequence[str]) -> bool:
        """Tell whether something in a folder could match."""
        return any(min(_reached(pattern, parts), default=len(pattern)) < len(pattern) for pattern in self._patterns)


def alternatives(text: str) -> list[str]:
    """Return the patterns that one with braces stands for, those in braces within braces too."""
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
    # A folder is no match itself: all that lies in it is.
    return (*parts, "**") if text.endswith("/") else parts


def _reached(pattern: Pattern, parts: Iterable[str]) -> set[int]:
    """Return every position in a pattern at which it may stand once it has matched these parts."""
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
    """Add the positions behind each `**`, which also stands for no folder at all."""
    todo = list(reached)
    while todo:
        at = todo.pop()
        if at < len(pattern) and pattern[at] == "**" and at + 1 not in reached:
            reached.add(at + 1)
            todo.append(at + 1)
    return reached
