"""The branch of a team as its merge queue uses it: git in threads, and checks in a tree of their own."""

from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.own_tree import set_up
from deskmate.workspace.trees.team_branch import TeamBranch

T = TypeVar("T")
# The name under which checks run. No member can have it.
CHECKER = "system"
CHECK_SECONDS = 1800.0
_CHECK_OUT_SECONDS = 300.0
_BLOB = f"{CHECKER}-check.txt"


class BranchTarget:
    """The branch of a team. `scratch`: returns the tree in which results are checked, made when it is first needed.

    With a commit, the tree is made again, at that commit. `setup`: the command that runs there before the first check.
    """

    def __init__(self, branch: TeamBranch, scratch: Callable[[str | None], LocalWorkspace], setup: str = "") -> None:
        self._branch, self._scratch, self._setup = branch, scratch, setup

    @property
    def name(self) -> str:
        """Its name."""
        return self._branch.name

    async def tip(self) -> str:
        """Return the commit that it is at. Raises ToolError if it is gone."""
        tip = await to_thread.run_sync(self._branch.tip)
        if tip is None:
            raise ToolError(f"the branch {self.name} is gone")
        return tip

    async def contains(self, commit: str, tip: str) -> bool:
        """Tell whether the work of a commit is in the branch."""
        return await to_thread.run_sync(self._branch.contains, commit, tip)

    async def merge_of(self, commit: str, tip: str) -> str | None:
        """Return the commit of the branch that merged another one, or None."""
        return await to_thread.run_sync(self._branch.merge_of, commit, tip)

    async def merge(self, tip: str, commit: str, subject: str, task: int) -> str | MergeConflict:
        """Return a commit that merges another one, or where they conflict. The branch does not move."""
        merged = await to_thread.run_sync(self._branch.merge, tip, commit)
        if isinstance(merged, MergeConflict):
            return merged
        return await to_thread.run_sync(self._branch.commit_merge, merged, tip, commit, subject, task)

    async def is_same(self, commit: str, other: str) -> bool:
        """Tell whether two commits have the same files."""
        return await to_thread.run_sync(self._branch.is_same, commit, other)

    async def folder_at(self, commit: str) -> str:
        """Return a folder with exactly the files of a commit, in a tree that no member can write to."""
        return (await self._at(commit)).root

    async def check(self, commit: str, command: str) -> Ran:
        """Run a command on the files of a commit, in a tree that no member can write to."""
        workspace = await self._at(commit)
        return await workspace.run(command, timeout_seconds=CHECK_SECONDS, blob=_BLOB)

    async def _at(self, commit: str) -> LocalWorkspace:
        workspace = await to_thread.run_sync(self._scratch, None)
        files = await workspace.run(_check_out(commit), timeout_seconds=_CHECK_OUT_SECONDS, blob=_BLOB)
        if files.exit != 0:
            # The sandbox lets no command change files such as .envrc or .vscode, not even git.
            workspace = await to_thread.run_sync(self._scratch, commit)
        # If this fails, the check shows what is missing.
        await set_up(workspace, self._setup, CHECKER)
        return workspace

    async def advance(self, tip: str, to: str) -> bool:
        """Move the branch. Return False if it has moved meanwhile."""
        return await to_thread.run_sync(self._branch.advance, tip, to)


def _check_out(commit: str) -> str:
    """Return the commands that leave exactly the files of a commit in a tree, and what git ignores.

    The ignored files stay, so that the next check finds what the last one built. Git fails to remove the empty folders
    that the sandbox shows in place of missing ones. So its status decides whether something is left.
    """
    return "\n".join(
        [
            f"{SAFE_GIT} checkout -q --force --detach {commit} || exit",
            f"{SAFE_GIT} clean -fdq 2>/dev/null && exit",
            f'left=$({SAFE_GIT} status --porcelain) && [ -z "$left" ]',
        ]
    )
