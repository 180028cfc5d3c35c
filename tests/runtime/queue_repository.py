"""The merge queue of a team on a real repository, with trees of members, without agents."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskmate.core.log.names import BOARD
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Task, merge_queue
from deskmate.ports import Store
from deskmate.runtime.events import Feed
from deskmate.runtime.merge_queue import MergeQueue
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.testing import FakeClock
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.merge_target import BranchTarget
from deskmate.workspace.trees.own_tree import OwnTree
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces

ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
LINES = 12


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

    def target(self, git: GitProgram | None = None) -> BranchTarget:
        """Return the branch as the queue of a new process sees it. `git`: the one that it uses."""

        def scratch(renewed_at: str | None) -> LocalWorkspace:
            assert renewed_at is None, "git can change every file here"
            return self.workspace(self.places.create("main", "system", self.branch.tip() or ""), "system")

        return BranchTarget(TeamBranch(git or self.places.git, "main"), scratch)

    def merges(self) -> list[str]:
        """Return the tasks that were merged, in their order."""
        words = ("log", "--first-parent", "--reverse", "--format=%(trailers:key=Deskmate-Task,valueonly,separator=)")
        return self.git(*words, f"{self.start}..{self.branch.name}").split()

    def task_of(self, merge: str | None) -> str:
        """Return the task whose work a commit merged."""
        return self.git("show", "-s", "--format=%(trailers:key=Deskmate-Task,valueonly,separator=)", merge or "none")


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
