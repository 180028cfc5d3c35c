"""The merge queue on a real repository: each offer is merged once or returned, wherever the process is killed."""

import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.team.tasks import TaskStatus
from deskmate.ports import Ran, Store
from deskmate.stores.memory_store import MemoryStore
from deskmate.workspace.trees.merge_target import BranchTarget
from tests.runtime.queue_repository import ENVIRON, Repository, offer, process, run_queue, team
from tests.runtime.team_process import Killed
from tests.workspace.trees.old_git import with_old_git

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]


class MortalTarget:
    """A target that dies before or after its n-th step."""

    def __init__(self, target: BranchTarget, dies_at: int) -> None:
        self._target, self._left = target, dies_at
        self.name = target.name

    def __getattr__(self, step: str) -> Callable[..., Awaitable[Any]]:
        async def mortal(*arguments: Any) -> Any:
            self._count()
            done = await getattr(self._target, step)(*arguments)
            self._count()
            return done

        return mortal

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise Killed


@pytest.fixture(params=["this git", "old git"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    old = request.param == "old git"
    return Repository(tmp_path, with_old_git(tmp_path / "bin", ENVIRON) if old else ENVIRON)


async def run_to_the_end(store: Store, repository: Repository, chance: random.Random, check: str = "") -> int:
    """Run the queue in one process after another, each killed at a random step. Return how many were killed."""
    kills = 0
    while True:
        dies_at = chance.randrange(1, 20)
        try:
            await run_queue(process(store), MortalTarget(repository.target(), dies_at), check)
        except Killed:
            kills += 1
        else:
            return kills


def change(folder: Path, line: int, text: str) -> None:
    file = folder / "shared.txt"
    lines = file.read_text().splitlines(keepends=True)
    lines[line] = f"{text}\n"
    file.write_text("".join(lines))


@pytest.mark.parametrize("seed", range(30 if os.environ.get("DESKMATE_SOAK") else 1))
async def test_whatever_is_killed_every_offer_is_merged_once_or_told_why_not(repository: Repository, seed: int) -> None:
    chance, store = random.Random(seed), MemoryStore()
    names = [f"m{number}" for number in range(5)]
    team_state = await team(store, *names)
    offered = dict[int, tuple[str, int]]()
    for name in names:
        folder, tree = repository.tree(name)
        line = chance.choice((0, 4, 8))
        change(folder, line, f"{name} was here")
        (folder / f"{name}.txt").write_text(name)
        offered[(await offer(team_state, name, tree)).id] = (name, line)
    kills = await run_to_the_end(store, repository, chance)
    board = await process(store).board.refresh()
    merged = [task for task in board.tasks.values() if task.status is TaskStatus.COMPLETED]
    returned = [task for task in board.tasks.values() if task.returned]
    assert len(merged) + len(returned) == len(names)
    # Each merge happened once, and the branch has what was accepted and nothing else.
    assert sorted(repository.merges()) == sorted(f"#{task.id}" for task in merged)
    files = set(repository.git("ls-tree", "--name-only", repository.branch.name).split())
    assert files == {"shared.txt", *(f"{offered[task.id][0]}.txt" for task in merged)}
    # Exactly those came back that changed a line which an accepted one had changed before.
    assert {offered[task.id][1] for task in returned} <= {offered[task.id][1] for task in merged}
    assert len({offered[task.id][1] for task in merged}) == len(merged)
    assert all("shared.txt" in task.returned for task in returned)
    # The user's files are as they were, and no lock is left.
    assert repository.git("status", "--porcelain", "--", "shared.txt") == ""
    assert not [*repository.work.glob(".git/**/*.lock")]
    assert kills


async def test_what_fails_on_the_merged_files_comes_back_although_it_merges(repository: Repository) -> None:
    store = MemoryStore()
    team_state = await team(store, "ann", "bob")
    (one, ann), (two, bob) = repository.tree("ann"), repository.tree("bob")
    (one / "ann.txt").write_text("")
    (two / "bob.txt").write_text("")
    first, second = await offer(team_state, "ann", ann), await offer(team_state, "bob", bob)
    await run_queue(team_state, repository.target(), "test ! -e ann.txt || test ! -e bob.txt")
    board = await team_state.board.refresh()
    assert board.tasks[first.id].status is TaskStatus.COMPLETED
    assert board.tasks[second.id].status is TaskStatus.IN_PROGRESS
    assert "check" in board.tasks[second.id].returned
    assert repository.merges() == [f"#{first.id}"]


@pytest.mark.parametrize(("bad", "runs"), [(None, 1), (3, 5)], ids=["all good", "one bad"])
async def test_eight_tasks_that_wait_together_need_few_checks(tmp_path: Path, bad: int | None, runs: int) -> None:
    repository = Repository(tmp_path)
    names = [f"m{number}" for number in range(8)]
    team_state = await team(MemoryStore(), *names)
    tasks = list[int]()
    for number, name in enumerate(names):
        folder, tree = repository.tree(name)
        (folder / f"{name}.txt").write_text("BAD" if number == bad else "good")
        tasks.append((await offer(team_state, name, tree)).id)
    target, checked = repository.target(), list[str]()
    check = target.check

    async def counted(commit: str, command: str) -> Ran:
        checked.append(commit)
        return await check(commit, command)

    target.check = counted  # type: ignore[method-assign]
    await run_queue(team_state, target, "! grep -l BAD *.txt")
    board = await team_state.board.refresh()
    good = [f"#{task}" for number, task in enumerate(tasks) if number != bad]
    assert len(checked) == runs
    assert repository.merges() == good
    assert [f"#{task.id}" for task in board.tasks.values() if task.status is TaskStatus.COMPLETED] == good
    assert [task.id for task in board.tasks.values() if task.returned] == ([] if bad is None else [tasks[bad]])


async def test_work_that_is_in_the_branch_already_completes_its_task(repository: Repository) -> None:
    team_state = await team(MemoryStore(), "ann")
    _, ann = repository.tree("ann")
    task = await offer(team_state, "ann", ann)
    await run_queue(team_state, repository.target())
    assert (await team_state.board.refresh()).tasks[task.id].status is TaskStatus.COMPLETED
    assert repository.merges() == []


async def test_a_branch_that_somebody_moved_meanwhile_gets_the_work_on_top(repository: Repository) -> None:
    team_state = await team(MemoryStore(), "ann")
    folder, ann = repository.tree("ann")
    (folder / "ann.txt").write_text("")
    await offer(team_state, "ann", ann)
    target = repository.target()
    (repository.work / "user.txt").write_text("")
    repository.git("add", "user.txt")
    repository.git("commit", "-qm", "By the user")
    moved, advance = repository.git("rev-parse", "HEAD"), target.advance

    async def moves_first(tip: str, to: str) -> bool:
        if repository.branch.tip() == repository.start:
            repository.git("update-ref", f"refs/heads/{repository.branch.name}", moved)
        return await advance(tip, to)

    target.advance = moves_first  # type: ignore[method-assign]
    await run_queue(team_state, target)
    files = repository.git("ls-tree", "--name-only", repository.branch.name).split()
    assert files == ["ann.txt", "shared.txt", "user.txt"]


async def test_a_branch_that_is_gone_returns_the_work_with_the_reason(repository: Repository) -> None:
    team_state = await team(MemoryStore(), "ann")
    folder, ann = repository.tree("ann")
    (folder / "ann.txt").write_text("")
    task = await offer(team_state, "ann", ann)
    repository.git("update-ref", "-d", f"refs/heads/{repository.branch.name}")
    await run_queue(team_state, repository.target())
    assert "gone" in (await team_state.board.refresh()).tasks[task.id].returned
