"""Words of models and tools made safe for a terminal."""

import base64
import re
import unicodedata
from collections.abc import Iterator

# Match whole sequences first, so that no tail of one remains as text: strings with their end, then the others.
# A string ends at its line end at the latest. Otherwise one without an end would hide everything after it.
_SEQUENCES = re.compile(
    r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# The remaining control characters, and those that reverse the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
# Invisible, or look like a space, although no Unicode category says so.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
TAB_CELLS = 4
# Between the first line and the last in the gist of a text.
GIST_GAP = " … "
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(text: str) -> str:
    """Return a text without anything a terminal would obey, except line ends and tabs."""
    return _SURROGATES.sub("�", _CONTROLS.sub("", _SEQUENCES.sub("", text)))


def one_line(text: str) -> str:
    """Return a cleaned text on one line, with each run of white space replaced by one space."""
    return " ".join(clean(text).split())


def exact(text: str) -> str:
    """Return a text on one line with each invisible character written out, as `\\x1b`.

    Use it for what a person is asked to allow: nothing may be left out there.
    """
    return "".join(part for part, _ in written_out(text))


def written_out(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with whether it is a written-out invisible character."""
    if text.isascii() and text.isprintable():
        yield text, False
        return
    seen = ""
    for character in text:
        if not _is_hidden(character):
            seen += character
            continue
        if seen:
            yield seen, False
        yield _escaped(character), True
        seen = ""
    if seen:
        yield seen, False


def _is_hidden(character: str) -> bool:
    category = unicodedata.category(character)
    space = category == "Zs" and character != " "
    return category in _HIDDEN or space or is_selector(character) or character in _BLANKS


def is_selector(character: str) -> bool:
    """Return whether a character only selects how the one before it looks."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clipboard_sequence(text: str) -> str:
    """Return what makes a terminal put a text on its clipboard (OSC 52). Many terminals support it, also over ssh."""
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\a"


def gist(text: str) -> str:
    """Return the first line of a text and, if there are more, the last, which often says how a command ended."""
    lines = [line for line in map(one_line, clean(text).splitlines()) if line]
    return GIST_GAP.join(dict.fromkeys([*lines[:1], *lines[-1:]]))


def cut(text: str, cells: int) -> str:
    """Return as much of a line as fits in this many terminal cells, ending with `…` if it was cut."""
    if width(text) <= cells:
        return text
    room, end = cells - 1, 0
    while end < len(text) and (room := room - _cells(text[end])) >= 0:
        end += 1
    return text[:end] + "…"


def cut_middle(text: str, cells: int) -> str:
    """Return as much of a name as fits, without its middle: names often differ only at their ends."""
    if width(text) <= cells:
        return text
    room, tail = max(cells - 1, 0), ""
    while len(tail) < len(text) and width(text[-len(tail) - 1 :]) <= room // 2:
        tail = text[-len(tail) - 1 :]
    return f"{cut(text, cells - width(tail))}{tail}"


def width(text: str) -> int:
    """Return how many terminal cells a line takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
