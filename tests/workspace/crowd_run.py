"""Ask for very much at once: print what came of it.

It may have few files open, as on a machine with a low limit: 500 globs, 100 searches and 100 commands at once all come
to their end while 20 commands run, or wait to, for as long as the rest takes.
"""

import json
import os
import resource
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import anyio

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.workspace.escapes.escape_ground import become

_OPEN_FILES = 400


async def main(folder: Path, level: Level) -> None:
    programs = [] if level is Level.LANDLOCK else PROGRAMS
    sandbox = (
        find_sandbox(folder / f"state-{os.getuid()}", programs=programs, environ=os.environ)
        if level is not Level.NONE
        else None
    )
    if sandbox and sandbox.level is not level:
        sys.exit(sandbox.reason)
    place = folder / f"ws-{os.getuid()}"
    (place / "src").mkdir(parents=True)
    (place / "src/a.py").write_text("a = 1\n")
    workspace = LocalWorkspace(place, "main", "lead", sandbox=sandbox, grace_seconds=0.3, environ=os.environ)
    ends = Counter[str]()

    async def note(name: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            ends[f"{name}: {await work()}"] += 1
        except Exception as error:
            ends[f"{name}: {error}"] += 1

    calls = count()

    async def run(command: str, seconds: float) -> str:
        ran = await workspace.run(command, timeout_seconds=seconds, blob=f"lead-{next(calls)}-0.txt")
        return ran.output + ran.ended

    async def searched() -> str:
        return (await workspace.search("a = 1", ".", "")).output

    async with anyio.create_task_group() as long:
        for _ in range(20):
            long.start_soon(note, "long", lambda: run("until [ -e over ]; do sleep 0.1; done; echo over", 24 * 3600))
        async with anyio.create_task_group() as short:
            for _ in range(500):
                short.start_soon(note, "glob", lambda: workspace.find("**/*.py"))
            for _ in range(100):
                short.start_soon(note, "grep", searched)
                short.start_soon(note, "bash", lambda: run("echo hello", 300))
        (place / "over").touch()
    left = sorted(path.name for path in place.iterdir() if path.name not in ("src", "over", ".teams", ".tasks"))
    print(json.dumps({"ends": ends, "left": left}))


if __name__ == "__main__":
    become(sys.argv[3:])
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    anyio.run(main, Path(sys.argv[1]), Level(sys.argv[2]))
