"""Which paths a pattern matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.errors import ToolError
from deskmate.workspace.globs import GlobPattern


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "a.py"),
        ("**/*.py", "a.py"),
        ("**/*.py", "x/y/a.py"),
        ("src/**", "src/x/a.py"),
        ("src/", "src/x/a.py"),
        ("src/**/b/*.py", "src/b/a.py"),
        ("./src/*.py", "src/a.py"),
        ("**/*.{ts,tsx}", "x/a.tsx"),
        ("{a,b{c,d}}/x", "bd/x"),
        ("[ab]?.txt", "b1.txt"),
        (".github/**/*.yml", ".github/workflows/ci.yml"),
        ("**/.env*", "x/.env.local"),
        ("a/**/**/b", "a/b"),
        ("{x", "{x"),
    ],
)
def test_a_path_is_matched(pattern: str, path: str) -> None:
    assert GlobPattern(pattern).matches(path.split("/"))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "x/a.py"),
        ("*", ".env"),
        ("**", ".git/config"),
        ("**/*.py", ".venv/a.py"),
        ("src/**", "src2/a.py"),
        ("a/*/b", "a/b"),
        ("*.py", "A.PY"),
        ("**/*.{ts,tsx}", "x/a.js"),
    ],
)
def test_a_path_is_not_matched(pattern: str, path: str) -> None:
    assert not GlobPattern(pattern).matches(path.split("/"))


names = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name.strip("."))
patterns = st.lists(st.one_of(st.sampled_from(["**", "*", "a*", "?", ".*"]), names), min_size=1, max_size=4)


@given(pattern=patterns.map("/".join), path=st.lists(names, min_size=1, max_size=4))
def test_the_folders_above_a_match_are_reached(pattern: str, path: list[str]) -> None:
    glob = GlobPattern(pattern)
    if glob.matches(path):
        assert all(glob.reaches(path[:depth]) for depth in range(len(path)))


def test_a_folder_that_cannot_hold_a_match_is_not_reached() -> None:
    assert GlobPattern("src/*.py").reaches(["src"])
    assert not GlobPattern("src/*.py").reaches(["docs"])
    assert not GlobPattern("src/*.py").reaches(["src", "deep"])
    assert not GlobPattern("**/*.py").reaches([".venv"])


@pytest.mark.parametrize("pattern", ["../*", "a/../b", "/etc/*", "{a,b}" * 10])
def test_a_pattern_that_leads_out_or_stands_for_too_many_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError):
        GlobPattern(pattern)


def test_a_hostile_pattern_takes_no_longer_than_it_is() -> None:
    assert not GlobPattern("*a" * 100 + "b").matches(["a" * 255])
    assert not GlobPattern("**/a/" * 50 + "b").matches(["a"] * 200)
