"""Mount a disk while a command runs: print what it did there.

To be started by root in a mount namespace of its own whose mounts are shared, as those of most machines are. One
process stays root and mounts; the other becomes the user, if one is named, and has Deskmate run the command.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import anyio

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.workspace.escapes.escape_ground import CANARY, PWNED, become

_SECONDS = 30
_COMMAND = """
touch began; until [ -e mounted ]; do sleep 0.01; done
cat <disk>/note > loot; echo pwned > <disk>/note; echo pwned > <disk>/new
"""


def mount(place: Path, disk: Path) -> None:
    """Mount a disk that everybody may write, once the command has begun."""
    deadline = time.monotonic() + _SECONDS
    while not (place / "began").exists():
        if time.monotonic() > deadline:
            sys.exit("the command did not begin")
        time.sleep(0.01)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0777", "disk", str(disk)], check=True)
    (disk / "note").write_text(CANARY)
    (disk / "note").chmod(0o666)
    (place / "mounted").touch()


async def main(place: Path, disk: Path, state: Path, level: Level) -> None:
    programs = [] if level is Level.LANDLOCK else PROGRAMS
    sandbox = find_sandbox(state, programs=programs, environ=os.environ) if level is not Level.NONE else None
    if sandbox and sandbox.level is not level:
        sys.exit(sandbox.reason)
    workspace = LocalWorkspace(place, "main", "lead", sandbox=sandbox, environ=os.environ)
    ran = await workspace.run(_COMMAND.replace("<disk>", str(disk)), timeout_seconds=_SECONDS, blob="lead-1-0.txt")
    if ran.exit is None:
        sys.exit(str(ran))
    won = {
        "read": CANARY in (place / "loot").read_text(),
        "overwritten": PWNED in (disk / "note").read_text(),
        "made": (disk / "new").exists(),
    }
    print(json.dumps(won))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    place, disk, state = (folder / name for name in ("ws", "outside/disk", "state"))
    for one in (place, disk, state):
        one.mkdir(parents=True)
        one.chmod(0o777)
    if child := os.fork():
        become(sys.argv[3:])
        anyio.run(main, place, disk, state, Level(sys.argv[2]))
        os.waitpid(child, 0)
    else:
        mount(place, disk)
