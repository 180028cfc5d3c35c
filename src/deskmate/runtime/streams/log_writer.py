"""The only way the runtime appends to a store, and the base of every fold.

Everything in this package appends to a `ports.Store` through a `LogWriter`.
"""

import itertools
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

import anyio

from deskmate.core.log.records import Decision, Encoded, Item, Json, Make, Record, stamp
from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.errors import Conflict, StoreUnavailable
from deskmate.ports import Clock, Store

# Long enough for a full disk to be noticed, short enough that a caller can still say so.
RETRY_SECONDS = (0.01, 0.05, 0.25, 1.0)
T = TypeVar("T")


class LogWriter:
    """Appends records for one process. Every record has its stamp, and an append in doubt is tried again.

    No record contains a secret that `redaction` knows, except chunks of code. What is returned is what was written.
    """

    def __init__(self, store: Store, clock: Clock, redaction: Redaction = SHAPES) -> None:
        self.store, self.clock, self.redaction = store, clock, redaction
        self._run = secrets.token_hex(8)
        self._ordinals = itertools.count(1)

    async def append(
        self, stream: str, *bodies: Mapping[str, Any], expect: int | None = None, sync: bool = True, as_is: bool = False
    ) -> list[Record]:
        """Append `bodies` together and return their records. `Store.append` has the details.

        `as_is`: do not redact them, because they are bytes of files that must arrive unchanged.
        """
        clean = bodies if as_is else map(self.redaction.value, bodies)
        # A lone surrogate or a tuple is not the same on disk.
        made = [Encoded({**body, **self._stamp()}) for body in clean]

        async def once() -> list[Record]:
            numbers = await self.store.append(stream, *made, expect=expect, sync=sync)
            return [Record(number, dict(body)) for number, body in zip(numbers, made, strict=True)]

        try:
            return await once()
        except StoreUnavailable as error:
            trouble = error
        try:
            return await self._again(once, trouble)
        except Conflict as conflict:
            return await self._mine_after_all(stream, expect or 0, made, conflict)

    async def decide(self, stream: str, after: int, make: Make[T]) -> tuple[Record | None, T]:
        """Append what `make` decides on everything after `after`. Return the record, or None, and the outcome.

        `Store.decide` has the details. If a try in doubt had written the record, the outcome is what `make` returns
        for everything before it.
        """
        mark = self._stamp()

        def stamped(news: Sequence[Item]) -> Decision[tuple[Record | None, T]]:
            for index, item in enumerate(news):
                if self.wrote(item) and item.body["ord"] == mark["ord"]:
                    return Decision(None, (item, make(news[:index]).outcome))
            decision = make(news)
            if decision.record is None:
                return Decision(None, (None, decision.outcome))
            made = Encoded({**self.redaction.value(decision.record), **mark})
            return Decision(made, (Record(0, made), decision.outcome))

        async def once() -> tuple[Record | None, T]:
            number, (record, outcome) = await self.store.decide(stream, after, stamped)
            if number is not None and record is not None:
                record = Record(number, dict(record.body))
            return record, outcome

        try:
            return await once()
        except StoreUnavailable as error:
            trouble = error
        return await self._again(once, trouble)

    def into(self, store: Store) -> "LogWriter":
        """Return a writer like this one for another store."""
        return LogWriter(store, self.clock, self.redaction)

    def wrote(self, item: Item) -> TypeGuard[Record]:
        """Return whether this writer appended an item of a stream."""
        return isinstance(item, Record) and item.body.get("run") == self._run

    def _stamp(self) -> dict[str, Any]:
        return {"run": self._run, "ord": next(self._ordinals)}

    async def _again(self, once: Callable[[], Awaitable[T]], trouble: StoreUnavailable) -> T:
        # Not cancellable: a caller that left now would never learn whether its record was written.
        with anyio.CancelScope(shield=True):
            for seconds in RETRY_SECONDS:
                await self.clock.sleep(seconds)
                try:
                    return await once()
                except StoreUnavailable as error:
                    trouble = error
        raise trouble

    async def _mine_after_all(self, stream: str, after: int, made: Sequence[Json], conflict: Conflict) -> list[Record]:
        """Return the records if the conflict is with themselves, because an earlier try was written after all."""
        with anyio.CancelScope(shield=True):
            news = await self.store.read(stream, after)
        first = [item for item in news if isinstance(item, Record)][: len(made)]
        if [stamp(record.body) for record in first] != [stamp(body) for body in made]:
            raise conflict
        return first


class Numbered(Protocol):
    """A fold that knows how far it has read."""

    @property
    def number(self) -> int:
        """The number of the last item folded."""


S = TypeVar("S", bound=Numbered)


class Folded(Generic[S]):
    """The fold of one stream, shared by everything in this process that reads it."""

    def __init__(
        self, store: Store, stream: str, empty: S, fold: Callable[[S, Iterable[Item]], S], *, sync: bool = True
    ) -> None:
        self._store, self.stream, self._fold, self._sync = store, stream, fold, sync
        self.state = empty

    async def refresh(self) -> S:
        """Read what is new and return the state."""
        before = self.state
        items = await self._store.read(self.stream, before.number, sync=self._sync)
        # There is mostly nothing new, and a fold copies what it may change.
        return self._keep(self._fold(before, items)) if items else self.state

    async def append(self, writer: LogWriter, body: Mapping[str, Any], *, sync: bool = True) -> None:
        """Append without reading first. Fold the record if nothing came between."""
        [record] = await writer.append(self.stream, body, sync=sync)
        self._follow(record)

    async def decide(self, writer: LogWriter, make: Callable[[S], Decision[T]]) -> T:
        """Append what `make` decides on the state it is appended to, and fold it. Return the outcome."""
        before = self.state

        def decided(news: Sequence[Item]) -> Decision[tuple[S, T]]:
            state = self._fold(before, news)
            decision = make(state)
            return Decision(decision.record, (state, decision.outcome))

        record, (state, outcome) = await writer.decide(self.stream, before.number, decided)
        self._keep(state)
        if record and not self._follow(record):
            # Something is between, such as a lost record. The live state must equal the state read from disk.
            await self.refresh()
        return outcome

    def _follow(self, record: Record) -> bool:
        """Fold a record that was appended. Return whether that was possible without reading."""
        if record.number == self.state.number + 1:
            self._keep(self._fold(self.state, [record]))
        return record.number <= self.state.number

    def _keep(self, state: S) -> S:
        """Keep the newer state: two may have refreshed at once."""
        if state.number > self.state.number:
            self.state = state
        return self.state
