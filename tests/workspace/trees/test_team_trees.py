"""Where the branch of a team begins."""

import os

import anyio

from deskmate.workspace.local_workspace import LocalWorkspace
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
