"""Places: which folder is worked in and which team is meant."""

import os
from pathlib import Path

import pytest

from deskmate.app.places import free_team, latest_team, workspace_of
from deskmate.errors import Refused, UnsafeFolder


def made(root: Path, *paths: str) -> Path:
    """Make these files and, where the path ends with a slash, folders; return the root."""
    for path in paths:
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"of {path}")
    return root


# -- the workspace ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(["a/b/c/"], "a/b/c", id="nothing above"),
        pytest.param(["a/.git/", "a/b/c/"], "a", id="a repository above"),
        pytest.param(["a/.git", "a/b/c/"], "a", id="a worktree above"),
        pytest.param(["a/b/.git/", "a/.git/", "a/b/c/"], "a/b", id="the nearest repository"),
        pytest.param(["a/.teams/", "a/b/.git/", "a/b/c/"], "a", id="teams before a repository"),
        pytest.param(["a/.teams/", "a/b/c/.teams/"], "a/b/c", id="teams here"),
    ],
)
def test_the_workspace_is_the_nearest_with_teams_else_the_repository_else_the_folder(
    tmp_path: Path, there: list[str], expected: str
) -> None:
    root = made(tmp_path.resolve(), *there)
    assert workspace_of(root / "a/b/c") == root / expected


def test_a_link_to_a_folder_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    root = made(tmp_path.resolve(), "a/.git/", "a/b/")
    (root / "link").symlink_to(root / "a/b")
    assert workspace_of(root / "link") == root / "a"


@pytest.mark.parametrize(("path", "words"), [("nowhere", "is not there"), ("file", "is no folder")])
def test_what_is_no_folder_is_no_workspace(tmp_path: Path, path: str, words: str) -> None:
    made(tmp_path, "file")
    with pytest.raises(UnsafeFolder, match=words):
        workspace_of(tmp_path / path)


# -- the team ---------------------------------------------------------------------------------------


def test_the_first_free_team_is_main_then_counted(tmp_path: Path) -> None:
    assert free_team(tmp_path) == "main"
    made(tmp_path, ".teams/main/", ".teams/main-3/")
    assert free_team(tmp_path) == "main-2"
    made(tmp_path, ".teams/main-2/")
    assert free_team(tmp_path) == "main-4"


def test_a_name_that_a_broken_link_has_taken_is_not_free(tmp_path: Path) -> None:
    made(tmp_path, ".teams/")
    (tmp_path / ".teams/main").symlink_to(tmp_path / "gone")
    assert free_team(tmp_path) == "main-2"


def test_the_latest_team_is_the_one_last_written_to(tmp_path: Path) -> None:
    made(tmp_path, ".teams/old/roster.jsonl", ".teams/new/roster.jsonl", ".teams/new/config.json", ".teams/empty/")
    os.utime(tmp_path / ".teams/old/roster.jsonl", (100, 100))
    os.utime(tmp_path / ".teams/new/roster.jsonl", (200, 200))
    made(tmp_path, ".teams/old/config.json", ".teams/.archive/x-1/roster.jsonl", ".teams/Not a team/roster.jsonl")
    assert latest_team(tmp_path) == "new"


def test_a_board_that_was_written_to_counts_as_its_team(tmp_path: Path) -> None:
    for at, name in enumerate(("old", "new"), 1):
        for file in (tmp_path / ".teams" / name / "roster.jsonl", tmp_path / ".tasks" / name / "board.jsonl"):
            file.parent.mkdir(parents=True)
            file.touch()
            os.utime(file, (at, at))
    os.utime(tmp_path / ".tasks" / "old" / "board.jsonl", (3, 3))
    assert latest_team(tmp_path) == "old"


def test_a_team_is_as_new_as_the_newest_of_its_streams(tmp_path: Path) -> None:
    made(tmp_path, ".teams/one/roster.jsonl", ".teams/two/roster.jsonl", ".teams/two/lead_transcript.jsonl")
    for path, seconds in (("one/roster", 200), ("two/roster", 100), ("two/lead_transcript", 300)):
        os.utime(tmp_path / f".teams/{path}.jsonl", (seconds, seconds))
    assert latest_team(tmp_path) == "two"


@pytest.mark.parametrize("there", [[], [".teams/"], [".teams/.archive/", ".teams/file"]])
def test_where_there_is_no_team_it_says_how_to_begin_one(tmp_path: Path, there: list[str]) -> None:
    made(tmp_path, *there)
    with pytest.raises(Refused, match="begin one with: deskmate, or deskmate run"):
        latest_team(tmp_path)
