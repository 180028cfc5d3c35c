"""A lead's first team and the team it works in, as one store.

The lead's own streams and the user's mailbox always stay in the first team, called home. All other streams are those
of the second team while the lead works there. The runtime sees one `ports.Store` and never which team has a stream.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

import anyio

from deskmate.core.log.names import LEAD, USER, is_call, mail, split_stream
from deskmate.core.log.records import Item, Json, Make
from deskmate.errors import StoreUnavailable
from deskmate.ports import Seat, Store

T = TypeVar("T")


class JointStore:
    """The first team, `home`, with its name, and the team entered from there. `<stream>@<name>` is always home's."""

    def __init__(self, home: Store, name: str) -> None:
        self.home, self._name = home, name
        self._team: Store | None = None
        self._waiting: set[anyio.CancelScope] = set()

    def enter(self, team: Store) -> None:
        """Use the streams of another team from now on, except the lead's own. All waiters look again."""
        self._team = team
        self._wake()

    def leave(self) -> None:
        """Use only the streams of the first team again. All waiters look again."""
        self._team = None
        self._wake()

    def _wake(self) -> None:
        for scope in self._waiting:
            scope.cancel()

    # -- the five methods -------------------------------------------------------------------------

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        """Append records and return their numbers. `Store` has the details."""
        store, name = self._at(stream)
        return await store.append(name, *records, expect=expect, sync=sync)

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`. `Store` has the details."""
        store, name = self._at(stream)
        return await store.read(name, after, sync=sync)

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        """Append what `make` decides on everything after `after`. `Store` has the details."""
        store, name = self._at(stream)
        return await store.decide(name, after, make, sync=sync)

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return once any of these streams has something after its number, or is in another team than before."""
        parts: dict[Store, dict[str, int]] = {}
        for stream, number in since.items():
            store, name = self._at(stream)
            parts.setdefault(store, {})[name] = number
        with self._woken():
            # Mostly one: only a lead in its second team waits in two stores.
            if len(parts) == 1:
                for store, part in parts.items():
                    await store.changed(part)
            else:
                await _first(parts)

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        """Hold a seat. The lead's seat is in its first team. `Store` has the details."""
        return (self.home if name == LEAD else self._team or self.home).hold(name, note, wait=wait)

    # -- which team -------------------------------------------------------------------------------

    def _at(self, stream: str) -> tuple[Store, str]:
        plain, at, team = stream.partition("@")
        if at and team == self._name:
            return self.home, plain
        if self._team is None or _stays(stream):
            return self.home, stream
        return self._team, stream

    @contextmanager
    def _woken(self) -> Iterator[None]:
        """End a wait without an error once a team is entered or left."""
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                yield
            except StoreUnavailable:
                # A team that was left may be closed before the wait in it ends. In any other case it is an error.
                if not scope.cancel_called:
                    raise
            finally:
                self._waiting.discard(scope)


def _stays(stream: str) -> bool:
    """Return whether a stream always stays in the first team: transcripts of lead and subagents, the user's mail."""
    _, owner = split_stream(stream)
    own = owner == LEAD or (is_call(owner) and owner.partition(":")[0] == LEAD)
    return stream == mail(USER) or (own and stream != mail(LEAD))


async def _first(parts: Mapping[Store, Mapping[str, int]]) -> None:
    """Return once one of these stores has something new."""
    try:
        async with anyio.create_task_group() as tasks:

            async def wait(store: Store, part: Mapping[str, int]) -> None:
                await store.changed(part)
                tasks.cancel_scope.cancel()

            for store, part in parts.items():
                tasks.start_soon(wait, store, part)
    except BaseExceptionGroup as group:
        # Callers catch an error by its class.
        raise group.exceptions[0] from group
