"""A repository of a user, and the branch of a team in it, made with git and without agents."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio

from deskmate.core.policy.redaction import SHAPES
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.trees.handover.branch_handover import HandedOver, Handover, NotHandedOver
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.tree_places import TreePlaces

FREE = Sandbox(Level.NONE, "tests of git need no sandbox")


class TreeRepository:
    """A repository with one commit on the branch `trunk`, and a team named `main`."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root, self._state = root, state
        root.mkdir(parents=True)
        self.git("init", "-q", "-b", "trunk")
        self.git("config", "user.name", "Ursula")
        self.git("config", "user.email", "ursula@example.org")
        self.write("list.txt", "one\ntwo\nthree\n")
        self.write("other.txt", "other\n")
        self.commit("First")

    @property
    def places(self) -> TreePlaces:
        return self.places_with(os.environ)

    def places_with(self, environ: Mapping[str, str]) -> TreePlaces:
        return TreePlaces(self._state, self.root, environ)

    @property
    def trees(self) -> TeamTrees:
        return TeamTrees(self.places, "main", self.root, os.environ, FREE, SHAPES)

    def git(self, *words: str, text: str | None = None, **environ: str) -> str:
        command = ["git", "-C", str(self.root), *words]
        ran = subprocess.run(
            command, check=True, capture_output=True, text=True, input=text, env={**os.environ, **environ}
        )
        return ran.stdout.rstrip("\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, subject: str) -> str:
        self.git("add", "-A", "--", ".", ":(exclude).teams", ":(exclude).tasks")
        self.git("commit", "-qm", subject)
        return self.git("rev-parse", "HEAD")

    def begin(self) -> str:
        """Let the branch of the team begin, as the first teammate with its own tree does."""
        workspace = LocalWorkspace(self.root, "main", "lead", environ=os.environ)
        return anyio.run(self.trees.begin, workspace)

    def merge_work(self, files: Mapping[str, str], task: int = 1, subject: str = "Work") -> str:
        """Merge files into the branch of the team, as the queue does for a task."""
        branch = TeamBranch(self.places.git, "main")
        tip = branch.tip() or self.begin()
        index = str(self.root.parent / "index-of-member")
        self.git("read-tree", tip, GIT_INDEX_FILE=index)
        for name, text in files.items():
            blob = self.git("hash-object", "-w", "--stdin", text=text)
            self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", GIT_INDEX_FILE=index)
        tree = self.git("write-tree", GIT_INDEX_FILE=index)
        offer = self.git("commit-tree", tree, "-p", tip, "-m", subject)
        merged = branch.commit_merge(tree, tip, offer, subject, task)
        assert branch.advance(tip, merged)
        return merged

    def hand_over(self) -> HandedOver | NotHandedOver:
        return Handover(self.places, "main", self.root).run()

    def seen(self) -> Mapping[str, bytes]:
        """Return everything of the user: files, index, HEAD, branches and the log of HEAD. Objects are left out."""
        files = [path for path in self.root.rglob("*") if path.is_file() and "objects" not in path.parts]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files if ".teams" not in path.parts}

    def status(self) -> list[str]:
        return self.git("status", "--porcelain", "--", ".", ":(exclude).teams", ":(exclude).tasks").splitlines()
