"""A member's own copy of the repository, how it is set up, and how its work gets out of it.

Git inside the tree runs in the member's sandbox, because the member may have changed anything there. What it offers
comes out as one file of packed objects. Git checks these one by one before it takes them.
"""

import logging
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from deskmate.core.agent.merge_texts import filter_failed, setup_failed
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.git.revisions import head_commit
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.paths import resolved
from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.snapshot_script import new_repositories
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import UNFILTERED
from deskmate.workspace.workspace_files import opened

_LOG = logging.getLogger(__name__)
SECONDS = 300.0
_SETUP_SECONDS = 900.0
_PACK = ".git/deskmate.pack"
# Made inside the sandbox once the user's setup command has ended there.
_MARK = ".git/deskmate-setup"
_UNRESOLVED, _INNER = 3, 4
_NAMES = "repositories: "
# A git that was killed leaves these. No git runs in a tree before its member begins.
_LOCKS = (".git/index.lock", ".git/HEAD.lock", ".git/config.lock")


class OwnTree:
    """The tree of one member. `workspace`: the same folder, as the member's tools see it."""

    def __init__(self, workspace: LocalWorkspace, branch: TeamBranch, member: str) -> None:
        self._workspace, self._branch, self._member = workspace, branch, member
        self._root = Path(workspace.root)

    @property
    def branch(self) -> str:
        """The branch that the work is merged into."""
        return self._branch.name

    async def offer(self, message: str) -> str:
        """Commit everything that is new in the tree, and take it into the repository. Return the commit of the tree.

        Raises ToolError if a merge left conflict markers in files, or if git fails.
        """
        tip = await self._tip()
        if not await to_thread.run_sync(self._root.is_dir):
            raise ToolError(
                f"Your tree {self._root} is gone: somebody deleted it. What you had not merged is lost. Tell the lead. "
                "A new teammate gets a new tree."
            )
        await self._commit(message, tip)
        commit = await to_thread.run_sync(head_commit, self._root)
        if commit is None:
            raise ToolError("Your tree has no commit: its .git folder is damaged. Tell the lead.")
        await to_thread.run_sync(self._take, commit, tip)
        return commit

    async def _commit(self, message: str, tip: str) -> None:
        ran = await self._run(
            "set -e",
            "unmerged=$(git diff --name-only --diff-filter=U -z"
            " | xargs -0 -r grep -lE '^(<<<<<<<|>>>>>>>)( |$)' -- || true)",
            f'if [ -n "$unmerged" ]; then echo "$unmerged"; exit {_UNRESOLVED}; fi',
            f"{SAFE_GIT} add --sparse -A -- .",
            f"base=$(git merge-base HEAD {tip})",
            f"inner=$({new_repositories('$base')} | tr '\\0' '\\n')",
            'if [ -n "$inner" ]; then',
            # Otherwise they stay in the index, also when they are ordinary folders again.
            f"  {new_repositories('$base')} | {SAFE_GIT} update-index -z --force-remove --stdin",
            f'  echo "{_NAMES}$inner"; exit {_INNER}',
            "fi",
            "if ! git diff --cached --quiet || [ -e .git/MERGE_HEAD ]; then",
            f"  {SAFE_GIT} commit -q --no-verify --cleanup=verbatim -m {shlex.quote(message)}",
            "fi",
            f"printf '%s\\n' HEAD ^{tip} | {SAFE_GIT} pack-objects -q --revs --thin --stdout > {_PACK}",
        )
        if ran.exit == _UNRESOLVED:
            raise ToolError(f"These files still have conflict markers: {ran.output.strip()}. Resolve them first.")
        if ran.exit == _INNER:
            raise ToolError(
                f"These folders are git repositories of their own and cannot be merged: {_after_mark(ran.output)}. "
                "Remove the .git of each, or name the folder in .gitignore."
            )
        if ran.exit != 0:
            raise ToolError(f"Your changes could not be committed: {ran.output.strip() or ran.ended}")

    def _take(self, commit: str, tip: str) -> None:
        with resolved(self._root, _PACK) as place, opened(place) as fd, os.fdopen(os.dup(fd), "rb") as pack:
            self._branch.take_in(pack, commit, f"offers/{self._member}")
        with suppress(OSError):
            os.unlink(self._root / _PACK)
        self._branch.take_large_files(self._root, commit, tip)

    async def is_merged(self, commit: str) -> bool:
        """Tell whether the work of a commit is in the branch."""
        return await to_thread.run_sync(self._branch.contains, commit, await self._tip())

    async def update(self) -> bool:
        """Bring the tree to the tip of the branch, if everything in it is merged. Return whether it is there now."""
        return await self.move_to(await self._tip())

    async def move_to(self, commit: str) -> bool:
        """Bring the tree to a commit, if that has everything in it. Return whether it is there now."""
        await to_thread.run_sync(self._branch.keep, f"trees/{self._member}", commit)
        ran = await self._run(
            "set -e",
            'test -z "$(git status --porcelain)"',
            f"git merge-base --is-ancestor HEAD {commit}",
            f"{SAFE_GIT} checkout -q --detach {commit}",
        )
        return ran.exit == 0

    async def merge_branch(self) -> None:
        """Merge the branch into the tree. Conflicts are left in the files, for the member to resolve."""
        await self._run(f"{SAFE_GIT} merge -q --no-ff --no-edit {await self._tip()}")

    async def _tip(self) -> str:
        tip = await to_thread.run_sync(self._branch.tip)
        if tip is None:
            raise ToolError(f"The branch {self._branch.name} is gone. Tell the lead: only the user can bring it back.")
        return tip

    async def _run(self, *lines: str) -> Ran:
        name = f"{self._member}-tree.txt"
        return await self._workspace.run("\n".join(lines), timeout_seconds=SECONDS, blob=name)


def _after_mark(output: str) -> str:
    """Return the names in an output, on one line. Git may have printed warnings before."""
    return ", ".join(output.rpartition(_NAMES)[2].split("\n")).strip(", ")


# -- setting it up --------------------------------------------------------------------------------


@frozen
class TreeSetup:
    """`command`: run once in each new tree, or empty. `sparse`: the folders that the tree of a member has, else all."""

    command: str = ""
    sparse: tuple[str, ...] = ()


NO_SETUP = TreeSetup()


async def set_up(workspace: LocalWorkspace, command: str, member: str) -> str:
    """Convert files with the user's filters, and run a command, each once in a tree. Return what the member must know.

    The user is told, too, if something fails. What runs here has the same limits as a command of the member.
    """
    root = Path(workspace.root)
    if locks := [name for name in _LOCKS if (root / name).exists()]:
        await _run(workspace, [f"rm -f {' '.join(locks)}"], SECONDS, f"{member}-locks.txt")
    found = [await _convert(workspace, member)] if (root / UNFILTERED).exists() else []
    if command and not (root / _MARK).exists():
        found.append(await _run_setup(workspace, command, member))
    return "\n".join(filter(None, found))


async def _run_setup(workspace: LocalWorkspace, command: str, member: str) -> str:
    lines = (f"({command}", ")", "ended=$?", f"touch {_MARK}", "exit $ended")
    ran = await _run(workspace, lines, _SETUP_SECONDS, f"{member}-setup.txt")
    if ran.exit == 0:
        return ""
    how = ran.ended or f"exit status {ran.exit}"
    _LOG.warning("The setup command failed in the tree of '%s' with %s: %s", member, how, ran.output.strip()[-500:])
    return setup_failed(command, how, ran.output)


async def _convert(workspace: LocalWorkspace, member: str) -> str:
    """Let git write the files again that a filter converts. If that fails, they stay as git stores them."""
    lines = (
        # Git would take what it has written as up to date.
        f"xargs -0 rm -f -- < {UNFILTERED}",
        f"{SAFE_GIT} checkout-index -u -q -z --stdin < {UNFILTERED}",
        "ended=$?",
        "if [ $ended != 0 ]; then",
        "  mkdir -p .git/info && echo '* -filter' > .git/info/attributes",
        f"  {SAFE_GIT} checkout-index -f -u -q -z --stdin < {UNFILTERED}",
        "fi",
        "test $ended = 0 || rm -f .git/info/attributes",
        f"rm -f {UNFILTERED}",
        "exit $ended",
    )
    ran = await _run(workspace, lines, _SETUP_SECONDS, f"{member}-filters.txt")
    if ran.exit == 0:
        return ""
    _LOG.warning("A filter of git failed in the tree of '%s': %s", member, ran.output.strip()[-500:])
    return filter_failed(ran.output)


async def _run(workspace: LocalWorkspace, lines: Sequence[str], seconds: float, blob: str) -> Ran:
    try:
        return await workspace.run("\n".join(lines), timeout_seconds=seconds, blob=blob)
    except ToolError as error:
        return Ran(None, "", str(error))
