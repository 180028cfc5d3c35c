"""The rule of an edit: one place, found whatever the line endings, or words that lead there."""

import subprocess
import sys
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.policy.secret_placeholders import Concealed
from deskmate.errors import ToolError
from deskmate.tools.files import edits


class Edited(NamedTuple):
    """A plain text after an edit."""

    body: str
    line: int
    places: int


def edit(path: str, body: str, old: str, new: str, *, replace_all: bool) -> Edited:
    """Edit a text without secrets."""
    edited = edits.edit(path, Concealed(body), old, new, replace_all=replace_all)
    return Edited(edited.text.text(), edited.line, edited.places)


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    ("body", "old", "new", "after"),
    [
        ("a b c", "b", "x", Edited("a x c", 1, 1)),
        ("one\ntwo\n", "two", "2", Edited("one\n2\n", 2, 1)),
        ("a.b\naxb\n", "a.b", r"\1", Edited("\\1\naxb\n", 1, 1)),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", Edited("x\r\ny\r\nz\r\nc\r\n", 1, 1)),
        ("a\r\nb\r\n", "b", "x\ny", Edited("a\r\nx\r\ny\r\n", 2, 1)),
        ("a\r\nb\r\n", "a\r\nb", "x", Edited("x\r\n", 1, 1)),
        ("a\nb\n", "a\r\nb", "x\r\ny", Edited("x\ny\n", 1, 1)),
        ("a\r\nb\n", "\nb", "\nx", Edited("a\r\nx\n", 1, 1)),
        ("a\nb\r\nc\n", "a\nb", "x\ny", Edited("x\ny\r\nc\n", 1, 1)),
        ("a\nb\nc\r\nd\r\ne\r\n", "b", "x\ny", Edited("a\nx\r\ny\nc\r\nd\r\ne\r\n", 2, 1)),
        ("a\n", "a\n", "", Edited("", 1, 1)),
    ],
)
def test_the_one_place_is_replaced_with_the_ending_that_was_there(body: str, old: str, new: str, after: Edited) -> None:
    assert edit("f", body, old, new, replace_all=False) == after


def test_all_places_are_replaced_when_asked() -> None:
    assert edit("f", "a\r\n\r\na\r\n", "a", "b\nb", replace_all=True) == Edited("b\r\nb\r\n\r\nb\r\nb\r\n", 1, 2)


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    ("body", "old", "words"),
    [
        ("x\nb\nb b\n", "b", r"old_text occurs 3 times in f \(lines 2, 3, 3\), expected once"),
        ("b\n" * 6, "b", r"occurs 6 times in f \(lines 1, 2, 3, 4, 5, …\)"),
        ("b\n" * 100, "b", r"occurs 100 times in f \(lines 1, 2, 3, 4, 5, …\)"),
        ("b" * 5000, "b", r"occurs more than 100 times in f \(lines 1, "),
        ("aaa", "aa", r"occurs 2 times in f \(lines 1, 1\)"),
        ("a\n\n\na", "\n\n", r"occurs 2 times in f \(lines 1, 2\)"),
        ("if x:\n\tgo()\n", "if x:\n    go()", "Line 1 of f differs from old_text only in whitespace"),
        ("a\nfoo   bar\n", "foo bar", "Line 2 of f differs from old_text only in whitespace"),
        ("a\n\nx foo\n\tbarn\n", "foo bar", "Line 3 of f differs from old_text only in whitespace"),
        ("foo   bar\n" + "a" * 1_000_000, "foo bar", "old_text does not occur in the 2 lines of f"),
        ("a\nb\n", "c", "old_text does not occur in the 2 lines of f. Read the file again"),
        ("a\r\nb", "a\r", "Line 1 of f differs from old_text only in whitespace"),
        ("a\nb\n", "   ", "old_text does not occur in the 2 lines of f"),
        ("a\nb", "c", "old_text does not occur in the 2 lines of f"),
        ("", "c", "old_text does not occur in f, which is empty"),
        ("a", "a", "old_text and new_text are the same"),
    ],
)
def test_anything_but_one_place_is_refused_in_words_that_lead_there(body: str, old: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        edit("f", body, old, "a", replace_all=False)


HOSTILE = """
import sys
from deskmate.core.policy.secret_placeholders import Concealed
from deskmate.errors import ToolError
from deskmate.tools.files.edits import edit

unit = sys.argv[1].encode().decode("unicode_escape")
body, almost = unit * 2_000_000, unit * 50_000
try:
    edit("f", Concealed(body), almost + "1", "x", replace_all=False)
except ToolError as error:
    print(error)
edited = edit("f", Concealed(body), almost, "x", replace_all=True)
print(edited == type(edited)(Concealed("x" * 40), 1, 40))
"""


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["0 ", r"a\n", r"a\r\n", "ab", "a"])
def test_a_text_that_almost_stands_everywhere_is_looked_for_to_the_end(unit: str) -> None:
    # Trying again at every place takes hours.
    words = [sys.executable, "-c", HOSTILE, unit]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100)
    lines = "2,000,000 lines" if "n" in unit else "1 line"
    nowhere = f"old_text does not occur in the {lines} of f. Read the file again, and copy from it exactly."
    assert done.stdout.splitlines() == [nowhere, "True"]


PIECES = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", " "]), max_size=12).map("".join)


def unmarked(text: str) -> str:
    return text.replace("\r\n", "\n")


@given(body=PIECES, old=PIECES.filter(bool), new=PIECES, replace_all=st.booleans())
def test_but_for_line_endings_an_edit_is_what_replacing_in_a_string_is(
    body: str, old: str, new: str, replace_all: bool
) -> None:
    plain, wanted, put = unmarked(body), unmarked(old), unmarked(new)
    starts = [at for at in range(len(plain)) if plain.startswith(wanted, at)]
    if wanted == put or not starts or (len(starts) > 1 and not replace_all):
        with pytest.raises(ToolError):
            edit("f", body, old, new, replace_all=replace_all)
        return
    edited = edit("f", body, old, new, replace_all=replace_all)
    assert unmarked(edited.body) == plain.replace(wanted, put)
    assert edited.line == plain.count("\n", 0, starts[0]) + 1
    assert edited.places == plain.count(wanted)
    if "\r\n" not in body:
        assert "\r" not in edited.body
