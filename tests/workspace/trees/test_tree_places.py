"""Where trees are made, what is in them, and which repositories cannot have any."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.workspace.trees.tree_places import INCLUDE, TreePlaces

pytestmark = pytest.mark.behaviour("worktree")


def git(folder: Path, *words: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "my work"
    work.mkdir()
    git(work, "init", "-q", "-b", "trunk")
    git(work, "config", "user.name", "U")
    git(work, "config", "user.email", "u@example.org")
    (work / ".gitignore").write_text(".env\nbuild/\n*.local\n")
    (work / "code.py").write_text("print()\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "First")
    return work


def places(work: Path) -> TreePlaces:
    return TreePlaces(work.parent / "state", work, os.environ)


def test_a_tree_has_the_files_of_its_commit_and_nothing_of_the_user_is_touched(work: Path) -> None:
    before = (work / ".git/index").read_bytes(), git(work, "for-each-ref")
    tree = places(work).create("main", "ann", git(work, "rev-parse", "HEAD"))
    assert sorted(path.name for path in tree.iterdir()) == [".git", ".gitignore", "code.py"]
    assert git(tree, "rev-parse", "HEAD") == git(work, "rev-parse", "HEAD")
    assert not tree.is_relative_to(work)
    assert ((work / ".git/index").read_bytes(), git(work, "for-each-ref")) == before


def test_a_tree_that_exists_keeps_its_work(work: Path) -> None:
    first = places(work).create("main", "ann", git(work, "rev-parse", "HEAD"))
    (first / "unfinished.py").write_text("")
    again = places(work).create("main", "ann", git(work, "rev-parse", "HEAD"))
    assert again == first
    assert (again / "unfinished.py").exists()


def test_half_a_tree_of_a_killed_process_is_made_anew(work: Path) -> None:
    half = places(work).of("main", "ann").parent / ".unfinished-ann"
    half.mkdir(parents=True)
    (half / "rubbish").write_text("")
    tree = places(work).create("main", "ann", git(work, "rev-parse", "HEAD"))
    assert not (tree / "rubbish").exists()
    assert not half.exists()


def test_ignored_files_that_the_user_lists_are_copied_and_no_others(work: Path) -> None:
    (work / INCLUDE).write_text(".env\n*.local\ncode.py\n")
    (work / ".env").write_text("KEY=1\n")
    (work / "build").mkdir()
    (work / "build/out").write_text("")
    (work / "a.local").symlink_to("/etc/hostname")
    (work / "b.local").write_text("b")
    (work / "b.local").chmod(0o700)
    tree = places(work).create("main", "ann", git(work, "rev-parse", "HEAD"))
    assert (tree / ".env").read_text() == "KEY=1\n"
    assert (tree / "b.local").stat().st_mode & 0o777 == 0o700
    assert not (tree / "build").exists()
    assert not os.path.lexists(tree / "a.local")


def _no_commit(work: Path) -> None:
    git(work, "update-ref", "-d", "refs/heads/trunk")


def _submodules(work: Path) -> None:
    (work / ".gitmodules").write_text("")


def _merging(work: Path) -> None:
    (work / ".git/MERGE_HEAD").write_text("")


def _no_repository(work: Path) -> None:
    (work / ".git").rename(work.parent / "moved")


@pytest.mark.parametrize("spoil", [_no_commit, _submodules, _merging, _no_repository], ids=lambda one: one.__name__)
def test_a_repository_that_cannot_have_trees_says_why(work: Path, spoil: Callable[[Path], None]) -> None:
    assert places(work).refusal() == ""
    spoil(work)
    assert places(work).refusal() != ""


def test_a_detached_head_a_shallow_repository_and_a_worktree_can_have_trees(work: Path) -> None:
    (work / "more.py").write_text("")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Second")
    git(work, "checkout", "-q", "--detach")
    shallow, beside = work.parent / "shallow", work.parent / "beside"
    git(work.parent, "clone", "-q", "--depth", "1", f"file://{work}", str(shallow))
    git(work, "worktree", "add", "-q", str(beside), "trunk")
    for folder in (work, shallow, beside):
        found = places(folder)
        assert found.refusal() == ""
        tree = found.create("main", "ann", git(folder, "rev-parse", "HEAD"))
        assert (tree / "more.py").exists()
        assert git(tree, "status", "--porcelain") == ""
