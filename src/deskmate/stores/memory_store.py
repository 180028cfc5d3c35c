"""Streams in this process, for tests."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.lowlevel

from deskmate.core.log.names import split_seat, split_stream
from deskmate.core.log.records import Item, Json, Make, Record, Stamp, check_number, decode, encode_together
from deskmate.core.values import frozen
from deskmate.errors import Conflict, Held, StoreCorrupt
from deskmate.ports import Seat

T = TypeVar("T")


@frozen
class MemorySeat:
    """A seat held in this process."""

    name: str


class MemoryStore:
    """Streams as lists."""

    def __init__(self) -> None:
        self._streams: dict[str, list[Record]] = {}
        self._places: dict[str, dict[Stamp, int]] = {}
        self._wakeups = anyio.Event()
        self._holders: dict[str, str] = {}
        self._freed = anyio.Event()

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        """Append records and return their numbers. `Store` has the details."""
        split_stream(stream)
        check_number(expect or 0)
        lines = encode_together(records)
        await anyio.lowlevel.checkpoint()
        last, places = len(self._streams.get(stream, ())), self._places.setdefault(stream, {})
        # Here a record is written with all others of its append, or none is.
        if not lines.keys() <= places.keys():
            if expect is not None and expect != last:
                raise _shrunk(stream, expect, last) if expect > last else Conflict(stream, expect, last)
            self._add(stream, lines)
        return [places[mark] for mark in lines]

    def _add(self, stream: str, lines: Mapping[Stamp, bytes]) -> None:
        records, places = self._streams.setdefault(stream, []), self._places.setdefault(stream, {})
        for mark, line in lines.items():
            records.append(Record(len(records) + 1, decode(line)))
            places[mark] = len(records)
        self._wakeups.set()
        self._wakeups = anyio.Event()

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        """Append what `make` decides on everything after `after`. `Store` has the details."""
        decision = make(await self.read(stream, after))
        if decision.record is None:
            return None, decision.outcome
        self._add(stream, encode_together([decision.record]))
        return len(self._streams[stream]), decision.outcome

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`. `Store` has the details."""
        split_stream(stream)
        check_number(after)
        await anyio.lowlevel.checkpoint()
        records = self._streams.get(stream, [])
        if after > len(records):
            raise _shrunk(stream, after, len(records))
        return records[after:]

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return when any of these streams has something after its number."""
        for stream in since:
            split_stream(stream)
        await anyio.lowlevel.checkpoint()
        while all(len(self._streams.get(stream, [])) == seen for stream, seen in since.items()):
            await self._wakeups.wait()

    @asynccontextmanager
    async def hold(self, name: str, note: str, *, wait: bool = False) -> AsyncIterator[Seat]:
        """Hold a seat in this process. `Store` has the details."""
        split_seat(name)
        while name in self._holders:
            if not wait:
                raise Held(name, self._holders[name])
            await self._freed.wait()
        self._holders[name] = note
        try:
            yield MemorySeat(name)
        finally:
            del self._holders[name]
            self._freed.set()
            self._freed = anyio.Event()


def _shrunk(stream: str, known: int, last: int) -> StoreCorrupt:
    return StoreCorrupt(f"{stream} ends at record {last}, but record {known} was read from it before")
