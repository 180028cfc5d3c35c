"""Append to three streams, the same again after an error, and say each number; strace stands around this process.

Every line on standard output is true when it is written: `<stream> <ordinal> <number>` for an acknowledged record,
`read <stream> <number> ...` for what a second store read.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio

from deskmate.errors import StoreUnavailable
from deskmate.stores.jsonl_store import JsonlStore

T = TypeVar("T")
# Each stream with the ordinals of the records that are appended together.
PLAN = (("mail/bob", (1,)), ("board", (1, 2, 3)), ("roster", (1,)), ("mail/bob", (2,)))
LATER = ("mail/bob", (3, 4))
TRIES = 4


def say(*words: object) -> None:
    os.write(1, " ".join(map(str, words)).encode() + b"\n")


async def insist(deed: Callable[[], Awaitable[T]]) -> T:
    """Try until it succeeds; give up with the store's own error."""
    for _ in range(TRIES - 1):
        try:
            return await deed()
        except StoreUnavailable as error:
            print(error, file=sys.stderr)
    return await deed()


async def main(workspace: Path) -> None:
    async def opened(create: bool = True) -> JsonlStore:
        return JsonlStore.open(workspace, "team", create=create)

    async def append(stream: str, ordinals: tuple[int, ...]) -> None:
        bodies = [
            {"type": "message", "content": f"{stream}-{ordinal}", "run": "child", "ord": ordinal}
            for ordinal in ordinals
        ]
        for ordinal, number in zip(ordinals, await insist(lambda: store.append(stream, *bodies)), strict=True):
            say(stream, ordinal, number)

    async def seated() -> None:
        async with store.hold("bob", "a note"):
            say("seated")

    store = await insist(opened)
    for stream, ordinals in PLAN:
        await append(stream, ordinals)
    reader = await insist(lambda: opened(create=False))
    for stream in sorted({stream for stream, _ in PLAN}):
        found = await insist(lambda: reader.read(stream))  # noqa: B023
        say("read", stream, *(item.number for item in found))
    await append(*LATER)
    await insist(seated)
    reader.close()
    store.close()


if __name__ == "__main__":
    try:
        anyio.run(main, Path(sys.argv[1]))
    except StoreUnavailable as error:
        print(error, file=sys.stderr)
        sys.exit(3)
