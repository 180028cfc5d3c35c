"""Edits: replacing the one place where a text stands, whatever the file's line endings are.

`files` above reads and writes; here texts go in and come out. A model reads lines without their ends, so that what it
wants replaced is matched with either ending, and what it puts there gets the one that was there.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice

from deskmate.errors import ToolError
from deskmate.tools.clips import counted

_MAX_COUNTED = 100
_MAX_NAMED = 5
_MAX_HINT_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after an edit: the line of the first place, counted from 1, and how many there were."""

    body: str
    line: int
    places: int


def edit(path: str, body: str, old: str, new: str, *, replace_all: bool) -> Edited:
    """Replace `old` where it stands exactly once, or everywhere; raise ToolError, saying where it stands, otherwise."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old == new:
        raise ToolError("old_text and new_text are the same; say what should change")
    plain = body.replace("\r\n", "\n")
    places = list(islice(_places(plain, old), _MAX_COUNTED + 1))
    if not places:
        raise ToolError(_not_found(path, plain, old))
    if len(places) > 1 and not replace_all:
        raise ToolError(_ambiguous(path, plain, places))
    edited = plain.replace(old, new) if len(plain) == len(body) else "".join(_pieces(body, plain, old, new))
    return Edited(edited, _line(plain, places[0]), plain.count(old))


def _places(plain: str, old: str) -> Iterator[int]:
    """Yield where a text is found, also where two finds overlap: either could be meant."""
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + 1)


def _pieces(body: str, plain: str, old: str, new: str) -> Iterator[str]:
    """Yield a body bit by bit, the new text in every place where its `plain` form has the old one."""
    # A place in the plain text lies as much further on in the body as there are longer line ends before it.
    longer = list(accumulate(len(part) + 1 for part in body.split("\r\n")[:-1]))
    usual = "\r\n" if len(longer) * 2 > plain.count("\n") else "\n"
    kept = at = 0
    for part in plain.split(old)[:-1]:
        at += len(part)
        start, end = (place + bisect_right(longer, place) for place in (at, at + len(old)))
        yield body[kept:start]
        yield new.replace("\n", _end_in(body[start:end]) or usual)
        kept, at = end, at + len(old)
    yield body[kept:]


def _line(plain: str, at: int) -> int:
    return plain.count("\n", 0, at) + 1


def _end_in(text: str) -> str:
    """Return the first line end in a text, empty where there is none."""
    head, newline, _ = text.partition("\n")
    return "\r\n" if newline and head.endswith("\r") else newline


def _ambiguous(path: str, plain: str, places: list[int]) -> str:
    times = f"more than {_MAX_COUNTED:,}" if len(places) > _MAX_COUNTED else f"{len(places):,}"
    named = ", ".join(str(_line(plain, at)) for at in places[:_MAX_NAMED])
    more = ", …" if len(places) > _MAX_NAMED else ""
    return (
        f"old_text stands {times} times in {path} (lines {named}{more}), expected once; "
        "add lines around it until only one place fits, or set replace_all"
    )


def _not_found(path: str, plain: str, old: str) -> str:
    line = _close(plain, old) if len(plain) <= _MAX_HINT_CHARS else None
    if line:
        return f"line {line} of {path} differs from old_text only in whitespace; copy it exactly as it stands there"
    lines = counted(plain.count("\n") + 1, "line")
    return f"old_text is nowhere in the {lines} of {path}; read the file again and copy from it exactly"


def _close(plain: str, old: str) -> int | None:
    """Return the line where a text stands but for its whitespace, None for nowhere."""
    words, wanted = " ".join(plain.split()), " ".join(old.split())
    at = words.find(wanted) if wanted else -1
    if at < 0:
        return None
    word = next(islice(re.finditer(r"\S+", plain), words.count(" ", 0, at), None))
    return _line(plain, word.start())
