"""Reach what is listed: print what a command got of it."""

import json
import os
import shlex
import socket
import sys
import threading
from pathlib import Path

import anyio

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.workspace.escapes.escape_ground import become, python

_FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"


async def main(folder: Path, level: Level) -> None:
    """Print what came from a host that is listed, and from one that is not."""
    with socket.create_server(("127.0.0.1", 0)) as listed, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {name: one.getsockname()[1] for name, one in (("listed", listed), ("other", other))}
        threading.Thread(target=answer, args=(listed,), daemon=True).start()
        sandbox = find_sandbox(
            folder / f"state-{os.getuid()}", network=[f"127.0.0.1:{ports['listed']}"], environ=os.environ
        )
        if sandbox.level is not level:
            sys.exit(sandbox.reason)
        place = folder / f"ws-{os.getuid()}"
        place.mkdir()
        workspace = LocalWorkspace(place, "main", "lead", sandbox=sandbox, environ=os.environ)
        got = {}
        for name, port in ports.items():
            command = f'{shlex.quote(python())} -c "{_FETCH}" http://127.0.0.1:{port}/ 2>&1 | tail -1'
            ran = await workspace.run(command, timeout_seconds=60, blob="lead-1-0.txt")
            got[name] = [ran.output.replace(str(port), "PORT"), ran.ended.replace(str(port), "PORT")]
    print(json.dumps(got))


def answer(listener: socket.socket) -> None:
    caller, _ = listener.accept()
    with caller:
        caller.recv(1 << 16)
        caller.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello")


if __name__ == "__main__":
    become(sys.argv[3:])
    # As if this user had started it, whose Python it would be.
    sys.executable = python()
    anyio.run(main, Path(sys.argv[1]), Level(sys.argv[2]))
