"""Edits: replacing the one place where a text stands, whatever the file's line endings are.

`files` above reads and writes; here texts go in and come out. A model reads lines without their ends, so that what it
wants replaced is matched with either ending, and what it puts there gets the one that was there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from deskmate.errors import ToolError
from deskmate.tools.clips import counted

_MAX_COUNTED = 1000
_MAX_NAMED = 5
# A bare \n must not be found inside of \r\n: one line end would then be two places.
_LINE_END = r"(?:\r\n|(?<!\r)\n)"


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
    pattern = re.compile(_LINE_END.join(map(re.escape, old.split("\n"))))
    places = list(islice(_places(pattern, body), _MAX_COUNTED + 1))
    if not places:
        raise ToolError(_not_found(path, body, old))
    if len(places) > 1 and not replace_all:
        raise ToolError(_ambiguous(path, body, places))
    usual = _usual_end(body)
    edited, count = pattern.subn(lambda found: new.replace("\n", _end_in(found[0]) or usual), body)
    return Edited(edited, _line(body, places[0]), count)


def _places(pattern: re.Pattern[str], body: str) -> Iterator[int]:
    """Yield where the pattern is found, also where two finds overlap: either could be meant."""
    at = 0
    while found := pattern.search(body, at):
        yield found.start()
        at = found.start() + 1


def _line(body: str, at: int) -> int:
    return body.count("\n", 0, at) + 1


def _end_in(text: str) -> str:
    """Return the first line end in a text, empty where there is none."""
    head, newline, _ = text.partition("\n")
    return "\r\n" if newline and head.endswith("\r") else newline


def _usual_end(body: str) -> str:
    return "\r\n" if body.count("\r\n") * 2 > body.count("\n") else "\n"


def _ambiguous(path: str, body: str, places: list[int]) -> str:
    times = f"more than {_MAX_COUNTED:,}" if len(places) > _MAX_COUNTED else f"{len(places):,}"
    named = ", ".join(str(_line(body, at)) for at in places[:_MAX_NAMED])
    more = ", …" if len(places) > _MAX_NAMED else ""
    return (
        f"old_text stands {times} times in {path} (lines {named}{more}), expected once; "
        "add lines around it until only one place fits, or set replace_all"
    )


def _not_found(path: str, body: str, old: str) -> str:
    close = re.search(r"\s+".join(map(re.escape, old.split())), body) if old.split() else None
    if close:
        where = f"line {_line(body, close.start())} of {path} differs from old_text only in whitespace"
        return f"{where}; copy it exactly as it stands there"
    lines = counted(body.count("\n") + 1, "line")
    return f"old_text is nowhere in the {lines} of {path}; read the file again and copy from it exactly"
