"""What the user sets for new trees: the command that is run there, and the folders that they have."""

import os
from pathlib import Path

import pytest

from deskmate.core.policy.redaction import SHAPES
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.trees.own_tree import TreeSetup
from deskmate.workspace.trees.team_trees import TeamTrees
from tests.workspace.trees.tree_repository import FREE, TreeRepository

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
COUNT = "echo once >> ../setups"


async def made(repository: TreeRepository, setup: TreeSetup) -> TeamTrees:
    """Return the trees of a team, with one for ann."""
    trees = TeamTrees(repository.places, "main", repository.root, os.environ, FREE, SHAPES, setup)
    await trees.make("ann", LocalWorkspace(repository.root, "main", "lead", environ=os.environ))
    return trees


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}


async def test_the_setup_command_runs_once_in_a_new_tree(repository: TreeRepository) -> None:
    trees = await made(repository, TreeSetup(f"pwd > where && {COUNT}"))
    assert [await trees.set_up("ann"), await trees.set_up("ann")] == ["", ""]
    assert (trees.folder("ann") / "where").read_text().strip() == str(trees.folder("ann"))
    assert (trees.folder("ann").parent / "setups").read_text() == "once\n"


@pytest.mark.parametrize(("command", "how"), [("echo no such package; exit 3", "3"), ("echo (", "2")])
async def test_a_member_and_the_user_are_told_once_if_it_fails(
    repository: TreeRepository, caplog: pytest.LogCaptureFixture, command: str, how: str
) -> None:
    trees = await made(repository, TreeSetup(command))
    told = await trees.set_up("ann")
    assert command in told
    assert f"exit status {how}" in told
    assert "'ann'" in caplog.text
    if how == "3":
        assert told.endswith("\nno such package")
        assert await trees.set_up("ann") == ""


async def test_the_tree_for_checks_is_set_up_before_the_first_check(repository: TreeRepository) -> None:
    trees = await made(repository, TreeSetup(f"test -e list.txt && {COUNT}"))
    tip = repository.git("rev-parse", "deskmate/main")
    target = trees.target()
    for _ in range(2):
        assert (await target.check(tip, "test -e ../setups")).exit == 0
    assert (trees.folder("ann").parent / "setups").read_text() == "once\n"


async def test_a_tree_can_have_only_some_folders(repository: TreeRepository) -> None:
    for name in ("src/a.py", "src/deep/b.py", "docs/c.md", "docs/deep/d.md"):
        repository.write(name, f"{name}\n")
    repository.commit("More")
    trees = await made(repository, TreeSetup(sparse=("src", "docs/deep")))
    top = {"list.txt", "other.txt"}
    assert files_of(trees.folder("ann")) == {*top, "src/a.py", "src/deep/b.py", "docs/c.md", "docs/deep/d.md"}
    trees = await made_elsewhere(repository)
    assert files_of(trees.folder("bob")) == {*top, "src/a.py", "src/deep/b.py"}


async def made_elsewhere(repository: TreeRepository) -> TeamTrees:
    """Return the trees of the same team, with one for bob that has one folder only."""
    trees = TeamTrees(repository.places, "main", repository.root, os.environ, FREE, SHAPES, TreeSetup(sparse=("src",)))
    await trees.make("bob", LocalWorkspace(repository.root, "main", "lead", environ=os.environ))
    return trees


async def test_work_of_a_tree_with_some_folders_is_complete(repository: TreeRepository) -> None:
    for name in ("src/a.py", "docs/c.md"):
        repository.write(name, f"{name}\n")
    repository.commit("More")
    trees = await made_elsewhere(repository)
    folder = trees.folder("bob")
    (folder / "src/a.py").write_text("changed\n")
    (folder / "new").mkdir()
    (folder / "new/file.txt").write_text("outside of the folders\n")
    _, tree = trees.of("bob")
    commit = await tree.offer("Work\n")
    changed = repository.git("diff", "--name-status", "deskmate/main", commit).split("\n")
    assert changed == ["A\tnew/file.txt", "M\tsrc/a.py"]
    checked = await trees.target().check(commit, "cat docs/c.md new/file.txt")
    assert checked.output == "docs/c.md\noutside of the folders\n"
