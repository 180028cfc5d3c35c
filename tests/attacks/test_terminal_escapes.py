"""Nothing that is shown makes a terminal obey, or turns round the direction in which it is read."""

import unicodedata

import pytest

from deskmate.faces.common.terminal_text import clean, exact, gist, one_line
from tests.attacks.naughty_texts import STRINGS, break_outs

# By name, not by number: whatever Unicode calls a control of a terminal or of direction.
TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
MARKS = frozenset({"LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK"})


def obeyed(text: str) -> list[str]:
    """Return what a terminal would obey of a text."""
    return [char for char in set(text) - {"\n", "\t"} if is_control(char)]


def is_control(char: str) -> bool:
    turns = unicodedata.bidirectional(char) in TURNS or unicodedata.name(char, "") in MARKS
    return turns or unicodedata.category(char) in ("Cc", "Cs")


@pytest.mark.behaviour("cli")
def test_nothing_written_makes_a_terminal_obey() -> None:
    for text in (*STRINGS, *break_outs(1_000, 3)):
        for shown in (clean(text), one_line(text), gist(text), exact(text)):
            assert obeyed(shown) == [], ascii(text)


def test_the_strings_hold_what_a_terminal_obeys() -> None:
    assert sum(bool(obeyed(text)) for text in (*STRINGS, *break_outs(1_000, 3))) > 200
    assert [is_control(char) for char in "\x1b\x9b\u202e\u2066\u200f\u061c\ud800a\u05d0"] == [True] * 7 + [False] * 2
