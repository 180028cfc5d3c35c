"""What is started for a server: its words, its variables and its sandbox."""

import secrets
from collections.abc import Mapping
from pathlib import Path

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.policy.passed_variables import is_passed
from deskmate.errors import ToolError
from deskmate.mcp.stdio_transport import ServerCommand
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.sweep import Groups


def server_command(
    entry: ServerEntry, folder: Path, records: Path, seat: str, environ: Mapping[str, str], sandbox: Sandbox
) -> ServerCommand:
    """Return what to start for a server. `seat`: whose process it is, as `team/member`, in `records`.

    It gets the variables that commands get, and those of its entry. With a sandbox, it can do what commands can do.
    """
    team, _, member = seat.partition("/")
    # Its processes are known by these. Each start has a mark of its own: the one before may still be ending.
    start = f"{member}-mcp-{entry.name}-{secrets.token_hex(8)}"
    marks = {"DESKMATE_ROOT": str(folder), "DESKMATE_SEAT": seat, "DESKMATE_CALL": start}
    known = {name: value for name, value in environ.items() if is_passed(name)}
    if entry.sandbox and sandbox.level is Level.NONE and sandbox.hint:
        raise ToolError(
            f"it was not started, because there is no sandbox: {sandbox.reason}. {sandbox.hint} "
            f"To run it without one, set sandbox = false under [mcp.{entry.name}] in the settings."
        )
    is_confined = entry.sandbox and sandbox.level is not Level.NONE
    return ServerCommand(
        entry.command,
        folder,
        {**known, "TERM": "dumb", "PWD": str(folder), **entry.env, **marks},
        CommandSandbox(sandbox, folder, environ) if is_confined else None,
        Groups(records, team, f"{member}.mcp"),
    )
