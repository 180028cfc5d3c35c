"""Places: which folder is worked in and which team is meant."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deskmate.errors import Refused, UnsafeFolder
from deskmate.stores.archive import teams_in
from deskmate.trust.folders import free_team, known_team, latest_team, workspace_of


def made(root: Path, *paths: str) -> Path:
    """Make these files, with the text after a `=`, and folders for paths that end with a slash; return the root."""
    for path, mark, text in (path.partition("=") for path in paths):
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text if mark else f"of {path}")
    return root


# -- the workspace ----------------------------------------------------------------------------------


def repository(place: str) -> list[str]:
    return [f"{place}/.git/HEAD", f"{place}/.git/objects/", f"{place}/.git/refs/"]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(["a/b/c/"], "a/b/c", id="nothing above"),
        pytest.param(repository("a"), "a", id="a repository above"),
        pytest.param([*repository("a"), *repository("a/b")], "a/b", id="the nearest repository"),
        pytest.param([*repository("a"), *repository("a/b/c")], "a/b/c", id="a repository in a repository"),
        pytest.param([*repository("a"), "a/b/.git=gitdir: ../.git/modules/b"], "a/b", id="a submodule"),
        pytest.param([*repository("a"), "a/b/.git=gitdir: /gone/worktrees/b"], "a/b", id="a worktree that was pruned"),
        pytest.param([*repository("a"), "a/b/.git=not a pointer"], "a", id="a file .git that names no folder"),
        pytest.param([*repository("a"), "a/b/.git/"], "a", id="an empty .git of a placeholder"),
        pytest.param([*repository("a"), "a/b/.git/config", "a/b/.git/hooks/"], "a", id="a .git without HEAD"),
        pytest.param([*repository("a"), "a/b/.git/HEAD/"], "a", id="a .git whose HEAD is a folder"),
        pytest.param([*repository("a"), "a/b/.git/HEAD"], "a", id="a .git with HEAD alone"),
        pytest.param(["a/.teams/", *repository("a/b")], "a/b", id="teams above a repository"),
        pytest.param(["a/.teams/", "a/b/.git=gitdir: x"], "a/b", id="teams above a worktree"),
        pytest.param([*repository("a"), "a/b/.teams/"], "a", id="teams below the top of a repository"),
        pytest.param([*repository("a"), "a/b/c/.teams/"], "a", id="teams here, in a repository"),
        pytest.param([*repository("a"), "a/b/.teams/", "a/b/.git/"], "a", id="teams beside a placeholder"),
        pytest.param([*repository("a"), "a/b/.teams/", "a/b/.git/config"], "a/b", id="a broken repository with teams"),
        pytest.param(["a/.teams/"], "a", id="teams above, outside of git"),
        pytest.param(["a/.teams/", "a/b/.teams/"], "a/b", id="the nearest teams, outside of git"),
        pytest.param(["a/.teams/", "a/b/c/.teams/"], "a/b/c", id="teams here, outside of git"),
        pytest.param(["a/.teams/", "a/b/.teams"], "a", id="a file .teams"),
        pytest.param(["a/.git/HEAD"], "a/b/c", id="a broken repository without teams"),
        pytest.param(["a/HEAD", "a/objects/", "a/refs/"], "a/b/c", id="a bare repository"),
    ],
)
def test_the_workspace_is_the_repository_else_the_nearest_with_teams_else_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], expected: str
) -> None:
    root = made(tmp_path.resolve(), "a/b/c/", *there)
    monkeypatch.chdir(root / "a/b/c")
    assert workspace_of(None) == root / expected


def test_real_repositories_worktrees_and_submodules_are_found_as_git_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path.resolve(), "main/deep/", "other/")

    def git(place: str, *words: str) -> str:
        own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
        ended = subprocess.run(["git", "-C", root / place, *own, *words], check=True, timeout=60, capture_output=True)
        return ended.stdout.decode().strip()

    for place in ("main", "other"):
        git(place, "init", "-q")
        git(place, "commit", "-q", "--allow-empty", "-m", "x")
    git("main", "submodule", "--quiet", "add", str(root / "other"), "sub")
    git("main", "worktree", "add", "-q", "trees/one")
    git("main", "worktree", "add", "-q", "../beside")
    made(root, ".teams/", "main/sub/deep/", "main/trees/one/deep/", "beside/deep/")
    for place in ("main", "main/deep", "main/sub/deep", "main/trees/one/deep", "beside/deep", "main/trees"):
        monkeypatch.chdir(root / place)
        assert workspace_of(None) == Path(git(place, "rev-parse", "--show-toplevel")), place


@pytest.mark.parametrize("there", [[], repository("a"), ["a/.teams/"], ["a/.teams/", *repository("a/b")]])
def test_a_folder_that_is_chosen_is_the_workspace_whatever_is_above_it(tmp_path: Path, there: list[str]) -> None:
    root = made(tmp_path.resolve(), "a/b/c/", *there)
    assert workspace_of(root / "a/b/c") == root / "a/b/c"


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_WORK_TREE", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR"])
def test_variables_of_git_do_not_move_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    root = made(tmp_path.resolve(), *repository("a"), "a/b/", *repository("other"))
    monkeypatch.setenv(variable, str(root / "other/.git" if variable == "GIT_DIR" else root / "other"))
    monkeypatch.chdir(root / "a/b")
    assert workspace_of(None) == root / "a"


@pytest.mark.parametrize("there", [repository("home"), ["home/.teams/"], repository("."), [".teams/"]])
def test_a_folder_that_holds_the_home_is_no_workspace_for_those_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str]
) -> None:
    root = made(tmp_path.resolve(), "home/work/deep/", *there)
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.chdir(root / "home/work/deep")
    assert workspace_of(None) == root / "home/work/deep"
    monkeypatch.chdir(root / "home")
    assert workspace_of(None) == root / "home"


def test_a_repository_below_a_home_that_is_one_is_its_own_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path.resolve(), *repository("home"), "home/.teams/", *repository("home/a"), "home/a/b/")
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.chdir(root / "home/a/b")
    assert workspace_of(None) == root / "home/a"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("mark", [".git", ".teams"])
def test_what_another_user_planted_above_makes_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    root = made(tmp_path.resolve(), "a/b/c/", "a/.teams/", *repository("a"))
    for name in {".git", ".teams"} - {mark}:
        shutil.rmtree(root / "a" / name)
    monkeypatch.chdir(root / "a/b/c")
    os.chown(root / "a" / mark, 12345, 12345)
    assert workspace_of(None) == root / "a/b/c"
    # In a folder of theirs it counts, as for the root of a container in the files of its user.
    os.chown(root / "a/b/c", 12345, 12345)
    assert workspace_of(None) == root / "a"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_that_another_user_planted_to_a_repository_makes_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path.resolve(), "a/b/", *repository("mine"))
    (root / "a/.git").symlink_to(root / "mine/.git")
    monkeypatch.chdir(root / "a/b")
    assert workspace_of(None) == root / "a"
    os.lchown(root / "a/.git", 12345, 12345)
    assert workspace_of(None) == root / "a/b"


def test_a_pipe_in_the_place_of_git_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path.resolve(), "a/b/")
    os.mkfifo(root / "a/.git")
    monkeypatch.chdir(root / "a/b")
    assert workspace_of(None) == root / "a/b"


def test_a_link_to_a_folder_is_the_folder_it_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path.resolve(), *repository("a"), "a/b/")
    (root / "link").symlink_to(root / "a/b")
    assert workspace_of(root / "link") == root / "a/b"
    monkeypatch.chdir(root / "link")
    assert workspace_of(None) == root / "a"


@pytest.mark.parametrize(("path", "words"), [("nowhere", "does not exist"), ("file", "is not a folder")])
def test_what_is_no_folder_is_no_workspace(tmp_path: Path, path: str, words: str) -> None:
    made(tmp_path, "file")
    with pytest.raises(UnsafeFolder, match=words):
        workspace_of(tmp_path / path)


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        pytest.param([".teams/main/roster.jsonl", *repository("a")], "a", ".", id="above a repository"),
        pytest.param([*repository("a"), "a/b/.teams/main/roster.jsonl"], "a/b/c", "a/b", id="below its top"),
        pytest.param(["home/.teams/main/roster.jsonl", "home/a/"], "home/a", "home", id="in the home folder"),
    ],
)
def test_without_a_team_in_the_workspace_those_that_0_1_would_have_used_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], here: str, expected: str
) -> None:
    root = made(tmp_path.resolve(), "home/", f"{here}/", *there)
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.chdir(root / here)
    place = root / expected
    hint = re.escape(f"Team main is in {place}. To continue there, run: deskmate -C {place} resume")
    with pytest.raises(Refused, match=hint):
        latest_team(workspace_of(None))
    with pytest.raises(Refused, match=hint):
        known_team(workspace_of(None), "main")


# -- the team ---------------------------------------------------------------------------------------


def test_the_first_free_team_is_main_then_counted(tmp_path: Path) -> None:
    assert free_team(tmp_path) == "main"
    made(tmp_path, ".teams/main/roster.jsonl", ".teams/main-3/roster.jsonl")
    assert free_team(tmp_path) == "main-2"
    made(tmp_path, ".teams/main-2/roster.jsonl")
    assert free_team(tmp_path) == "main-4"


LEFT = (".teams/main/.lock=", ".teams/main/lead.seat=process 7", ".teams/main/signature=x", ".tasks/main/.lock=")


@pytest.mark.parametrize(
    ("there", "free"),
    [
        pytest.param([".teams/main/", ".tasks/main/"], True, id="empty folders"),
        pytest.param([*LEFT], True, id="all that is made before a record"),
        pytest.param([*LEFT, ".teams/main/roster.jsonl="], True, id="a roster without a byte"),
        pytest.param([*LEFT, ".teams/main/.0123456789abcdef=x"], True, id="a draft of a signature"),
        pytest.param([*LEFT, ".teams/main/roster.jsonl={"], False, id="a torn record"),
        pytest.param([*LEFT, ".teams/main/.lock=marks"], False, id="marks of records that were there"),
        pytest.param([*LEFT, ".teams/main/notes.md"], False, id="a file of somebody"),
        pytest.param([*LEFT, ".teams/main/roster.jsonl/"], False, id="a folder in the place of a file"),
        pytest.param([*LEFT, ".teams/main/lead_inbox.jsonl="], False, id="a mailbox"),
        pytest.param([*LEFT, ".tasks/main/board.jsonl=x"], False, id="a board"),
        pytest.param([".tasks/main/1.json"], False, id="a task and no team"),
        pytest.param([".teams/main"], False, id="a file"),
    ],
)
def test_a_folder_without_a_record_is_no_team_and_its_name_is_free(
    tmp_path: Path, there: list[str], free: bool
) -> None:
    made(tmp_path, *there)
    assert free_team(tmp_path) == ("main" if free else "main-2")
    known = "main" in teams_in(tmp_path)
    assert known is (not free and (tmp_path / ".teams/main").is_dir())
    assert free_team(tmp_path, {"main", "main-2"}) == "main-3"


@pytest.mark.parametrize("link", ["main", "main/lead.seat", "main/.lock"])
def test_a_link_in_the_place_of_what_was_left_is_left_alone(tmp_path: Path, link: str) -> None:
    made(tmp_path, ".teams/", *([".teams/main/"] if "/" in link else []), "elsewhere/")
    (tmp_path / ".teams" / link).symlink_to(tmp_path / "elsewhere")
    assert free_team(tmp_path) == "main-2"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_an_empty_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    made(tmp_path, ".teams/main/")
    os.chown(tmp_path / ".teams/main", 12345, 12345)
    assert free_team(tmp_path) == "main-2"


def test_where_nobody_can_tell_which_names_are_free_the_first_is_tried(tmp_path: Path) -> None:
    made(tmp_path, ".teams")
    assert free_team(tmp_path) == "main"


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
            file.write_text("x")
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
    with pytest.raises(Refused, match="To start one, run: deskmate"):
        latest_team(tmp_path)
