"""Take all that can be taken: print what came of it.

While each is at it, another workspace is asked for something small.
"""

import json
import os
import shlex
import sys
from pathlib import Path

import anyio
from anyio import to_thread

from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from deskmate.workspace.sandbox.resource_limits import ResourceLimits
from tests.workspace.escapes.escape_ground import become, python

LIMITS = ResourceLimits(processes=60, memory_bytes=300 << 20, file_bytes=1 << 20, scratch_bytes=2 << 20)
_THREADS = (
    "import threading\nfor _ in range(5000): threading.Thread(target=threading.Event().wait, daemon=True).start()"
)
_DEEP = "import os\nfor _ in range(1100): os.mkdir('d'); os.chdir('d')\nprint('deep')"
HOGS = {
    "fork bomb": ("f() { f | f & f; }; f", 0.5),
    "endless output": ("yes a line as long as those of a build", 60),
    "endless file": ("cat /dev/zero > big", 60),
    "memory hog": ("<python> -c 'x = bytearray(1 << 30)'", 60),
    "sleep for ever": ("sleep infinity", 0.2),
    "many threads": (f'<python> -c "{_THREADS}"', 60),
    "deep folders": (f'<python> -c "{_DEEP}"', 60),
    "busy for ever": ("while :; do :; done", 0.2),
}


async def main(folder: Path, level: Level) -> None:
    """Print for each hog how it ended and what the neighbour said."""
    programs = [] if level is Level.LANDLOCK else PROGRAMS
    sandbox = find_sandbox(folder / f"state-{os.getuid()}", limits=LIMITS, programs=programs, environ=os.environ)
    if sandbox.level is not level:
        sys.exit(sandbox.reason)
    places = [folder / f"{name}-{os.getuid()}" for name in ("ws", "neighbour")]
    for place in places:
        place.mkdir()
    hog, neighbour = (
        LocalWorkspace(place, "main", "lead", sandbox=sandbox, grace_seconds=0.3, environ=os.environ)
        for place in places
    )
    began = places[0] / "began"
    os.mkfifo(began)
    results: dict[str, tuple[int | None, str, str]] = {}

    async def take(name: str) -> None:
        command, seconds = HOGS[name]
        ran = await run(hog, f"echo > began; {command.replace('<python>', shlex.quote(python()))}", seconds)
        results[name] = (ran.exit, ran.ended, said)

    for name in HOGS:
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(take, name)
                await to_thread.run_sync(began.read_bytes)
                said = (await run(neighbour, "echo alive", 60)).output
    print(json.dumps(results))


async def run(workspace: LocalWorkspace, command: str, seconds: float) -> Ran:
    return await workspace.run(command, timeout_seconds=seconds, blob="lead-1-0.txt")


if __name__ == "__main__":
    become(sys.argv[3:])
    anyio.run(main, Path(sys.argv[1]), Level(sys.argv[2]))
