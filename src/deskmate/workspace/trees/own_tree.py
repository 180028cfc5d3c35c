"""A member's own copy of the repository, and how its work gets out of it.

Git inside the tree runs in the member's sandbox, because the member may have changed anything there. What it offers
comes out as one file of packed objects, which git checks object by object before it takes them.
"""

import io
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress

from anyio import to_thread

from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.git.revisions import head_commit
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.paths import resolved
from deskmate.workspace.trees.git_program import SAFE
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.workspace_files import opened

SECONDS = 300.0
_PACK = ".git/deskmate.pack"
_UNRESOLVED = 3
_GIT = shlex.join(["git", *SAFE])


class OwnTree:
    """The tree of one member. `workspace`: the folder of the tree, where its commands run."""

    def __init__(self, workspace: LocalWorkspace, branch: TeamBranch, member: str) -> None:
        self._workspace, self._branch, self._member = workspace, branch, member

    @property
    def branch(self) -> str:
        """The branch that the work is merged into."""
        return self._branch.name

    async def offer(self, message: str) -> str | None:
        """Commit everything in the tree, and take it into the repository. Return the commit, None if nothing is new.

        Raises ToolError if files have conflict markers that a merge left, or if git fails.
        """
        tip = await to_thread.run_sync(self._branch.tip)
        assert tip is not None, "a tree is made from the branch"
        await self._commit(message, tip)
        commit = await self._head()
        if await to_thread.run_sync(self._branch.contains, commit, tip):
            return None
        await to_thread.run_sync(self._take, commit)
        return commit

    async def _commit(self, message: str, tip: str) -> None:
        ran = await self._run(
            "set -e",
            "left=$(git diff --name-only --diff-filter=U -z"
            " | xargs -0 -r grep -lE '^(<<<<<<<|>>>>>>>)( |$)' -- || true)",
            f'[ -z "$left" ] || {{ printf "%s\\n" "$left"; exit {_UNRESOLVED}; }}',
            f"{_GIT} add -A -- .",
            "git diff --cached --quiet && [ ! -e .git/MERGE_HEAD ]"
            f" || {_GIT} commit -q --no-verify --cleanup=verbatim -m {shlex.quote(message)}",
            f"printf '%s\\n' HEAD ^{tip} | {_GIT} pack-objects -q --revs --thin --stdout > {_PACK}",
        )
        if ran.exit == _UNRESOLVED:
            raise ToolError(f"These files still have conflict markers: {ran.output.strip()}. Resolve them first.")
        if ran.exit != 0:
            raise ToolError(f"Your changes could not be committed: {ran.output.strip() or ran.ended}")

    async def _head(self) -> str:
        commit = await to_thread.run_sync(head_commit, self._root)
        if commit is None:
            raise ToolError("Your tree has no commit: its .git folder is damaged. Tell the lead.")
        return commit

    @property
    def _root(self) -> "os.PathLike[str]":
        from pathlib import Path

        return Path(self._workspace.root)

    def _take(self, commit: str) -> None:
        with resolved(self._root, _PACK) as place, opened(place) as fd, io.open(os.dup(fd), "rb") as pack:
            self._branch.take_in(pack, commit, f"offers/{self._member}")
        with suppress(OSError):
            os.unlink(os.path.join(self._root, _PACK))

    async def update(self) -> bool:
        """Bring the tree to the tip of the branch, if everything in it is merged. Return whether it is there now."""
        tip = await to_thread.run_sync(self._branch.tip)
        if tip is None:
            return False
        await to_thread.run_sync(self._branch.keep, f"trees/{self._member}", tip)
        ran = await self._run(
            'test -z "$(git status --porcelain)"',
            f"git merge-base --is-ancestor HEAD {tip}",
            f"{_GIT} checkout -q --detach {tip}",
        )
        return ran.exit == 0

    async def merge_branch(self) -> bool:
        """Merge the branch into the tree, and leave conflicts in the files. Return whether there were none."""
        tip = await to_thread.run_sync(self._branch.tip)
        ran = await self._run(f"{_GIT} merge -q --no-ff --no-edit {tip}")
        return ran.exit == 0

    async def _run(self, *steps: str) -> Ran:
        return await self._workspace.run(
            " && ".join(steps) if steps[0] != "set -e" else "\n".join(steps),
            timeout_seconds=SECONDS,
            blob=f"{self._member}-tree.txt",
        )


def message_of(subject: str, task: int, trailers: Sequence[str]) -> str:
    """Return the message of a commit for a task."""
    return "\n".join([subject, "", f"Deskmate-Task: #{task}", *trailers])
