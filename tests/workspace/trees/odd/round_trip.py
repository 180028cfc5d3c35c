"""One piece of work, from the beginning of a team to the folder of the user."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.core.policy.redaction import SHAPES
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.handover import HandedOver, Handover, NotHandedOver
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.tree_places import TreePlaces
from tests.workspace.trees.tree_repository import FREE


class RoundTrip:
    """A workspace with a team `main`. `member`: the commands of its teammate ann, run in the tree of that one."""

    def __init__(self, root: Path, environ: Mapping[str, str] = os.environ, sandbox: Sandbox = FREE) -> None:
        self.root, self._environ, self._sandbox = root, environ, sandbox
        self.places = TreePlaces(root.parent / "state", root, environ)
        self.trees = TeamTrees(self.places, "main", root, environ, sandbox, SHAPES)

    @property
    def tree(self) -> Path:
        return self.trees.folder("ann")

    def work(self, change: str | Callable[[Path], object]) -> HandedOver | NotHandedOver:
        """Let ann change something, merge it, and hand it over."""
        anyio.run(self.merge, change)
        return self.hand_over()

    def hand_over(self) -> HandedOver | NotHandedOver:
        return Handover(self.places, "main", self.root).run()

    async def begin(self) -> Path:
        lead = LocalWorkspace(self.root, "main", "lead", environ=self._environ, sandbox=self._sandbox)
        await self.trees.make("ann", lead)
        await self.trees.set_up("ann")
        return self.tree

    async def offer(self, change: str | Callable[[Path], object], member: str = "ann") -> str:
        workspace, tree = self.trees.of(member)
        if isinstance(change, str):
            ran = await workspace.run(change, timeout_seconds=60, blob=f"{member}-x.txt")
            assert ran.exit == 0, ran.output
        else:
            change(self.trees.folder(member))
        return await tree.offer("Work\n")

    async def merge(self, change: str | Callable[[Path], object]) -> str | MergeConflict:
        assert self.places.refusal() == ""
        await self.begin()
        commit = await self.offer(change)
        target = self.trees.target()
        tip = await target.tip()
        merged = await target.merge(tip, commit, "Work", 1)
        if isinstance(merged, str):
            assert await target.advance(tip, merged)
            assert await self.trees.of("ann")[1].update()
        return merged


def git(folder: Path, *words: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    return os.fsdecode(ran.stdout).strip()


def new(folder: Path, files: Mapping[str, bytes] | None = None) -> Path:
    """Make a repository with one commit on the branch trunk."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "trunk")
    git(folder, "config", "user.name", "Ursula")
    git(folder, "config", "user.email", "ursula@example.org")
    for name, data in ({"list.txt": b"one\ntwo\nthree\n"} if files is None else files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    commit(folder)
    return folder


def commit(folder: Path, subject: str = "First") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", subject, "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


def status(folder: Path) -> str:
    return git(folder, "status", "--porcelain", "--", ".", ":(exclude).teams", ":(exclude).tasks")
