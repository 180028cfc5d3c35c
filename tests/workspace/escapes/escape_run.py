"""Try every escape, once each on a ground of its own: print which won.

With a UID, what it needs is imported first and then that user becomes: no more than it may do is done.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.workspace.escapes.escape_ground import Ground, become, ground
from tests.workspace.escapes.escape_table import ATTEMPTS, GIT, LATER, LINKS, Attempt

Make = Callable[[Ground, Sandbox | None], LocalWorkspace]


def in_the_workspace(on: Ground, sandbox: Sandbox | None) -> LocalWorkspace:
    return LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox, grace_seconds=0.3)


async def attempt(one: Attempt, on: Ground, sandbox: Sandbox | None, make: Make = in_the_workspace) -> bool:
    """Try one escape, and have Deskmate stumble over what it left; tell whether it won."""
    one.before(on)
    workspace = make(on, sandbox)
    left_open = os.open(on.outside / "victim", os.O_RDWR)
    os.set_inheritable(left_open, True)
    try:
        with anyio.fail_after(60):
            command = f"echo tried\n{on.fill(one.command)}"
            ran = await workspace.run(command, timeout_seconds=20, blob="lead-1-0.txt")
            if not ran.output.startswith("tried"):
                sys.exit(f"{one.name} was not tried: {ran}")
            if one in (*GIT, *LINKS, *LATER):
                await look(workspace)
    finally:
        os.close(left_open)
    return one.won(on)


async def look(workspace: LocalWorkspace) -> None:
    """Have Deskmate run what it runs by itself."""
    # What was left may be past finding: that is no way out.
    with contextlib.suppress(ToolError):
        await workspace.find("*")
    with contextlib.suppress(ToolError):
        await workspace.search("a", ".", "")


async def main(folder: Path, level: Level) -> None:
    programs = [] if level is Level.LANDLOCK else PROGRAMS
    found = (
        find_sandbox(folder / f"state-{os.getuid()}", programs=programs, environ=os.environ)
        if level is not Level.NONE
        else None
    )
    if found and found.level is not level:
        sys.exit(found.reason)
    results = {}
    for one in ATTEMPTS:
        if found or not one.wild:
            with ground(folder, repository=one in (*GIT, *LINKS, *LATER)) as on:
                results[one.name] = await attempt(one, on, replace(found, state=on.state) if found else None)
    print(json.dumps(results))


if __name__ == "__main__":
    become(sys.argv[3:])
    anyio.run(main, Path(sys.argv[1]), Level(sys.argv[2]))
