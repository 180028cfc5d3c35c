"""Bounds and diffs: nothing grows beyond what is said, and what was left out is told."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deskmate.tools.clip import clip, counted, cut, lines_of
from deskmate.tools.files.diffs import diff


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], ""),
        (["a", "b", "c"], "a\nb\nc"),
        (["a", "b", "c", "d"], "a\nb\nc\n… 1 line more. ask again."),
        (["a"] * 1500, "a\na\na\n… 1,497 lines more. ask again."),
        (["12345678", "1"], "12345678\n… 1 line more. ask again."),
        (["1234", "1234"], "1234\n1234"),
        (["12345678901"], "… 1 line more. ask again."),
    ],
)
def test_lines_are_clipped_at_either_bound_and_the_rest_is_counted(lines: list[str], text: str) -> None:
    assert clip(lines, "ask again", max_lines=3, max_chars=10) == text


def test_a_line_is_cut_behind_its_cap_and_not_before() -> None:
    assert [cut("12345", 5), cut("123456", 5)] == ["12345", "12345… (+1 character)"]


def test_things_are_counted_as_people_do() -> None:
    assert [counted(0, "line"), counted(1, "line"), counted(1234, "line")] == ["0 lines", "1 line", "1,234 lines"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\n\r\nb\r", ["a", "", "b"]), ("\n", [""]), ("a\x0cb\n", ["a\x0cb"])],
)
def test_lines_are_counted_as_editors_do(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines


LINES = st.lists(st.sampled_from("abcd"), max_size=30)


@given(before=LINES, after=LINES)
@example(before=["a"] * 7, after=["a"] * 17)
@example(before=["a"] * 17, after=["a"] * 7)
def test_a_diff_says_how_to_make_one_text_of_the_other(before: list[str], after: list[str]) -> None:
    text = diff("f", "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after))
    assert patched(before, text) == after
    assert bool(text) == (before != after)


def patched(before: list[str], text: str) -> list[str]:
    """Apply a diff strictly: every line it keeps or takes away must be the one that stands there."""
    after: list[str] = []
    at = 0
    for line in text.split("\n")[2:]:
        if line.startswith("@@"):
            start, count = map(int, line.split()[1].removeprefix("-").split(","))
            begin = start - 1 if count else start
            after += before[at:begin]
            at = begin
        elif line.startswith("+"):
            after.append(line[1:])
        else:
            assert line[1:] == before[at]
            after += [before[at]] if line.startswith(" ") else []
            at += 1
    return after + before[at:]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_common_tool_applies_the_diff(tmp_path: Path) -> None:
    before = "".join(f"{n}\n" for n in range(100))
    after = before.replace("\n10\n", "\nten\n10b\n").replace("\n90\n", "\n")
    (tmp_path / "f").write_text(before)
    patch = ["git", "apply", "-p0", "--unidiff-zero", "-"]
    subprocess.run(patch, cwd=tmp_path, input=diff("f", before, after) + "\n", text=True, check=True)
    assert (tmp_path / "f").read_text() == after


def test_a_small_change_in_a_huge_file_is_shown_with_its_place() -> None:
    before = "".join(f"{n}\n" for n in range(300_000))
    assert diff("f", before, before.replace("\n200000\n", "\nhere\n")) == (
        "--- f\n+++ f\n@@ -199998,7 +199998,7 @@\n 199997\n 199998\n 199999\n-200000\n+here\n 200001\n 200002\n 200003"
    )


def test_a_huge_change_is_shown_as_replaced_and_bounded() -> None:
    before = "same\n" + "".join(f"{n}\n" for n in range(3000)) + "end\n"
    text = diff("f", before, before.replace("1", "one"))
    head, *rest = text.split("\n")[2:]
    assert head == "@@ -1,2996 +1,2996 @@"
    assert rest[:4] == [" same", " 0", "-1", "-2"]
    assert (len(rest), rest[-1]) == (198, "… 5,790 lines more. See the file itself.")


def test_a_change_of_many_characters_is_shown_as_replaced_too() -> None:
    long = "x" * 500_000
    cut_off = f"{'x' * 499}… (+499,501 characters)"
    assert diff("f", f"a\n{long}\nb\n", f"c\n{long}\nd\n") == (
        f"--- f\n+++ f\n@@ -1,3 +1,3 @@\n-a\n-{cut_off}\n-b\n+c\n+{cut_off}\n+d"
    )


def test_a_long_line_is_cut_in_a_diff() -> None:
    assert diff("f", "", "x" * 1000) == f"--- f\n+++ f\n@@ -0,0 +1,1 @@\n+{'x' * 499}… (+501 characters)"
