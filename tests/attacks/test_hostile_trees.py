"""A member that plants things in its own tree: git outside its sandbox runs none of it and takes nothing foreign."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from deskmate.workspace.trees import team_branch
from deskmate.workspace.trees.own_tree import OwnTree
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]

HOOKS = ("pre-commit", "post-commit", "post-checkout", "post-merge", "reference-transaction", "post-index-change")
MALFORMED = {"empty": b"", "cut": b"PACK", "garbage": b"PACK\0\0\0\2\0\0\0\1garbage" * 10}


class Ground:
    """A repository, a member's tree, and a mark outside both that no command of the member can make."""

    def __init__(self, folder: Path) -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        self.work, self.mark, self.secret = folder / "work", folder / "mark", folder / "secret"
        for path in (self.work, folder / "home", self.secret):
            path.mkdir()
            _git(path, "init", "-q")
            _git(path, "config", "user.name", "U")
            _git(path, "config", "user.email", "u@example.org")
            (path / "file.txt").write_text(f"in {path.name}\n")
            _git(path, "add", "-A")
            _git(path, "commit", "-qm", "First")
        sandbox = find_sandbox(folder / "state", environ=environ, hidden=(self.secret,))
        if sandbox.level is not Level.BUBBLEWRAP:
            pytest.skip("bubblewrap does not run here")
        self.places = places = TreePlaces(folder / "state", self.work, environ)
        self.branch = TeamBranch(places.git, "main")
        self.branch.begin(_git(self.work, "rev-parse", "HEAD"))
        self.tree = places.create("main", "eve", self.branch.tip() or "")
        workspace = LocalWorkspace(
            self.tree, "main", "eve", environ=environ, sandbox=sandbox, records=self.work, readable=(places.repository,)
        )
        self.own = OwnTree(workspace, self.branch, "eve")

    @property
    def command(self) -> str:
        return f"touch {self.mark}"


def _git(folder: Path, *words: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def _config(ground: Ground) -> None:
    config = ground.tree / ".git/config"
    keys = "\tfsmonitor = {0}\n\tpager = {0}\n\teditor = {0}\n\tsshCommand = {0}\n\tgitProxy = {0}\n"
    filters = '[filter "x"]\n\tclean = {0}; cat\n\tsmudge = {0}; cat\n[uploadpack]\n\tpackObjectsHook = {0}\n'
    config.write_text(f"{config.read_text()}[core]\n{(keys + filters).format(ground.command)}")
    (ground.tree / ".gitattributes").write_text("* filter=x merge=x diff=x\n")


def _hooks(ground: Ground) -> None:
    hooks = ground.tree / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-merge",
        "reference-transaction",
        "post-index-change",
    ):
        (hooks / name).write_text(f"#!/bin/sh\n{ground.command}\n")
        (hooks / name).chmod(0o755)


def _git_file(ground: Ground) -> None:
    """Put a `.git` file in the place of the folder that names a repository with a monitor."""
    moved = ground.tree / "moved"
    shutil.move(ground.tree / ".git", moved)
    (moved / "config").write_text(f"{(moved / 'config').read_text()}[core]\n\tfsmonitor = {ground.command}\n")
    (ground.tree / ".git").write_text(f"gitdir: {moved}\n")


def _alternates(ground: Ground) -> None:
    file = ground.tree / ".git/objects/info/alternates"
    file.write_text(f"{file.read_text()}{ground.secret / '.git/objects'}\n")


def _drivers(ground: Ground) -> None:
    """Name drivers in the attributes of the tree, and in those of its git folder."""
    config = ground.tree / ".git/config"
    text = '[merge "x"]\n\tdriver = {0}\n[diff "x"]\n\ttextconv = {0}\n\tcommand = {0}\n[merge]\n\tdefault = x\n'
    config.write_text(f"{config.read_text()}{text.format(ground.command)}")
    (ground.tree / ".gitattributes").write_text("* merge=x diff=x\n")
    (ground.tree / ".git/info/attributes").write_text("* merge=x diff=x\n")


def _modules(ground: Ground) -> None:
    """Name a submodule whose update runs a command, with a path into git's folder."""
    text = '[submodule "x"]\n\tpath = {1}\n\turl = {2}\n\tupdate = !{0}\n'
    config, modules = ground.tree / ".git/config", ground.tree / ".gitmodules"
    modules.write_text(text.format(ground.command, ".git/hooks", ground.secret))
    filled = text.format(ground.command, "sub", ground.secret)
    config.write_text(f"{config.read_text()}{filled}\n[submodule]\n\trecurse = true\n")


def _refs(ground: Ground) -> None:
    """Many refs in a packed file, a loop of them, and one that leads out of the repository."""
    head, git = _git(ground.tree, "rev-parse", "HEAD"), ground.tree / ".git"
    lines = "".join(f"{head} refs/heads/b{number:05}\n" for number in range(20_000))
    (git / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{lines}")
    for one, other in (("one", "two"), ("two", "one"), ("out", "../../../work/.git/refs/heads/master")):
        (git / "refs/heads" / one).write_text(f"ref: refs/heads/{other}\n")
    (git / "refs/heads/link").symlink_to(ground.secret / ".git/HEAD")


def _head_loop(ground: Ground) -> None:
    (ground.tree / ".git/HEAD").write_text("ref: refs/heads/one\n")
    (ground.tree / ".git/refs/heads/one").write_text("ref: HEAD\n")


def _replaced(ground: Ground) -> None:
    """Let git take another commit for that of the tree, without a past."""
    tree = _git(ground.tree, "rev-parse", "HEAD^{tree}")
    other = _git(ground.tree, "commit-tree", tree, "-m", "forged")
    _git(ground.tree, "replace", _git(ground.tree, "rev-parse", "HEAD"), other)
    (ground.tree / ".git/info/grafts").write_text(f"{_git(ground.tree, 'rev-parse', 'HEAD')}\n")


def _common(ground: Ground) -> None:
    """Let git's folder name another one as that of the repository."""
    git, other = ground.tree / ".git", ground.tree / "other"
    shutil.copytree(git, other)
    (other / "config").write_text(f"{(other / 'config').read_text()}[core]\n\tfsmonitor = {ground.command}\n")
    (git / "commondir").write_text(f"{other}\n")
    (git / "config.worktree").write_text(f"[core]\n\tfsmonitor = {ground.command}\n")


def _link(ground: Ground) -> None:
    """Put a link to the user's repository in the place of git's folder."""
    shutil.rmtree(ground.tree / ".git")
    (ground.tree / ".git").symlink_to(ground.work / ".git")


PLANTS: list[Callable[[Ground], None]] = [
    _config,
    _hooks,
    _git_file,
    _alternates,
    _drivers,
    _modules,
    _refs,
    _head_loop,
    _replaced,
    _common,
    _link,
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.strip("_"))
async def test_nothing_that_is_planted_in_a_tree_runs_outside_its_sandbox(
    ground: Ground, plant: Callable[[Ground], None]
) -> None:
    before = _of_user(ground)
    plant(ground)
    (ground.tree / "new.txt").write_text("new\n")
    for step in (lambda: ground.own.offer("New\n"), ground.own.update, ground.own.merge_branch):
        # It may hurt itself, and is told so.
        with contextlib.suppress(ToolError):
            await step()
        assert not ground.mark.exists()
    assert _of_user(ground) == before
    _git(ground.work, "fsck", "--strict")
    # The next member gets nothing of it.
    ground.places.pool.give(ground.tree)
    again = ground.places.create("main", "bob", ground.branch.tip() or "")
    assert sorted(path.name for path in again.iterdir()) == [".git", "file.txt"]
    _git(again, "status", "--porcelain")
    _git(again, "fsck")
    assert not ground.mark.exists()


def _of_user(ground: Ground) -> tuple[str, ...]:
    """Return what belongs to the user: files, settings, branches."""
    refs = _git(ground.work, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags")
    texts = (ground.work / name for name in ("file.txt", ".git/config", ".git/HEAD"))
    return refs, *(path.read_text() for path in texts), str(sorted((ground.work / ".git/hooks").iterdir()))


@pytest.mark.parametrize("plant", [_config, _hooks, _git_file], ids=lambda plant: plant.__name__.strip("_"))
def test_what_is_planted_would_run_if_git_were_run_there(ground: Ground, plant: Callable[[Ground], None]) -> None:
    plant(ground)
    (ground.tree / "new.txt").write_text("new\n")
    subprocess.run(["git", "-C", str(ground.tree), "add", "-A"], check=False, capture_output=True)
    assert ground.mark.exists()


async def test_objects_of_a_repository_that_it_must_not_see_are_not_taken(ground: Ground) -> None:
    _alternates(ground)
    secret = _git(ground.secret, "rev-parse", "HEAD")
    (ground.tree / ".git/HEAD").write_text(f"{secret}\n")
    with pytest.raises(ToolError):
        await ground.own.offer("Mine\n")
    assert subprocess.run(["git", "-C", str(ground.work), "cat-file", "-e", secret], check=False).returncode


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_pack_is_refused(ground: Ground, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "pack").write_bytes(content)
    with (tmp_path / "pack").open("rb") as pack, pytest.raises(ToolError):
        ground.branch.take_in(pack, "a" * 40, "offers/eve")
    assert ground.branch.kept("offers/eve") is None


def test_a_commit_with_a_git_folder_among_its_files_is_refused(ground: Ground) -> None:
    """Git would write such a file into its own folder when it checks the commit out."""
    blob = _git(ground.tree, "hash-object", "-w", "file.txt")
    words = ["git", "-C", str(ground.tree), "mktree", "--missing"]
    inner = subprocess.run(words, input=f"100644 blob {blob}\tconfig\n", capture_output=True, text=True, check=True)
    top = subprocess.run(
        words, input=f"040000 tree {inner.stdout.strip()}\t.git\n", capture_output=True, text=True, check=True
    )
    commit = _git(ground.tree, "commit-tree", top.stdout.strip(), "-p", "HEAD", "-m", "planted")
    listed = f"{commit}\n^{ground.branch.tip()}\n".encode()
    packing = ["git", "-C", str(ground.tree), "pack-objects", "--revs", "--stdout", "-q"]
    pack = ground.tree / "planted.pack"
    with pack.open("wb") as out:
        subprocess.run(packing, input=listed, stdout=out, check=True)
    with pack.open("rb") as stdin, pytest.raises(ToolError):
        ground.branch.take_in(stdin, commit, "offers/eve")


async def test_a_pack_that_is_a_link_is_not_read(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    (ground.tree / "new.txt").write_text("new\n")
    commit = ground.own._commit

    async def and_link(message: str, tip: str) -> None:
        await commit(message, tip)
        pack = ground.tree / ".git/deskmate.pack"
        pack.unlink()
        pack.symlink_to(ground.secret / "file.txt")

    monkeypatch.setattr(ground.own, "_commit", and_link)
    with pytest.raises(ToolError):
        await ground.own.offer("New\n")


def test_a_small_pack_with_a_very_large_file_is_refused(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_branch, "MAX_PACK", 2_000_000)
    (ground.tree / "bomb").write_bytes(bytes(3_000_000))
    _git(ground.tree, "add", "bomb")
    _git(ground.tree, "commit", "-qm", "Small")
    commit, pack = _git(ground.tree, "rev-parse", "HEAD"), ground.tree / "bomb.pack"
    words = ["git", "-C", str(ground.tree), "pack-objects", "-q", "--revs", "--thin", "--stdout"]
    with pack.open("wb") as out:
        subprocess.run(words, input=f"HEAD\n^{ground.branch.tip()}\n".encode(), stdout=out, check=True)
    assert pack.stat().st_size < 20_000
    with pack.open("rb") as offered, pytest.raises(ToolError, match="MB"):
        ground.branch.take_in(offered, commit, "offers/eve")
    assert ground.branch.kept("offers/eve") is None
