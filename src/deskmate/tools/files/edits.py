"""Replacing exactly one place in a text.

A model reads lines without their line ends. So `old` matches either line ending, and the new text gets the ending that
was there. A model reads a placeholder for each secret. So a placeholder matches its secret, and if the new text has
the placeholder, the secret is put back.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice

from deskmate.core.policy.secret_placeholders import Concealed, placeholders_in, restore
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.tools.clip import counted

_MAX_COUNTED = 100
_MAX_NAMED = 5
_MAX_HINT_CHARS = 1_000_000


@frozen
class EditedText:
    """A text after an edit. `line`: where the first replaced place is, from 1. `places`: how many there were."""

    text: Concealed
    line: int
    places: int


def edit(path: str, text: Concealed, old: str, new: str, *, replace_all: bool) -> EditedText:
    """Replace `old` if it occurs exactly once, or every occurrence with `replace_all`.

    Raises ToolError, saying where `old` is, if it cannot. Raises Unclear if `new` has a placeholder and it is not
    clear which of the replaced secrets it stands for.
    """
    old, new = (text.mark(one.replace("\r\n", "\n")) for one in (old, new))
    if old == new:
        raise ToolError("old_text and new_text are the same. Set new_text to what should be there instead.")
    plain = text.body.replace("\r\n", "\n")
    places = list(islice(_places(plain, old), _MAX_COUNTED + 1))
    if not places:
        raise ToolError(_not_found(path, text, plain, old))
    if len(places) > 1 and not replace_all:
        raise ToolError(_ambiguous(path, [text.line(plain, at) for at in places]))
    return EditedText(_replaced(text, plain, old, new), text.line(plain, places[0]), plain.count(old))


def _places(plain: str, old: str) -> Iterator[int]:
    """Yield every position of `old`, also overlapping ones: either could be meant."""
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + 1)


def _replaced(text: Concealed, plain: str, old: str, new: str) -> Concealed:
    """Return the text with `new` in every place where its `plain` form has `old`."""
    if not text.hidden and len(plain) == len(text.body):
        return Concealed(plain.replace(old, new))
    parts = list(_parts(text, plain, old, new))
    return text.changed("".join(part.body for part in parts), (one for part in parts for one in part.hidden))


def _parts(text: Concealed, plain: str, old: str, new: str) -> Iterator[Concealed]:
    # An offset in the plain text is smaller than in the body, by one for each CRLF before it.
    longer = list(accumulate(len(part) + 1 for part in text.body.split("\r\n")[:-1]))
    usual = "\r\n" if len(longer) * 2 > plain.count("\n") else "\n"
    kept = at = 0
    for part in plain.split(old)[:-1]:
        at += len(part)
        start, end = (place + bisect_right(longer, place) for place in (at, at + len(old)))
        yield text.part(kept, start)
        replaced = text.part(start, end)
        yield text.changed(new.replace("\n", _end_in(replaced.body) or usual), restore(replaced, new))
        kept, at = end, at + len(old)
    yield text.part(kept, len(text.body))


def _end_in(text: str) -> str:
    """Return the first line end in a text, empty if there is none."""
    head, newline, _ = text.partition("\n")
    return "\r\n" if newline and head.endswith("\r") else newline


def _ambiguous(path: str, lines: list[int]) -> str:
    times = f"more than {_MAX_COUNTED:,}" if len(lines) > _MAX_COUNTED else f"{len(lines):,}"
    named = ", ".join(map(str, lines[:_MAX_NAMED]))
    more = ", …" if len(lines) > _MAX_NAMED else ""
    return (
        f"old_text occurs {times} times in {path} (lines {named}{more}), expected once. "
        "Add lines around it until it is unique, or set replace_all."
    )


def _not_found(path: str, text: Concealed, plain: str, old: str) -> str:
    if unknown := [one for one in placeholders_in(old) if one not in plain]:
        return (
            f"old_text contains {unknown[0]}, a placeholder for a secret, and {path} has no secret of that name. "
            "Use the lines around it instead."
        )
    line = _close(text, plain, old) if len(plain) <= _MAX_HINT_CHARS else None
    if line:
        return f"Line {line} of {path} differs from old_text only in whitespace. Copy it exactly as it is in the file."
    if not plain:
        return f"old_text does not occur in {path}, which is empty. Use write_file."
    lines = counted(text.line(plain, len(plain) - 1), "line")
    return f"old_text does not occur in the {lines} of {path}. Read the file again, and copy from it exactly."


def _close(text: Concealed, plain: str, old: str) -> int | None:
    """Return the line where `old` occurs if whitespace is ignored, or None."""
    words, wanted = " ".join(plain.split()), " ".join(old.split())
    at = words.find(wanted) if wanted else -1
    if at < 0:
        return None
    word = next(islice(re.finditer(r"\S+", plain), words.count(" ", 0, at), None))
    return text.line(plain, word.start())
