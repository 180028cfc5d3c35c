"""Files that a filter converts: in trees, on their way into the branch, and in the user's folder."""

import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from deskmate.core.policy.redaction import SHAPES
from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.handover import HandedOver, NotHandedOver
from deskmate.workspace.trees.team_trees import TeamTrees
from tests.workspace.trees.tree_repository import FREE, TreeRepository

pytestmark = pytest.mark.behaviour("worktree")
# Stores letters in lower case, and shows them in upper case.
CLEAN, SMUDGE = "tr A-Z a-z", "tr a-z A-Z"
lfs = pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with settings of git. Those of this machine do not count."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return tmp_path / "home"


def with_filter(repository: TreeRepository, clean: str = CLEAN, smudge: str = SMUDGE, where: str = "--global") -> None:
    for part, command in {"clean": clean, "smudge": smudge, "required": "true"}.items():
        repository.git("config", where, f"filter.case.{part}", command)
    repository.write(".gitattributes", "*.case filter=case\n")
    repository.write("a.case", "HELLO\n")
    repository.commit("Filtered")


def trees_of(repository: TreeRepository, sandbox: Sandbox = FREE) -> TeamTrees:
    return TeamTrees(repository.places, "main", repository.root, os.environ, sandbox, SHAPES)


async def made(repository: TreeRepository, trees: TeamTrees, member: str = "ann") -> tuple[Path, str]:
    """Return a new tree that is set up, and what its member is told."""
    await trees.make(member, LocalWorkspace(repository.root, "main", "lead", environ=os.environ))
    return trees.folder(member), await trees.set_up(member)


async def merged(trees: TeamTrees, member: str = "ann") -> str:
    """Merge what is in the tree of a member into the branch, and bring the tree there."""
    _, tree = trees.of(member)
    commit, target = await tree.offer("Work\n"), trees.target()
    tip = await target.tip()
    to = await target.merge(tip, commit, "Work", 1)
    assert isinstance(to, str)
    assert await target.advance(tip, to)
    assert await tree.update()
    return to


def status(tree: Path) -> str:
    command = ["git", "-C", str(tree), "status", "--porcelain"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_filter_of_the_user_works_in_trees_in_checks_and_at_the_hand_over(
    repository: TreeRepository, home: Path, bubblewrap: Sandbox
) -> None:
    with_filter(repository)
    trees = trees_of(repository, bubblewrap)

    async def work() -> None:
        tree, told = await made(repository, trees)
        assert (told, (tree / "a.case").read_text(), status(tree)) == ("", "HELLO\n", "")
        (tree / "b.case").write_text("WORLD\n")
        to = await merged(trees)
        assert (await trees.target().check(to, "cat a.case b.case")).output == "HELLO\nWORLD\n"
        await trees.release("ann")
        again, _ = await made(repository, trees, "bob")
        assert ((again / "b.case").read_text(), status(again)) == ("WORLD\n", "")

    anyio.run(work)
    assert repository.git("show", "deskmate/main:b.case") == "world"
    assert isinstance(repository.hand_over(), HandedOver)
    assert (repository.root / "b.case").read_text() == "WORLD\n"
    assert repository.status() == []


def test_a_filter_runs_for_a_tree_in_its_sandbox_only(
    repository: TreeRepository, home: Path, bubblewrap: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    mark = tmp_path / "outside/mark"
    with_filter(repository, smudge=f"touch {mark}; {SMUDGE}")
    mark.unlink(missing_ok=True)

    async def work() -> None:
        tree, _ = await made(repository, trees_of(repository, bubblewrap))
        assert (tree / "a.case").read_text() == "HELLO\n"

    anyio.run(work)
    assert not mark.exists()


def test_a_member_is_told_if_a_filter_fails_and_gets_what_git_stores(repository: TreeRepository, home: Path) -> None:
    with_filter(repository, smudge="echo no such object >&2; exit 1")

    async def work() -> tuple[str, str, str]:
        tree, told = await made(repository, trees_of(repository))
        return (tree / "a.case").read_text(), told, status(tree)

    text, told, changed = anyio.run(work)
    assert (text, changed) == ("hello\n", "")
    assert "no such object" in told


def test_a_filter_that_only_the_repository_has_is_a_reason_against_trees(
    repository: TreeRepository, home: Path
) -> None:
    with_filter(repository, where="--local")
    why = repository.places.refusal()
    assert "a.case" in why
    assert "'case'" in why
    repository.git("config", "--global", "filter.case.clean", CLEAN)
    assert repository.places.refusal() == ""


def test_a_filter_that_only_the_repository_has_does_not_run_when_work_is_handed_over(
    repository: TreeRepository, home: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    with_filter(repository, f"touch {mark}; {CLEAN}", f"touch {mark}; {SMUDGE}", "--local")
    repository.merge_work({"list.txt": "ONE\n"})
    mark.unlink()
    assert isinstance(repository.hand_over(), HandedOver)
    repository.merge_work({"b.case": "world\n"})
    before = repository.seen()
    end = repository.hand_over()
    assert isinstance(end, NotHandedOver)
    assert "b.case" in end.reason
    assert (repository.seen(), mark.exists()) == (before, False)


def test_the_repository_cannot_exchange_a_filter_of_the_user(
    repository: TreeRepository, home: Path, tmp_path: Path
) -> None:
    with_filter(repository)
    mark = tmp_path / "mark"
    repository.git("config", "filter.case.smudge", f"touch {mark}; cat")

    async def work() -> str:
        tree, _ = await made(repository, trees_of(repository))
        return (tree / "a.case").read_text()

    mark.unlink(missing_ok=True)
    assert anyio.run(work) == "HELLO\n"
    repository.merge_work({"a.case": "world\n"})
    mark.unlink(missing_ok=True)
    assert isinstance(repository.hand_over(), HandedOver)
    assert ((repository.root / "a.case").read_text(), mark.exists()) == ("WORLD\n", False)


def test_nothing_changes_at_the_hand_over_if_a_filter_of_the_user_fails(repository: TreeRepository, home: Path) -> None:
    with_filter(repository)
    repository.merge_work({"a.case": "world\n"})
    repository.git("config", "--global", "filter.case.smudge", "echo no such object >&2; exit 1")
    before = repository.seen()
    end = repository.hand_over()
    assert isinstance(end, NotHandedOver)
    assert "a.case" in end.reason
    assert repository.seen() == before


# -- Git LFS --------------------------------------------------------------------------------------


def with_lfs(repository: TreeRepository) -> None:
    repository.git("lfs", "install", "--skip-repo")
    repository.git("lfs", "track", "*.bin")
    repository.write("a.bin", "A" * 3000)
    repository.commit("Large")


@lfs
def test_large_files_of_a_member_are_in_the_users_folder_after_the_hand_over(
    repository: TreeRepository, home: Path, bubblewrap: Sandbox
) -> None:
    with_lfs(repository)
    trees = trees_of(repository, bubblewrap)

    async def work() -> None:
        tree, told = await made(repository, trees)
        assert (told, (tree / "a.bin").read_text(), status(tree)) == ("", "A" * 3000, "")
        (tree / "b.bin").write_text("B" * 5000)
        to = await merged(trees)
        assert (await trees.target().check(to, "head -c 3 a.bin; head -c 3 b.bin")).output == "AAABBB"
        await trees.release("ann")
        repository.places.pool.clear()

    anyio.run(work)
    assert repository.git("show", "deskmate/main:b.bin").startswith("version https://git-lfs")
    assert isinstance(repository.hand_over(), HandedOver)
    assert (repository.root / "b.bin").read_text() == "B" * 5000
    assert repository.status() == []


@lfs
def test_content_that_is_not_what_its_name_says_is_not_taken(repository: TreeRepository, home: Path) -> None:
    with_lfs(repository)

    async def work() -> None:
        trees = trees_of(repository)
        tree, _ = await made(repository, trees)
        (tree / "b.bin").write_text("B" * 5000)
        subprocess.run(["git", "-C", str(tree), "add", "b.bin"], check=True)
        for file in (tree / ".git/lfs/objects").rglob("*"):
            if file.is_file() and file.stat().st_size == 5000:
                file.chmod(0o644)
                file.write_text("C" * 5000)
        _, own = trees.of("ann")
        with pytest.raises(ToolError, match="damaged"):
            await own.offer("Work\n")

    anyio.run(work)
    assert not [path for path in (repository.root / ".git/lfs/objects").rglob("*") if path.name.startswith(".")]


@lfs
def test_a_link_in_the_place_of_content_is_not_followed(repository: TreeRepository, home: Path, tmp_path: Path) -> None:
    with_lfs(repository)
    (tmp_path / "secret").write_text("B" * 5000)

    async def work() -> None:
        trees = trees_of(repository)
        tree, _ = await made(repository, trees)
        (tree / "b.bin").write_text("B" * 5000)
        subprocess.run(["git", "-C", str(tree), "add", "b.bin"], check=True)
        for file in (tree / ".git/lfs/objects").rglob("*"):
            if file.is_file() and file.stat().st_size == 5000:
                file.unlink()
                file.symlink_to(tmp_path / "secret")
        _, own = trees.of("ann")
        with pytest.raises(ToolError):
            await own.offer("Work\n")

    anyio.run(work)


def test_the_settings_of_large_files_are_left_to_the_user(repository: TreeRepository) -> None:
    repository.merge_work({".lfsconfig": "[lfs]\n\turl = https://example.org/\n"})
    end = repository.hand_over()
    assert isinstance(end, NotHandedOver)
    assert ".lfsconfig" in end.reason
