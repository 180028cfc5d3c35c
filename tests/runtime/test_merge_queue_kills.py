"""Whatever members change, in whatever order, and wherever processes are killed: the branch is a serial order of tasks.

Members change lines of one file, add files, and write what the check refuses. What comes back is resolved or given up.
A process dies before or after any step of git, while it offers work or while it merges it.
"""

import os
import random
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.log.names import BOARD
from deskmate.core.log.records import Record
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Offered, Returned, Task, TaskStatus, read_event
from deskmate.stores.memory_store import MemoryStore
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.own_tree import OwnTree
from deskmate.workspace.trees.team_branch import TeamBranch
from tests.runtime.queue_repository import ENVIRON, LINES, Repository, process, run_queue, team
from tests.runtime.team_process import Killed
from tests.workspace.trees.old_git import with_old_git

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
SEEDS = range(100 if os.environ.get("DESKMATE_SOAK") else 1)
NAMES, ROUNDS = ("ann", "bob", "cat", "dan"), 2
BAD, CHECK = "BAD", "! grep -rlw --include=*.txt BAD ."
# A process dies at one of so many steps. Offering a task, and merging those of all members, take about half of them.
OFFER_STEPS, MERGE_STEPS = 40, 100


class MortalGit(GitProgram):
    """Git for a process that dies before or after its n-th step."""

    def __init__(self, folder: Path, environ: Mapping[str, str], dies_at: int) -> None:
        super().__init__(folder, environ)
        self._left = [dies_at]

    def run(self, *words: str, **more: Any) -> tuple[int, str]:
        self._count()
        done = super().run(*words, **more)
        self._count()
        return done

    def _count(self) -> None:
        self._left[0] -= 1
        if self._left[0] == 0:
            raise Killed


@dataclass
class Work:
    """What a member changes for a task: lines of the shared file, and a file of its own."""

    member: str
    task: Task
    lines: dict[int, str]
    files: dict[str, str]


@dataclass
class Workshop:
    """Members at work on a repository, in processes that die."""

    repository: Repository
    environ: Mapping[str, str]
    chance: random.Random
    store: MemoryStore = field(default_factory=MemoryStore)
    works: dict[int, Work] = field(default_factory=dict)
    kills: int = 0

    def git(self, steps: int) -> MortalGit:
        return MortalGit(self.repository.places.repository, self.environ, self.chance.randrange(1, steps))

    async def begin(self, member: str) -> Work:
        """Let a member take a new task and change files in its tree."""
        state = process(self.store)
        task = await state.board.create("lead", NewTask(f"work of {member}"))
        task = await state.board.claim((await state.roster.refresh()).members[member], task.id)
        folder, tree = self.repository.tree(member)
        assert await tree.update()
        lines = {self.chance.randrange(LINES): self._word(task.id) for _ in range(self.chance.randrange(3))}
        files = {f"{member}-{task.id}.txt": self._word(task.id)} if self.chance.random() < 0.5 or not lines else {}
        work = self.works[task.id] = Work(member, task, lines, files)
        self._write(work, folder, (folder / "shared.txt").read_text())
        return work

    def _word(self, task: int) -> str:
        return BAD if self.chance.random() < 0.1 else f"task {task}"

    def _write(self, work: Work, folder: Path, shared: str) -> None:
        lines = shared.splitlines()
        for number, text in work.lines.items():
            lines[number] = text
        (folder / "shared.txt").write_text("".join(f"{line}\n" for line in lines))
        for name, text in work.files.items():
            (folder / name).write_text(f"{text}\n")

    async def offer(self, work: Work) -> None:
        """Offer the work of a member, in one process after another until one survives."""
        while True:
            state = process(self.store)
            folder, _ = self.repository.tree(work.member)
            branch = TeamBranch(self.git(OFFER_STEPS), "main")
            tree = OwnTree(self.repository.workspace(folder, work.member), branch, work.member)
            try:
                commit = await tree.offer(f"{work.task.subject}\n")
            except Killed:
                self.kills += 1
            else:
                await state.board.offer(work.member, work.task.id, work.task.epoch, commit)
                return

    async def merge(self) -> None:
        """Run the queue in one process after another until one has merged or returned everything."""
        while True:
            try:
                await run_queue(process(self.store), self.repository.target(self.git(MERGE_STEPS)), CHECK)
            except Killed:
                self.kills += 1
            else:
                return

    async def resolve(self, work: Work) -> bool:
        """Resolve what came back, or give it up. Return whether it can be offered again."""
        folder, tree = self.repository.tree(work.member)
        if self.chance.random() < 0.3:
            shutil.rmtree(folder)
            await process(self.store).board.release(work.member, work.task.id, work.task.epoch)
            return False
        await tree.merge_branch()
        work.lines = {number: text.replace(BAD, "good") for number, text in work.lines.items()}
        work.files = {name: text.replace(BAD, "good") for name, text in work.files.items()}
        self._write(work, folder, self.repository.git("show", f"{self.repository.branch.name}:shared.txt"))
        return True

    async def run(self) -> None:
        for _ in range(ROUNDS):
            waiting = [await self.begin(name) for name in self.chance.sample(NAMES, len(NAMES))]
            while waiting:
                for work in self.chance.sample(waiting, len(waiting)):
                    await self.offer(work)
                await self.merge()
                board = await process(self.store).board.refresh()
                back = [work for work in waiting if board.tasks[work.task.id].status is not TaskStatus.COMPLETED]
                waiting = [work for work in back if await self.resolve(work)]


def user_files(work: Path) -> dict[str, bytes]:
    """Return every file of the user, and the index and HEAD."""
    files = [path for path in work.rglob("*") if path.is_file() and not {".git", ".teams"} & {*path.parts}]
    return {str(path): path.read_bytes() for path in (*files, work / ".git/index", work / ".git/HEAD")}


@pytest.mark.parametrize("git", ["this git", "old git"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_the_branch_is_a_serial_order_of_what_was_accepted(tmp_path: Path, seed: int, git: str) -> None:
    environ = with_old_git(tmp_path / "bin", ENVIRON) if git == "old git" else ENVIRON
    repository = Repository(tmp_path, environ)
    (repository.work / "shared.txt").write_text("what the user types\n")
    (repository.work / "staged.txt").write_text("staged\n")
    repository.git("add", "staged.txt")
    before = user_files(repository.work)
    workshop = Workshop(repository, environ, random.Random(seed))
    await team(workshop.store, *NAMES)
    await workshop.run()
    board = await process(workshop.store).board.refresh()
    accepted = [int(word.removeprefix("#")) for word in repository.merges()]
    done = {task.id for task in board.tasks.values() if task.status is TaskStatus.COMPLETED}
    # Each accepted task was merged once, and nothing else was.
    assert sorted(accepted) == sorted(done)
    # The branch has what these tasks wrote, one after the other in the order of their merges.
    lines, files = [f"line {number}" for number in range(LINES)], dict[str, str]()
    for task in accepted:
        for number, text in workshop.works[task].lines.items():
            lines[number] = text
        files |= workshop.works[task].files
    branch = repository.branch.name
    assert repository.git("show", f"{branch}:shared.txt").splitlines() == lines
    found = set(repository.git("ls-tree", "--name-only", branch).split()) - {"shared.txt"}
    assert {name: repository.git("show", f"{branch}:{name}") for name in found} == files
    # Every accepted commit is in it, and every offer was answered: merged, or returned with the reason.
    items = await workshop.store.read(BOARD)
    events = [read_event(item.body) for item in items if isinstance(item, Record)]
    offers = [event for event in events if isinstance(event, Offered)]
    returns = [event for event in events if isinstance(event, Returned)]
    last = {event.task: event.commit for event in offers}
    assert all(repository.branch.contains(last[task], branch) for task in accepted)
    assert len(offers) == len(accepted) + len(returns)
    for event in returns:
        assert any(name in event.reason for name in ("shared.txt", *workshop.works[event.task].files)), event.reason
    # The user's files are as they were, and no lock is left.
    assert user_files(repository.work) == before
    assert not [*repository.work.glob(".git/**/*.lock")]
    assert workshop.kills
