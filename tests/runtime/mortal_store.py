"""MortalStore: a store whose process dies right after a given append, so that a test can kill between any two."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from deskmate.core.log.records import Item, Json, Make
from deskmate.ports import Seat, Store

T = TypeVar("T")


class Killed(BaseException):
    """The process is dead. Nothing that it does from now on reaches the store."""


class MortalStore:
    """A store that lets its process append so many records. The last one is written, and then the process dies."""

    def __init__(self, store: Store, appends: int) -> None:
        self._store, self._left = store, appends

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        self._check()
        # A kill may also come in the middle of records that are appended together.
        written = records[: self._left]
        numbers = await self._store.append(stream, *written, expect=expect, sync=sync)
        self._count(len(written))
        return numbers

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        self._check()
        number, outcome = await self._store.decide(stream, after, make, sync=sync)
        if number is not None:
            self._count(1)
        return number, outcome

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        self._check()
        return await self._store.read(stream, after, sync=sync)

    async def changed(self, since: Mapping[str, int]) -> None:
        self._check()
        await self._store.changed(since)

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        return self._store.hold(name, note, wait=wait)

    def _check(self) -> None:
        if self._left <= 0:
            raise Killed

    def _count(self, records: int) -> None:
        self._left -= records
        self._check()
