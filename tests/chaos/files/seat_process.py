"""Take a seat as a process of its own; say how it went; stay until standard input ends.

hold     take it or be refused
wait     stand in line
fork     take it, then fork a child that stays
spawn    take it, then start a program that stays and inherits whatever descriptors may be inherited
cancel   stand in line, leave the line, end
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio

from deskmate.errors import Held
from deskmate.stores.jsonl_store import JsonlStore


def say(*words: object) -> None:
    print(*words, flush=True)


def child_that_stays(how: str) -> int:
    if how == "spawn":
        return subprocess.Popen(["sleep", "1000"], close_fds=False, stdin=subprocess.DEVNULL).pid
    ready, tell = os.pipe()
    if pid := os.fork():
        os.read(ready, 1)
        return pid
    os.write(tell, b"!")
    while True:
        signal.pause()


async def hold(store: JsonlStore, note: str, how: str) -> None:
    async with store.hold("lead", note, wait=how == "wait"):
        say("held", child_that_stays(how) if how in ("fork", "spawn") else 0)
        sys.stdin.read()


async def stand_and_leave(store: JsonlStore, note: str) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(hold, store, note, "wait")
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    say("left")


async def main(workspace: str, note: str, how: str) -> None:
    store = JsonlStore.open(Path(workspace), "team", create=True)
    if how == "cancel":
        await stand_and_leave(store, note)
        return
    try:
        await hold(store, note, how)
    except Held as error:
        say("refused", error.note)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
