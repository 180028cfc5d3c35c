"""Looking at a tree that a member has prepared: git runs there only inside the sandbox."""

import os
from pathlib import Path

import anyio
import pytest

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.tree_inspection import TreeContent, TreeInspector
from deskmate.workspace.trees.tree_places import Tree
from tests.workspace.trees.tree_repository import FREE, TreeRepository


def tree_of(repository: TreeRepository) -> Tree:
    lead = LocalWorkspace(repository.root, "main", "lead", environ=os.environ)
    anyio.run(repository.trees.make, "ann", lead)
    return Tree("main", "ann", repository.trees.folder("ann"))


def look(repository: TreeRepository, tree: Tree, sandbox: Sandbox) -> tuple[TreeContent, str]:
    async def look_inside() -> tuple[TreeContent, str]:
        inspector = TreeInspector(repository.places.repository, os.environ, sandbox)
        tip = repository.git("rev-parse", "deskmate/main")
        return await inspector.content(tree, [tip]), await inspector.diff(tree, tip, stat=False)

    return anyio.run(look_inside)


def test_commands_that_a_member_planted_do_not_run_outside_the_sandbox(
    repository: TreeRepository, bubblewrap: Sandbox, tmp_path: Path
) -> None:
    tree = tree_of(repository)
    outside = tmp_path / "outside"
    outside.mkdir()
    plant = f"touch {outside}/ran; touch ran; cat"
    for key in ("filter.evil.clean", "core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command"):
        repository.git("-C", str(tree.path), "config", key, plant)
    (tree.path / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    (tree.path / "list.txt").write_text("changed\n")
    content, shown = look(repository, tree, bubblewrap)
    assert content.changed >= 2
    assert "+changed" in shown
    assert list(outside.iterdir()) == []
    # The plant works: it ran, but inside.
    assert (tree.path / "ran").exists()


def test_a_long_diff_is_complete(repository: TreeRepository) -> None:
    tree = tree_of(repository)
    (tree.path / "long.txt").write_text("".join(f"line {number}\n" for number in range(20_000)))
    _, shown = look(repository, tree, FREE)
    assert sum(line.startswith("+line ") for line in shown.splitlines()) == 20_000


def test_looking_leaves_nothing_in_the_tree_and_the_workspace(repository: TreeRepository) -> None:
    tree = tree_of(repository)
    (tree.path / "list.txt").write_text("changed\n")
    before = repository.seen(), (tree.path / ".git/index").read_bytes(), sorted(os.listdir(tree.path / ".git"))
    records = sorted(repository.root.glob(".teams/**/*"))
    look(repository, tree, FREE)
    after = repository.seen(), (tree.path / ".git/index").read_bytes(), sorted(os.listdir(tree.path / ".git"))
    assert (after, sorted(repository.root.glob(".teams/**/*"))) == (before, records)


def test_a_tree_without_a_repository_is_an_error(repository: TreeRepository) -> None:
    tree = tree_of(repository)
    (tree.path / ".git/HEAD").unlink()
    with pytest.raises(ToolError):
        look(repository, tree, FREE)
