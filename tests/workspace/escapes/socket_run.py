"""Make a socket of every family: print what came of each.

For each number from 0 to 45, with the network off and on: what the kernel answered a confined command. "made" is a
socket.
"""

import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import anyio

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.workspace.escapes.escape_ground import become, python

FAMILIES = range(46)
# By number, for Python may not know the name. A family is made if any of its types is.
_PROGRAM = """
import ctypes, errno, sys
libc, pair = ctypes.CDLL(None, use_errno=True), (ctypes.c_int * 2)()

def answer(call, *arguments):
    return "made" if call(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]

def best(call, family, *more):
    # Type 7 is no type at all: the family has been let through if that is what is wrong.
    found = [answer(call, family, kind, *more) for kind in (1, 2, 3, 5, 7)]
    return "made" if "made" in found else found[-1]

for family in range(46):
    print("socket", family, best(libc.socket, family, 0))
    print("pair", family, best(libc.socketpair, family, 0, pair))
for family in (1, 40):
    long = ctypes.c_long(family | 1 << 32)
    print("long", family, answer(libc.syscall, ctypes.c_long(@SOCKET@), long, ctypes.c_long(1), ctypes.c_long(0)))
for protocol in range(23):
    print("netlink", protocol, answer(libc.socket, 16, 3, protocol))
"""
_SOCKET = {"x86_64": "41", "aarch64": "198"}


async def main(folder: Path, level: Level) -> None:
    programs = [] if level is Level.LANDLOCK else PROGRAMS
    found = (
        find_sandbox(folder / f"state-{os.getuid()}", programs=programs, environ=os.environ)
        if level is not Level.NONE
        else None
    )
    if found and found.level is not level:
        sys.exit(found.reason)
    place = folder / f"ws-{os.getuid()}"
    place.mkdir()
    (place / "families.py").write_text(_PROGRAM.replace("@SOCKET@", _SOCKET[os.uname().machine]))
    results = {}
    for network in (False, True) if found else (True,):
        sandbox = replace(found, network=network) if found else None
        workspace = LocalWorkspace(place, "main", "lead", sandbox=sandbox, environ=os.environ)
        ran = await workspace.run(f"{shlex.quote(python())} families.py", timeout_seconds=60, blob="lead-1-0.txt")
        if ran.exit != 0:
            sys.exit(str(ran))
        answers = dict(line.rsplit(" ", 1) for line in ran.output.splitlines())
        results["on" if network else "off"] = answers
    print(json.dumps(results))


if __name__ == "__main__":
    become(sys.argv[3:])
    anyio.run(main, Path(sys.argv[1]), Level(sys.argv[2]))
