"""Repositories as people have them: work gets through, or there is a reason with the next step."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deskmate.errors import ToolError
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.handover.branch_handover import HandedOver, NotHandedOver
from tests.workspace.trees.odd.round_trip import RoundTrip, commit, git, new, status

pytestmark = pytest.mark.behaviour("worktree")


def _plain(folder: Path) -> Path:
    return new(folder / "work")


def _shallow(folder: Path) -> Path:
    git(folder, "clone", "-q", "--depth", "1", f"file://{_two_commits(folder)}", str(folder / "shallow"))
    return folder / "shallow"


def _partial(folder: Path) -> Path:
    work = _two_commits(folder)
    git(work, "config", "uploadpack.allowFilter", "true")
    git(folder, "clone", "-q", "--filter=blob:none", f"file://{work}", str(folder / "partial"))
    return folder / "partial"


def _two_commits(folder: Path) -> Path:
    work = new(folder / "origin")
    (work / "list.txt").write_text("changed\n")
    commit(work, "Second")
    return work


def _worktree(folder: Path) -> Path:
    git(new(folder / "work"), "worktree", "add", "-q", "-b", "side", str(folder / "beside"))
    return folder / "beside"


def _shared(folder: Path) -> Path:
    git(folder, "clone", "-q", "--shared", str(new(folder / "work")), str(folder / "shared"))
    return folder / "shared"


def _packed(folder: Path) -> Path:
    work = new(folder / "work")
    git(work, "gc", "-q")
    return work


def _sha256(folder: Path) -> Path:
    work = folder / "work"
    work.mkdir()
    git(work, "init", "-q", "--object-format=sha256")
    git(work, "config", "user.name", "Ursula")
    git(work, "config", "user.email", "ursula@example.org")
    commit(work)
    return work


def _sparse(folder: Path) -> Path:
    work = new(folder / "work", {"a/one": b"1\n", "b/two": b"2\n"})
    git(work, "sparse-checkout", "set", "a")
    return work


def _odd_index(folder: Path) -> Path:
    work = new(folder / "work")
    for key, value in {"core.fsmonitor": "true", "index.version": "4", "extensions.worktreeConfig": "true"}.items():
        git(work, "config", key, value)
    git(work, "update-index", "--split-index")
    return work


def _signing(folder: Path) -> Path:
    work = new(folder / "work")
    git(work, "config", "commit.gpgSign", "true")
    git(work, "config", "gpg.program", "false")
    return work


def _hooks(folder: Path) -> Path:
    work = new(folder / "work", {".husky/pre-commit": b"#!/bin/sh\nexit 1\n", "list.txt": b"one\n"})
    (work / ".husky/pre-commit").chmod(0o755)
    commit(work)
    git(work, "config", "core.hooksPath", ".husky")
    return work


def _nameless(folder: Path) -> Path:
    work = new(folder / "work")
    for key in ("user.name", "user.email"):
        git(work, "config", "--unset", key)
    return work


def _odd_place(folder: Path) -> Path:
    return new(folder / 'my "work"\n#1: ü [x]')


def _quoted_place(folder: Path) -> Path:
    return new(folder / '"quoted" \\n\n')


REPOSITORIES = [
    _plain,
    _shallow,
    _partial,
    _worktree,
    _shared,
    _packed,
    _sha256,
    _sparse,
    _odd_index,
    _signing,
    _hooks,
    _nameless,
    _odd_place,
    _quoted_place,
]


@pytest.mark.parametrize("make", REPOSITORIES, ids=lambda make: make.__name__.strip("_"))
def test_work_gets_through(tmp_path: Path, make: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    if make is not _nameless:
        (tmp_path / "home/.gitconfig").write_text("[user]\n\tname = Ursula\n\temail = ursula@example.org\n")
    root = make(tmp_path)
    # From here on, git has no settings of this machine.
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    trip = RoundTrip(root)
    assert isinstance(trip.work("echo new > new.txt"), HandedOver)
    assert (root / "new.txt").read_text() == "new\n"
    assert status(root) == ""
    assert status(trip.tree) == ""


def test_work_with_a_detached_head_waits_for_a_branch(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    git(root, "checkout", "-q", "--detach")
    trip = RoundTrip(root)
    assert isinstance(anyio.run(trip.merge, "echo new > new.txt"), str)
    git(root, "switch", "-q", "trunk")
    assert isinstance(trip.hand_over(), HandedOver)


# -- reasons --------------------------------------------------------------------------------------


def _bare(folder: Path) -> Path:
    git(folder, "clone", "-q", "--bare", str(new(folder / "work")), str(folder / "bare.git"))
    return folder / "bare.git"


def _no_commit(folder: Path) -> Path:
    git(folder, "init", "-q", str(folder / "work"))
    return folder / "work"


def _submodule(folder: Path) -> Path:
    work, lib = new(folder / "work"), new(folder / "lib")
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(lib), "lib")
    commit(work)
    return work


def _elsewhere(folder: Path) -> Path:
    work = new(folder / "work")
    git(work, "init", "-q", "--separate-git-dir", str(folder / "store"))
    return work


def _branch_deskmate(folder: Path) -> Path:
    work = new(folder / "work")
    git(work, "branch", "deskmate")
    return work


def _one_name(folder: Path) -> Path:
    work = new(folder / "work", {"READ.me": b"1\n", "read.ME": b"2\n"})
    git(work, "config", "core.ignoreCase", "true")
    return work


REASONS: dict[Callable[[Path], Path], str] = {
    _bare: "bare",
    _no_commit: "no commit",
    _submodule: "submodules",
    _elsewhere: "store",
    _branch_deskmate: "git branch -m deskmate ",
    _one_name: "READ.me and read.ME",
}


@pytest.mark.parametrize(("make", "part"), REASONS.items(), ids=[make.__name__.strip("_") for make in REASONS])
def test_there_is_a_reason_against_trees(tmp_path: Path, make: Callable[[Path], Path], part: str) -> None:
    assert part in RoundTrip(make(tmp_path)).places.refusal()


def test_the_reason_against_a_branch_named_deskmate_can_be_removed_as_it_says(tmp_path: Path) -> None:
    trip = RoundTrip(_branch_deskmate(tmp_path))
    command = trip.places.refusal().rpartition(": ")[2].replace("NEW-NAME", "mine")
    subprocess.run(command, shell=True, cwd=trip.root, check=True)
    assert isinstance(trip.work("echo new > new.txt"), HandedOver)


def test_a_branch_below_that_of_the_team_is_named_with_the_command_that_renames_it(tmp_path: Path) -> None:
    trip = RoundTrip(_plain(tmp_path))
    git(trip.root, "branch", "deskmate/main/mine")
    with pytest.raises(ToolError, match="git branch -m deskmate/main/mine NEW-NAME"):
        anyio.run(trip.begin)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_is_used_once_git_is_told_that_this_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = _plain(tmp_path)
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534)
    trip = RoundTrip(root)
    subprocess.run(trip.places.refusal().rpartition(": ")[2], shell=True, check=True)
    assert trip.places.refusal() == ""
    assert isinstance(trip.work("echo new > new.txt"), HandedOver)


def test_a_repository_that_cannot_be_written_says_which_branch_is_missing(tmp_path: Path) -> None:
    trip = RoundTrip(_plain(tmp_path))
    # No permission stops root. This does.
    (trip.root / ".git/refs/heads/deskmate").write_text("")
    with pytest.raises(ToolError, match="deskmate/main cannot be created"):
        anyio.run(trip.begin)


# -- a repository inside a repository -------------------------------------------------------------


def test_a_repository_of_the_user_inside_this_one_is_no_part_of_the_work(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    inner = new(root / "inner")
    (root / "draft.txt").write_text("draft\n")
    trip = RoundTrip(root)
    assert isinstance(trip.work("test ! -e inner; echo new > new.txt"), HandedOver)
    assert git(root, "ls-tree", "--name-only", "deskmate/main").split() == ["draft.txt", "list.txt", "new.txt"]
    assert status(inner) == ""


def test_a_repository_that_a_member_makes_is_refused_until_it_is_an_ordinary_folder(tmp_path: Path) -> None:
    trip = RoundTrip(_plain(tmp_path))
    make = "git init -q inner && cd inner && echo x > file && git add -A"
    commits = f"{make} && git -c user.name=a -c user.email=b commit -qm First"
    with pytest.raises(ToolError, match="inner"):
        anyio.run(trip.merge, commits)
    assert isinstance(trip.work("rm -rf inner/.git"), HandedOver)
    assert (trip.root / "inner/file").read_text() == "x\n"


# -- what happens meanwhile -----------------------------------------------------------------------


def test_a_member_whose_tree_was_deleted_is_told_and_gets_a_new_one_when_it_starts_again(
    tmp_path: Path, bubblewrap: Sandbox
) -> None:
    trip = RoundTrip(_plain(tmp_path), sandbox=bubblewrap)
    anyio.run(trip.begin)
    shutil.rmtree(trip.tree)
    with pytest.raises(ToolError, match="gone"):
        anyio.run(trip.offer, lambda tree: None)
    with pytest.raises(ToolError, match="gone"):
        anyio.run(trip.offer, "echo new > new.txt")
    assert isinstance(trip.work("echo new > new.txt"), HandedOver)


def test_in_a_repository_that_was_moved_teammates_get_new_trees(tmp_path: Path) -> None:
    trip = RoundTrip(_plain(tmp_path))
    anyio.run(trip.merge, "echo one > one.txt")
    trip.root.rename(tmp_path / "moved")
    moved = RoundTrip(tmp_path / "moved")
    assert isinstance(moved.work("cat one.txt; echo two > two.txt"), HandedOver)
    assert moved.places.gone_workspaces() == [(str(trip.root), trip.places.folder)]


def test_locks_that_a_killed_git_left_in_a_tree_are_removed_when_its_member_starts_again(tmp_path: Path) -> None:
    trip = RoundTrip(_plain(tmp_path))
    anyio.run(trip.begin)
    for name in ("index.lock", "HEAD.lock"):
        (trip.tree / ".git" / name).touch()
    assert isinstance(trip.work("echo new > new.txt"), HandedOver)


def test_files_that_the_user_hides_from_git_are_never_overwritten(tmp_path: Path) -> None:
    root = new(tmp_path / "work", {"a": b"1\n", "b": b"1\n"})
    git(root, "update-index", "--skip-worktree", "a")
    (root / "a").write_text("mine\n")
    trip = RoundTrip(root)
    assert isinstance(trip.work("echo 2 > b"), HandedOver)
    assert isinstance(trip.work("echo 2 > a"), NotHandedOver)
    assert (root / "a").read_text() == "mine\n"
    assert git(root, "show", "deskmate/main:a") == "2"
