"""Deskmate's store behind the protocols the questions drive: a mailbox, a board, a watch over mailboxes.

Everything here uses the store as the runtime does: one append awaited at a time, records stamped by their
writer, readers that keep a number.
"""

import secrets
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

from benchmarks.boards import BoardDesign
from benchmarks.rivals import Design, message
from deskmate.core.log.names import mail
from deskmate.core.log.records import Item, Json, Make, Record
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.members import Member
from deskmate.core.team.status import Idle
from deskmate.core.team.task_fields import NewTask
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore

T = TypeVar("T")
TEAM = "bench"
READER = mail("reader")


def open_store(folder: Path) -> JsonlStore:
    """Open the team of this folder, making it at the first call."""
    return JsonlStore.open(folder, TEAM, create=True)


def stamps() -> Iterator[dict[str, object]]:
    """Yield what a writer puts into its records so that a repeated append is known."""
    run = secrets.token_hex(8)
    return ({"run": run, "ord": number} for number in count(1))


def keys(found: Sequence[Item]) -> list[str]:
    """Return the keys of the messages found; a damaged one is missed by the count of what was lost."""
    return [str(item.body["id"]) for item in found if isinstance(item, Record)]


class DeskmateMail:
    """The mailbox stream of one reader."""

    def __init__(self, folder: Path, synced: bool) -> None:
        self._store = open_store(folder)
        self._stamps = stamps()
        self._synced = synced
        self._heard = 0

    async def send(self, key: str) -> None:
        await self._store.append(READER, message(key) | next(self._stamps), sync=self._synced)

    async def receive(self) -> list[str]:
        found = await self._store.read(READER, self._heard)
        self._heard = found[-1].number if found else self._heard
        return keys(found)

    async def fill(self, keys: Sequence[str]) -> None:
        for key in keys:
            await self._store.append(READER, message(key) | next(self._stamps), sync=False)

    def close(self) -> None:
        self._store.close()


class Unsynced:
    """A store that syncs nothing, to show what a sync costs."""

    def __init__(self, store: JsonlStore) -> None:
        self._store = store
        self.changed, self.hold = store.changed, store.hold

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        return await self._store.append(stream, *records, expect=expect, sync=False)

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        return await self._store.read(stream, after, sync=False)

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        return await self._store.decide(stream, after, make, sync=False)


class DeskmateBoard:
    """The product's own board. A member has one task at a time, so each claim is by another one."""

    def __init__(self, folder: Path, synced: bool) -> None:
        self._store = open_store(folder)
        writer = LogWriter(self._store if synced else Unsynced(self._store), SystemClock())
        self._board = Board(writer, Roster(writer))
        self._claims = count(1)

    async def add(self, count: int) -> None:
        for task in range(1, count + 1):
            await self._board.create("lead", NewTask(f"task {task}"))

    async def claim(self, worker: str) -> int | None:
        name = f"{worker}-{next(self._claims)}"
        member = Member(name, AgentKind.TEAMMATE, AgentType.GENERAL, "", "", None, Idle())
        task = await self._board.claim_next(member)
        return task.id if task else None

    async def look(self) -> None:
        await self._board.refresh()

    def close(self) -> None:
        self._store.close()


class DeskmateWatch:
    """Many mailboxes, waited for with one `changed`."""

    def __init__(self, folder: Path, boxes: int) -> None:
        self._store = open_store(folder)
        self._stamps = stamps()
        self._heard = {mail(f"member{box}"): 0 for box in range(boxes)}

    async def prepare(self) -> None:
        for stream in self._heard:
            await self._store.append(stream, message("0-0") | next(self._stamps), sync=False)

    async def catch_up(self) -> None:
        for stream in self._heard:
            await self._take(stream)

    async def post(self, box: int) -> None:
        await self._store.append(mail(f"member{box}"), message("1-1") | next(self._stamps))

    async def news(self) -> None:
        await self._store.changed(self._heard)

    async def take(self, box: int) -> int:
        return await self._take(mail(f"member{box}"))

    async def _take(self, stream: str) -> int:
        found = await self._store.read(stream, self._heard[stream])
        self._heard[stream] = found[-1].number if found else self._heard[stream]
        return len(found)

    def close(self) -> None:
        self._store.close()


DESKMATE = (
    Design("deskmate", True, lambda folder: DeskmateMail(folder, synced=True)),
    Design("deskmate", False, lambda folder: DeskmateMail(folder, synced=False)),
)
DESKMATE_BOARDS = (
    BoardDesign("deskmate", True, lambda folder: DeskmateBoard(folder, synced=True)),
    BoardDesign("deskmate", False, lambda folder: DeskmateBoard(folder, synced=False)),
)
