"""Take slots as a process of its own.

hold     take one and stay until standard input ends
crowd    once told to, let members go through them again and again, noting who is inside
"""

import os
import sys
from pathlib import Path

import anyio
import anyio.lowlevel

from deskmate.runtime.streams.call_slots import CallSlots
from deskmate.stores.jsonl_store import JsonlStore

SLOTS = 2
MEMBERS = 6
CALLS = 10


async def hold(slots: CallSlots, note: str) -> None:
    async with slots.one(note):
        print("held", flush=True)
        sys.stdin.read()


async def crowd(slots: CallSlots, note: str, notes: Path) -> None:
    # Appended in one write each: their order in the file is the order in which they were made.
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def call() -> None:
        for _ in range(CALLS):
            async with slots.one(note):
                os.write(file, f"+{note}\n".encode())
                for _ in range(10):
                    await anyio.lowlevel.checkpoint()
                os.write(file, f"-{note}\n".encode())

    print("ready", flush=True)
    sys.stdin.readline()
    async with anyio.create_task_group() as members:
        for _ in range(MEMBERS):
            members.start_soon(call)


async def main(how: str, workspace: Path, note: str) -> None:
    slots = CallSlots(JsonlStore.open(workspace, "team", create=True), SLOTS)
    await (hold(slots, note) if how == "hold" else crowd(slots, note, workspace / "notes"))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]), sys.argv[3])
