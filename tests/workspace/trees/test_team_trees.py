"""Where the branch of a team begins, what moves it, and how results are checked in a tree of their own."""

import os

import anyio

from deskmate.core.policy.redaction import SHAPES
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.team_trees import TeamTrees
from tests.workspace.trees.tree_repository import TreeRepository


def test_teammates_that_start_at_once_begin_with_the_same_files(repository: TreeRepository) -> None:
    repository.write("draft.txt", "draft\n")
    tips = list[str]()

    async def begin() -> None:
        lead = LocalWorkspace(repository.root, "main", "lead", environ=os.environ)
        tips.append(await repository.trees.begin(lead))

    async def begin_at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(begin)

    anyio.run(begin_at_once)
    assert tips == [repository.git("rev-parse", "deskmate/main")] * 4
    assert repository.git("show", "deskmate/main:draft.txt") == "draft"
    assert list((repository.root / ".git").glob("deskmate-index*")) == []


def test_a_lock_that_a_killed_git_left_does_not_stop_the_branch(repository: TreeRepository) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    locks = [
        repository.root / ".git" / name for name in ("refs/heads/deskmate/main.lock", "refs/deskmate/teams/main/x.lock")
    ]
    for lock in locks:
        lock.touch()
    branch = repository.trees.branch
    branch.keep("x", tip)
    assert branch.advance(tip, f"{tip}^1")
    assert (branch.kept("x"), branch.tip()) == (tip, repository.git("rev-parse", f"{tip}^1"))
    assert not any(lock.exists() for lock in locks)


def test_a_branch_that_has_moved_is_not_moved_from_where_it_was(repository: TreeRepository) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    assert not repository.trees.branch.advance(f"{tip}^1", f"{tip}^1")
    assert repository.trees.branch.tip() == tip


def test_a_check_runs_on_exactly_the_merged_files_in_a_sandbox(repository: TreeRepository, bubblewrap: Sandbox) -> None:
    """The sandbox shows empty folders such as .claude, which git can neither commit nor remove."""
    target = TeamTrees(repository.places, "main", repository.root, os.environ, bubblewrap, SHAPES).target()
    first = repository.merge_work({"list.txt": "four\n"})
    second = repository.merge_work({"list.txt": "five\n"})

    async def check() -> None:
        assert (await target.check(first, "cat list.txt; echo left > over.txt")).output == "four\n"
        assert (await target.check(second, "cat list.txt; ls over.txt 2>/dev/null")).output == "five\n"

    anyio.run(check)


def test_a_check_sees_a_merged_change_of_files_that_no_command_may_change(
    repository: TreeRepository, bubblewrap: Sandbox
) -> None:
    target = TeamTrees(repository.places, "main", repository.root, os.environ, bubblewrap, SHAPES).target()
    first = repository.merge_work({".vscode/settings.json": "{}\n"})
    second = repository.merge_work({".vscode/settings.json": "{ }\n", ".envrc": "new\n"})

    async def check() -> None:
        assert (await target.check(first, "cat .vscode/settings.json; ls .envrc/")).output == "{}\n"
        assert (await target.check(second, "cat .vscode/settings.json .envrc")).output == "{ }\nnew\n"

    anyio.run(check)
