"""Lines: what others wrote takes exactly the cells that are counted, and nothing in it is hidden where it counts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from deskmate.faces.tui.drawing.styled_lines import (
    ESCAPED,
    Line,
    cut,
    exact,
    folded,
    paragraphs,
    plain,
    spread,
    strip_of,
    width,
    words,
)
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import obeyed

texts = st.one_of(st.text(), st.sampled_from(NAUGHTY), st.text(alphabet="ab 漢\U0001f600é\t"))
lines = st.lists(st.tuples(texts.map(words), st.sampled_from(["", "bold", "red"]))).map(tuple)
cells = st.integers(min_value=2, max_value=130)


@given(texts)
def test_words_are_one_line_that_no_terminal_obeys_or_counts_otherwise(text: str) -> None:
    shown = words(text)
    assert obeyed(shown) == []
    assert "\n" not in shown
    assert not any(unicodedata.category(one) == "Cf" or one == "\ufe0f" for one in shown)


@given(texts)
def test_paragraphs_hold_nothing_a_terminal_obeys(text: str) -> None:
    shown = paragraphs(text)
    assert [found for line in shown for found in obeyed(line)] == []
    assert not any("\n" in line or "\t" in line for line in shown)


@given(lines, cells)
def test_a_cut_line_fits_and_says_so_where_something_is_missing(line: Line, cells: int) -> None:
    shown = cut(line, cells)
    assert width(shown) <= cells
    assert shown == line if width(line) <= cells else plain(shown).endswith("…")


@given(lines, cells)
def test_a_folded_line_fits_and_loses_nothing_but_white_space(line: Line, cells: int) -> None:
    rows = folded(line, cells, "    ")
    assert all(width(row) <= cells for row in rows)
    assert "".join("".join(map(plain, rows)).split()) == "".join(plain(line).split())


@given(lines, lines, cells)
def test_what_stands_at_both_ends_of_a_line_fills_it_exactly(left: Line, right: Line, cells: int) -> None:
    shown = spread(left, right, cells)
    assert width(shown) <= cells
    if width(left) + 1 + width(right) <= cells and right:
        assert width(shown) == cells
        assert (plain(shown).startswith(plain(left)), plain(shown).endswith(plain(right))) == (True, True)


@given(lines, cells)
def test_a_strip_is_as_wide_as_it_was_asked_to_be(line: Line, cells: int) -> None:
    strip = strip_of(line, cells, Style())
    assert strip.cell_length == cells
    assert sum(segment.cell_length for segment in strip) == cells


@given(texts)
def test_of_an_exact_text_every_character_is_seen(text: str) -> None:
    shown = exact(text)
    assert [found for line in shown for found in obeyed(plain(line))] == []
    written = "\n".join("".join(_read(*span) for span in line) for line in shown)
    assert written == "\n".join(line.expandtabs(4) for line in text.split("\n"))


def _read(text: str, style: str) -> str:
    """Return the character that an escape stands for."""
    return chr(int(text[2:], 16)) if style == ESCAPED else text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls\x1b[2K; id", r"ls\x1b[2K; id"),
        ("ls\r", r"ls\x0d"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u200bb\u3164", r"a\u200bb\u3164"),
        ("a\u00a0b", r"a\xa0b"),
        ("a\U000e0041b", r"a\U000e0041b"),
        ("\ud800", r"\ud800"),
        ("漢 é", "漢 é"),
        ("a\tb", "a   b"),
    ],
)
def test_what_could_not_be_seen_is_written_out(text: str, shown: str) -> None:
    assert "\n".join(map(plain, exact(text))) == shown


def test_a_line_is_folded_between_words_and_set_in() -> None:
    assert folded((("one two three", "bold"), (" four", "")), 8, "  ") == [
        (("one two ", "bold"),),
        (("  ", ""), ("three", "bold"), (" ", "")),
        (("  four", ""),),
    ]
