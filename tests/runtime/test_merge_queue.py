"""The merge queue on a real repository: each offer is merged once or returned, wherever the process is killed."""

import random
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.log.names import BOARD
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Task, TaskStatus, merge_queue
from deskmate.ports import Store
from deskmate.runtime.events import Feed
from deskmate.runtime.merge_queue import MergeQueue
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.trees.merge_target import BranchTarget
from deskmate.workspace.trees.own_tree import OwnTree
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces
from tests.runtime.team_process import Killed
from tests.workspace.trees.old_git import with_old_git

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
LINES = 12


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


class Repository:
    """A repository with a team's branch, and members with trees in it."""

    def __init__(self, folder: Path, environ: Mapping[str, str] = ENVIRON) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        for words in (["init", "-q"], ["config", "user.name", "U"], ["config", "user.email", "u@example.org"]):
            self.git(*words)
        (self.work / "shared.txt").write_text("".join(f"line {number}\n" for number in range(LINES)))
        self.git("add", "-A")
        self.git("commit", "-qm", "First")
        self.places = TreePlaces(folder / "state", self.work, environ)
        self.branch = TeamBranch(self.places.git, "main")
        self.start = self.branch.begin(self.git("rev-parse", "HEAD"))

    def git(self, *words: str) -> str:
        ran = subprocess.run(["git", "-C", str(self.work), *words], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def tree(self, member: str) -> tuple[Path, OwnTree]:
        tip = self.branch.tip()
        assert tip
        folder = self.places.create("main", member, tip)
        return folder, OwnTree(self.workspace(folder, member), self.branch, member)

    def workspace(self, folder: Path, member: str) -> LocalWorkspace:
        return LocalWorkspace(folder, "main", member, environ=ENVIRON, records=self.work)

    def target(self) -> BranchTarget:
        def scratch() -> LocalWorkspace:
            return self.workspace(self.places.create("main", "system", self.branch.tip() or ""), "system")

        return BranchTarget(self.branch, scratch)

    def merges(self) -> list[str]:
        """Return the tasks that were merged, in their order."""
        words = ("log", "--first-parent", "--reverse", "--format=%(trailers:key=Deskmate-Task,valueonly,separator=)")
        return self.git(*words, f"{self.start}..{self.branch.name}").split()


@pytest.fixture(params=["this git", "old git"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    old = request.param == "old git"
    return Repository(tmp_path, with_old_git(tmp_path / "bin", ENVIRON) if old else ENVIRON)


def process(store: Store) -> TeamState:
    """Return the state of a team in a new process."""
    writer = LogWriter(store, FakeClock())
    roster = Roster(writer)
    return TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps(), roster=roster), Feed())


async def team(store: Store, *members: str) -> TeamState:
    team_state = process(store)
    await team_state.roster.found("main")
    for name in members:
        await team_state.roster.join(Joined(name=name, at=0.0), Caps())
    return team_state


async def offer(team_state: TeamState, member: str, tree: OwnTree, *, verify: str | None = None) -> Task:
    """Let a member take a new task and offer what is in its tree."""
    board = team_state.board
    task = await board.create("lead", NewTask(f"work of {member}", verify=verify))
    task = await board.claim((await team_state.roster.refresh()).members[member], task.id)
    commit = await tree.offer(f"{task.subject}\n")
    return await board.offer(member, task.id, task.epoch, commit)


async def run_queue(team_state: TeamState, target: Any, check: str = "") -> None:
    """Run the queue until nothing waits."""
    async with task_group() as tasks:
        tasks.start_soon(MergeQueue(team_state, target, check).keep)
        while merge_queue(board := await team_state.board.refresh()):
            await team_state.writer.store.changed({BOARD: board.number})
        tasks.cancel_scope.cancel()


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


@pytest.mark.parametrize("seed", range(3))
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
