"""What the user sets for new trees: a command that is run there, such as `uv sync`, and which folders they have."""

import logging
from pathlib import Path

from deskmate.core.agent.merge_texts import setup_failed
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace

_LOG = logging.getLogger(__name__)
SECONDS = 900.0
# Made inside the sandbox once the command has ended there.
_MARK = ".git/deskmate-setup"


@frozen
class TreeSetup:
    """`command`: run once in each new tree, or empty. `sparse`: the folders that the tree of a member has, else all."""

    command: str = ""
    sparse: tuple[str, ...] = ()


NO_SETUP = TreeSetup()


async def set_up(workspace: LocalWorkspace, command: str, member: str) -> str:
    """Run a command in a member's tree, unless it ran there before. Return what the member must know if it failed.

    The user is told, too. The command has the same limits as one of the member.
    """
    if not command or (Path(workspace.root) / _MARK).exists():
        return ""
    lines = (f"({command}", ")", "ended=$?", f"touch {_MARK}", "exit $ended")
    try:
        ran = await workspace.run("\n".join(lines), timeout_seconds=SECONDS, blob=f"{member}-setup.txt")
    except ToolError as error:
        ran = Ran(None, "", str(error))
    if ran.exit == 0:
        return ""
    how = ran.ended or f"exit status {ran.exit}"
    _LOG.warning("The setup command failed in the tree of '%s' with %s: %s", member, how, ran.output.strip()[-500:])
    return setup_failed(command, how, ran.output)
