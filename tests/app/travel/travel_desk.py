"""A lead with a repository, and machines without it, over one store. No agents take part, and nothing but the store
and git: each machine has a folder of its own for Deskmate's data."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deskmate.app.travel.host_trees import HostTrees
from deskmate.app.travel.lead_travel import lead_code_of
from deskmate.config import Settings
from deskmate.core.policy.redaction import SHAPES
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Task
from deskmate.ports import MemberTree, Store
from deskmate.runtime.merge_queue import MergeQueue
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.runtime.travel.lead_code import LeadCode
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.tree_places import TreePlaces
from tests.runtime.queue_repository import process

FREE = Sandbox(Level.NONE, "tests of git need no sandbox")
LINES = 12


def git(root: Path, *words: str, text: str | None = None) -> str:
    ran = subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True, input=text)
    return ran.stdout.rstrip("\n")


def new_repository(root: Path) -> None:
    root.mkdir(parents=True)
    for words in (
        ["init", "-q", "-b", "trunk"],
        ["config", "user.name", "U"],
        ["config", "user.email", "u@example.org"],
    ):
        git(root, *words)
    (root / "shared.txt").write_text("".join(f"line {number}\n" for number in range(LINES)))
    (root / ".gitignore").write_text("*.secret\n/build/\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "First")


class LeadMachine:
    """The machine with the repository, as one process there sees the team."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.root, self.state = folder / "work", folder / "state"
        if not self.root.exists():
            new_repository(self.root)
        self.team_state = process(store)

    @property
    def trees(self) -> TeamTrees:
        return TeamTrees(self.places, "main", self.root, os.environ, FREE, SHAPES)

    @property
    def places(self) -> TreePlaces:
        return TreePlaces(self.state, self.root, os.environ)

    def workspace(self) -> LocalWorkspace:
        return LocalWorkspace(self.root, "main", "lead", environ=os.environ)

    def code(self) -> LeadCode:
        return lead_code_of(self.team_state, self.trees, self.places, self.workspace(), self.state)

    @asynccontextmanager
    async def running(self, check: str = "") -> AsyncIterator[None]:
        """Answer members and merge their work until this is left."""
        await self.team_state.roster.refresh()
        code = self.code()
        async with task_group() as tasks:
            tasks.start_soon(code.keep)
            tasks.start_soon(MergeQueue(self.team_state, self.trees.target(), check, None, code).keep)
            yield
            tasks.cancel_scope.cancel()

    def files(self) -> dict[str, str]:
        """Return the files of the branch of the team."""
        names = git(self.root, "ls-tree", "-r", "--name-only", "deskmate/main").splitlines()
        return {name: git(self.root, "show", f"deskmate/main:{name}") for name in names}


class Host:
    """A machine without the repository, as a process there sees the team."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.work = folder, folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.team_state = process(store)
        self.settings = Settings(file=folder / "settings.toml", state=folder / "state")

    async def tree(self, member: str) -> tuple[Path, MemberTree]:
        """Return the tree of a member, as a process that begins to run the member gets it."""
        await self.team_state.roster.refresh()
        trees = HostTrees(self.team_state, self.settings, self.work, FREE)
        lead = LocalWorkspace(self.work, "main", "lead", environ=os.environ)
        await trees.make(member, lead)
        await trees.set_up(member)
        workspace, tree = trees.of(member)
        return Path(workspace.root), tree

    def clone(self) -> Path:
        [clone] = (self.folder / "state/clones").glob("*/work")
        return clone


async def found(store: Store, *members: str) -> TeamState:
    team_state = process(store)
    await team_state.roster.found("main")
    for name in members:
        await team_state.roster.join(Joined(name=name, isolation="own", at=0.0), Caps())
    return team_state


async def complete(host: Host, member: str, tree: MemberTree, *, task: Task | None = None) -> Task:
    """Let a member offer what is in its tree, for a new task or the one it has, and wait for the queue."""
    board = host.team_state.board
    await board.refresh()
    if task is None:
        task = await board.create("lead", NewTask(f"work of {member}"))
        task = await board.claim((await host.team_state.roster.refresh()).members[member], task.id)
    commit = await tree.offer(f"{task.subject}\n")
    task = await board.offer(member, task.id, task.epoch, commit)
    assert task.offer
    task = await board.settled(task.id, task.offer.number)
    if task.merged:
        await tree.update()
    else:
        await tree.merge_branch()
    return task
