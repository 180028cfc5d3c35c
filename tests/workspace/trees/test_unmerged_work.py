"""What members have not merged, on a real repository: commits, edits, conflicts, and trees that lie."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import pytest

from deskmate.core.radar.overlaps import BRANCH, Overlap, WorkInProgress, overlaps_of
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.trial_merges import TrialMerges
from deskmate.workspace.trees.unmerged_work import UnmergedWork
from tests.workspace.trees.tree_repository import TreeRepository

pytestmark = pytest.mark.behaviour("radar")
Look = Callable[[Mapping[str, list[str]]], tuple[Overlap, ...]]


class Trees:
    """Members with trees in a repository, without agents."""

    def __init__(self, repository: TreeRepository) -> None:
        self.repository, self.tip = repository, repository.begin()
        self.work: UnmergedWork = repository.trees.unmerged()

    def tree(self, member: str) -> Path:
        return self.repository.places.create("main", member, self.tip)

    def git(self, member: str, *words: str) -> str:
        ran = subprocess.run(["git", "-C", str(self.tree(member)), *words], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def write(self, member: str, name: str, text: str) -> None:
        (self.tree(member) / name).write_text(text)

    def commit(self, member: str, name: str, text: str) -> None:
        self.write(member, name, text)
        self.git(member, "add", "-A")
        self.git(member, "commit", "-qm", f"{member} changes {name}")

    def works(self, **edited: list[str]) -> list[WorkInProgress]:
        return anyio.run(self.work.look, edited)[0]

    def look(self, **edited: list[str]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        found = overlaps_of(*anyio.run(self.work.look, edited))
        return [(one.kind, one.members, one.files) for one in found]


@pytest.fixture
def trees(repository: TreeRepository) -> Trees:
    return Trees(repository)


def test_commits_of_two_members_that_conflict_are_found(trees: Trees) -> None:
    trees.commit("ann", "list.txt", "ONE\ntwo\nthree\n")
    trees.commit("bob", "list.txt", "uno\ntwo\nthree\n")
    trees.commit("cleo", "list.txt", "one\ntwo\nTHREE\n")
    assert trees.look(ann=[], bob=[], cleo=[]) == [("conflict", ("ann", "bob"), ("list.txt",))]


def test_an_edit_counts_until_it_is_committed_or_taken_back(trees: Trees) -> None:
    trees.write("ann", "list.txt", "ONE\ntwo\nthree\n")
    trees.write("bob", "list.txt", "one\ntwo\nTHREE\n")
    edited = {"ann": ["list.txt"], "bob": ["list.txt", "other.txt"]}
    assert trees.look(**edited) == [("edits", ("ann", "bob"), ("list.txt",))]
    trees.commit("ann", "list.txt", "ONE\ntwo\nthree\n")
    assert trees.look(**edited) == [("edits", ("ann", "bob"), ("list.txt",))]
    trees.commit("bob", "list.txt", "one\ntwo\nTHREE\n")
    assert trees.look(**edited) == []
    trees.write("bob", "list.txt", "half\n")
    assert trees.look(**edited) == [("edits", ("ann", "bob"), ("list.txt",))]
    trees.git("bob", "checkout", "-q", "list.txt")
    assert trees.look(**edited) == []


def test_a_member_is_told_when_the_branch_moved_under_its_files(trees: Trees) -> None:
    trees.write("ann", "list.txt", "one\ntwo\nthree\nfour\n")
    trees.commit("bob", "list.txt", "ONE\ntwo\nthree\n")
    trees.write("cleo", "other.txt", "mine\n")
    trees.repository.merge_work({"list.txt": "uno\ntwo\nthree\n"})
    found = trees.look(ann=["list.txt"], bob=[], cleo=["other.txt"])
    assert found == [
        ("moved", ("ann",), ("list.txt",)),
        ("conflict", ("bob",), ("list.txt",)),
        ("edits", ("ann", "bob"), ("list.txt",)),
    ]


def test_the_command_that_a_member_is_told_merges_the_branch(trees: Trees) -> None:
    trees.commit("ann", "list.txt", "one\ntwo\nthree\nfour\n")
    trees.repository.merge_work({"list.txt": "uno\ntwo\nthree\n"})
    assert trees.look(ann=[]) == [("moved", ("ann",), ("list.txt",))]
    trees.git("ann", "pull", "--no-rebase", "--no-edit", "origin", "deskmate/main")
    assert (trees.tree("ann") / "list.txt").read_text() == "uno\ntwo\nthree\nfour\n"
    assert trees.look(ann=[]) == []


def test_commits_are_taken_once_and_kept(trees: Trees) -> None:
    trees.commit("ann", "list.txt", "ONE\ntwo\nthree\n")
    head = trees.git("ann", "rev-parse", "HEAD")
    assert trees.works(ann=[]) == [WorkInProgress("ann", frozenset({"list.txt"}))]
    assert TeamBranch(trees.repository.places.git, "main").kept("heads/ann") == head
    assert list(trees.tree("ann").glob(".git/*.pack")) == []


def test_a_tree_that_lies_about_its_commit_is_left_out_and_does_not_stop_the_others(trees: Trees) -> None:
    trees.commit("bob", "list.txt", "uno\ntwo\nthree\n")
    (trees.tree("ann") / ".git/HEAD").write_text(f"{'1' * 40}\n")
    (trees.tree("cleo") / ".git/HEAD").write_text("ref: refs/heads/../../../../etc/passwd\n")
    assert [work.member for work in trees.works(ann=["list.txt"], bob=[], cleo=[])] == ["bob"]


def test_a_pipe_in_the_place_of_the_packed_commit_does_not_stop_the_look(trees: Trees) -> None:
    trees.commit("ann", "list.txt", "ONE\ntwo\nthree\n")
    os.mkfifo(trees.tree("ann") / ".git/deskmate-head.pack")
    assert trees.works(ann=[]) == [WorkInProgress("ann", frozenset({"list.txt"}))]


def test_a_link_is_not_followed_out_of_a_tree(trees: Trees, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (trees.tree("ann") / "list.txt").unlink()
    (trees.tree("ann") / "list.txt").symlink_to(tmp_path / "secret")
    names = ["list.txt", "../../escape", str(tmp_path / "secret"), "no such file"]
    [work] = trees.works(ann=names)
    assert work.edited == {"list.txt"}


def test_files_that_git_ignores_do_not_count(repository: TreeRepository) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.commit("Ignore logs")
    trees = Trees(repository)
    for member in ("ann", "bob"):
        trees.write(member, "build.log", member)
        trees.write(member, "new.py", member)
    edited = ["build.log", "new.py"]
    assert trees.look(ann=edited, bob=edited) == [("edits", ("ann", "bob"), ("new.py",))]


def test_without_a_branch_there_is_nothing_to_compare(repository: TreeRepository) -> None:
    assert anyio.run(repository.trees.unmerged().look, {"ann": ["list.txt"]}) == ([], {})


def test_odd_names_and_odd_conflicts_are_named_in_full(trees: Trees) -> None:
    odd = "öd d\tname\n.txt"
    trees.commit("ann", odd, "ann\n")
    trees.commit("bob", odd, "bob\n")
    trees.git("ann", "rm", "-q", "other.txt")
    trees.git("ann", "commit", "-qm", "Remove")
    trees.commit("bob", "other.txt", "changed\n")
    assert trees.look(ann=[], bob=[]) == [("conflict", ("ann", "bob"), ("other.txt", odd))]


def test_each_pair_is_merged_once_as_long_as_it_is_asked_for(trees: Trees) -> None:
    trees.commit("ann", "list.txt", "ONE\ntwo\nthree\n")
    trees.commit("bob", "list.txt", "uno\ntwo\nthree\n")
    trees.works(ann=[], bob=[])
    heads = frozenset({trees.git("ann", "rev-parse", "HEAD"), trees.git("bob", "rev-parse", "HEAD")})
    merges = TrialMerges(trees.repository.places.git)
    assert merges.conflicts({heads}) == {heads: ("list.txt",)}
    # Git would fail on this repository now.
    (trees.repository.root / ".git/HEAD").unlink()
    assert merges.conflicts({heads}) == {heads: ("list.txt",)}
    assert merges.conflicts(set()) == {}


def test_an_old_git_finds_no_conflicts_and_does_not_fail(trees: Trees, tmp_path: Path) -> None:
    trees.commit("ann", "list.txt", "ONE\ntwo\nthree\n")
    trees.commit("bob", "list.txt", "uno\ntwo\nthree\n")
    heads = frozenset({trees.git("ann", "rev-parse", "HEAD"), trees.git("bob", "rev-parse", "HEAD")})
    old = tmp_path / "bin/git"
    old.parent.mkdir()
    old.write_text('#!/bin/sh\ncase "$*" in *version) echo git version 2.38.1;; *) exit 129;; esac\n')
    old.chmod(0o755)
    git = GitProgram(trees.repository.places.repository, {"PATH": f"{old.parent}:/usr/bin:/bin"})
    assert TrialMerges(git).conflicts({heads}) == {heads: ()}


def test_a_commit_without_a_common_past_is_left_out(trees: Trees) -> None:
    trees.git("ann", "checkout", "-q", "--orphan", "new")
    trees.git("ann", "commit", "-qm", "Other")
    assert trees.works(ann=[]) == []
    assert (BRANCH, trees.look(ann=[])) == ("", [])


def test_a_folder_of_a_member_in_the_place_of_a_link_of_the_user_hides_no_overlap(trees: Trees) -> None:
    (trees.repository.root / "docs").symlink_to("list.txt")
    for member in ("ann", "bob"):
        (trees.tree(member) / "docs").mkdir()
        trees.write(member, "docs/new.txt", member)
    found = trees.look(ann=["docs/new.txt"], bob=["docs/new.txt"])
    assert found == [("edits", ("ann", "bob"), ("docs/new.txt",))]
