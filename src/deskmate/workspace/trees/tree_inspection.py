"""What is in a member's tree and nowhere else.

Git inside the tree runs in the sandbox, because the member may have changed anything there.
"""

import os
import secrets
import shlex
import stat
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from anyio import to_thread

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.branch_changes import PLAIN
from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.merge_target import CHECKER
from deskmate.workspace.trees.tree_places import Tree

_SECONDS = 120.0
_MOST_BYTES = 50_000_000


@frozen
class TreeContent:
    """`changed`: files that are not committed. `commits`: how many are not merged."""

    changed: int
    commits: int


class TreeInspector:
    """Looks at trees of members. `repository`: where their objects are. It writes nothing into the user's folder."""

    def __init__(self, repository: Path, environ: Mapping[str, str], sandbox: Sandbox) -> None:
        self._repository, self._environ, self._sandbox = repository, environ, sandbox

    async def content(self, tree: Tree, known: Collection[str]) -> TreeContent:
        """Return what is only in a tree. `known`: commits that are kept elsewhere. Raises ToolError."""
        printed = await self._run(
            tree,
            "set -e",
            f"changed=$({SAFE_GIT} --no-optional-locks status --porcelain --no-renames --untracked-files=all)",
            'printf "%s" "$changed" | grep -c "" || true',
            # What is put aside is work too, and so are other branches. Only of what was fetched there is a copy.
            "stashes=$(git stash list --format=%H)",
            f"git rev-list --count HEAD --branches --tags $stashes {shlex.join(['--not', '--remotes', *known])}",
        )
        try:
            # Programs that git runs, such as filters, may have printed something before.
            changed, commits = map(int, printed.split()[-2:])
        except ValueError as error:
            raise ToolError(f"git said something else than two numbers: {printed[:200]!r}") from error
        return TreeContent(changed, commits)

    async def diff(self, tree: Tree, tip: str, *, stat: bool) -> str:
        """Return what a member changed and is not merged, committed or not. Raises ToolError."""
        words = shlex.join(["diff", "--cached", *PLAIN, *(["--stat"] if stat else [])])
        return await self._run(
            tree,
            "set -e",
            "own=.git/deskmate-diff-index",
            "trap 'rm -f \"$own\"' EXIT",
            'cp .git/index "$own"',
            # An index of its own: the member may be using the other one.
            'export GIT_INDEX_FILE="$PWD/$own"',
            # Warnings are no part of the diff.
            f"{SAFE_GIT} add --sparse -A -- . 2>/dev/null",
            f'{SAFE_GIT} {words} "$(git merge-base HEAD {tip})" 2>/dev/null',
        )

    async def _run(self, tree: Tree, *lines: str) -> str:
        with tempfile.TemporaryDirectory(prefix="deskmate-") as records:
            workspace = LocalWorkspace(
                tree.path,
                tree.team,
                CHECKER,
                environ=self._environ,
                sandbox=self._sandbox,
                records=Path(records),
                readable=(self._repository,),
            )
            # A name of its own: a command ends what others of its name have left running.
            name = f"{CHECKER}-i{secrets.token_hex(3)}.txt"
            ran = await workspace.run("\n".join(lines), timeout_seconds=_SECONDS, blob=name)
            if ran.exit != 0:
                raise ToolError(f"{tree.path} cannot be read: {ran.output.strip()[-500:] or ran.ended}")
            if ran.blob is None:
                return ran.output
            return await to_thread.run_sync(_read, Path(ran.blob))


def _read(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as whole:
        return whole.read(_MOST_BYTES)


def size_of(folder: Path) -> int:
    """Return how many bytes a folder takes on the disk. What cannot be read counts as nothing."""
    total, todo = 0, [folder]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode):
                        todo.append(Path(entry.path))
        except OSError:
            # A member may be removing files at this moment.
            continue
    return total
