"""The one way the runtime touches a store: a pen that stamps what it appends, and folds that keep themselves current.

Everything in this package appends through a pen. Below is `ports.Store`.
"""

import itertools
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import anyio

from deskmate.core.records import Item, Json, Record, decode, encode, stamp
from deskmate.errors import Conflict, StoreUnavailable
from deskmate.ports import Clock, Store

# Long enough for a full disk to be noticed, short enough that a caller can still say so.
RETRY_SECONDS = (0.01, 0.05, 0.25, 1.0)


class Pen:
    """Append for one process: every record bears its stamp, and what is in doubt is tried again."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._run = secrets.token_hex(8)
        self._ordinals = itertools.count(1)

    async def append(
        self, stream: str, body: Mapping[str, Any], *, expect: int | None = None, sync: bool = True
    ) -> Record:
        """Append `body` and return the record it became; the promise is that of `Store.append`."""
        # As it will be read back: a lone surrogate, or a tuple, is not the same on disk.
        record = decode(encode({**body, "run": self._run, "ord": next(self._ordinals)}))
        try:
            return Record(await self.store.append(stream, record, expect=expect, sync=sync), record)
        except StoreUnavailable as error:
            trouble = error
        return await self._append_again(trouble, stream, record, expect, sync)

    def wrote(self, item: Item) -> bool:
        """Tell whether an item of a stream is a record that this pen appended."""
        return isinstance(item, Record) and item.body.get("run") == self._run

    async def _append_again(
        self, trouble: StoreUnavailable, stream: str, record: Json, expect: int | None, sync: bool
    ) -> Record:
        # Not to be cancelled: who leaves in doubt would never learn what stands there.
        with anyio.CancelScope(shield=True):
            for seconds in RETRY_SECONDS:
                await self.clock.sleep(seconds)
                try:
                    return Record(await self.store.append(stream, record, expect=expect, sync=sync), record)
                except Conflict as conflict:
                    return await self._mine_after_all(record, conflict)
                except StoreUnavailable as error:
                    trouble = error
        raise trouble

    async def _mine_after_all(self, record: Json, conflict: Conflict) -> Record:
        """Return the record if it is itself what stands in its way: a try in doubt had got through."""
        news = await self.store.read(conflict.stream, conflict.expect)
        first = next((item for item in news if isinstance(item, Record)), None)
        if first is None or stamp(first.body) != stamp(record):
            raise conflict
        return first


class Numbered(Protocol):
    """A fold that knows how far it has come."""

    @property
    def number(self) -> int:
        """The number of the last item folded."""


S = TypeVar("S", bound=Numbered)


class Folded(Generic[S]):
    """One stream's fold, shared by all who look at it in this process."""

    def __init__(self, store: Store, stream: str, empty: S, fold: Callable[[S, Iterable[Item]], S]) -> None:
        self._store, self.stream, self._fold = store, stream, fold
        self.state = empty

    async def refresh(self) -> S:
        """Take in what is new and return the state."""
        before = self.state
        return self._keep(self._fold(before, await self._store.read(self.stream, before.number)))

    async def peek(self, before: S) -> S:
        """Return the state `before` with what is new, for deciding on an append behind it.

        It is not kept: a power loss could take it back until that append is synced.
        """
        return self._fold(before, await self._store.read(self.stream, before.number, sync=False))

    async def follow(self, before: S, record: Record) -> S:
        """Take in a record that was appended behind `before`."""
        if record.number != before.number + 1:
            # Something stands between, as a loss that is told by its gap: live and read again must be the same.
            return await self.refresh()
        return self._keep(self._fold(before, [record]))

    def _keep(self, state: S) -> S:
        """Keep the further one: two may have refreshed at once."""
        if state.number > self.state.number:
            self.state = state
        return self.state
