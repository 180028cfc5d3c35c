"""Which checkpoints a workspace has: in git if it is the top of a repository, else copies. Only one kind is loaded."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.errors import ToolError
from deskmate.workspace.checkpoints.points import Checkpoints
from deskmate.workspace.git.repositories import git_folder

if TYPE_CHECKING:
    from deskmate.workspace.checkpoints.git_checkpoints import Run

# Not below refs/deskmate/: what is there belongs to teams with trees, and is removed with them.
_REFS = "refs/deskmate-checkpoints"
# Every worktree has its own refs of this kind, and its own teams.
_WORKTREE_REFS = "refs/worktree/deskmate/checkpoints"


async def _run_nothing(_: str) -> NoReturn:
    raise ToolError("nothing is saved here")


def forget_checkpoints(workspace: Path, team: str, state: Path, environ: Mapping[str, str]) -> None:
    """Remove all checkpoints of a team that is removed. Raises ToolError."""
    try:
        checkpoints = checkpoints_of(workspace, team, state, environ, _run_nothing)
    except ToolError:
        # A bare repository never had any.
        return
    checkpoints.drop_all()


def checkpoints_of(
    workspace: Path, team: str, state: Path, environ: Mapping[str, str], run: "Run", redaction: Redaction = SHAPES
) -> Checkpoints:
    """Return the checkpoints of a team. `state`: the folder of Deskmate's own data. `run`: runs commands in a sandbox.

    `redaction`: finds secrets in files. Raises ToolError for a bare repository, which has no files.
    """
    workspace = Path(os.path.realpath(workspace))
    found = git_folder(workspace)
    if found is None or shutil.which("git", path=environ.get("PATH")) is None:
        from deskmate.workspace.checkpoints.copy_checkpoints import CopyCheckpoints

        return CopyCheckpoints(workspace, Path(os.path.realpath(state)), team, redaction)
    if found.path == workspace:
        raise ToolError("this is a bare repository, which has no files to save")
    from deskmate.workspace.checkpoints.git_checkpoints import GitCheckpoints
    from deskmate.workspace.trees.git_program import GitProgram

    refs = _REFS if found.checkout == found.path else _WORKTREE_REFS
    return GitCheckpoints(workspace, GitProgram(found.checkout, environ), team, run, refs, redaction)
