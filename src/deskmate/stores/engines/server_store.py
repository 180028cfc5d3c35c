"""The store of one team on a server."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from deskmate.core.log.names import split_seat, split_stream
from deskmate.core.log.records import Item, Json, Make, check_number, encode_together
from deskmate.core.team.members import RosterState
from deskmate.core.team.tasks import BoardState
from deskmate.core.values import frozen
from deskmate.errors import SeatLost, StoreUnavailable
from deskmate.ports import Seat
from deskmate.stores.engines.loop_thread import LoopThread
from deskmate.stores.engines.server_backend import Backend, ServerTeam, Ticket

T = TypeVar("T")


@frozen
class ServerSeat:
    """A seat held on a server."""

    name: str


class NoCopies:
    """A server has no readable copies of a team."""

    def write(self, roster: RosterState, board: BoardState) -> None:
        """Write nothing."""


class ServerStore:
    """Streams and seats of one team on a server.

    As long as it holds seats, each append and decision carries their epochs, and the server refuses it if another
    process has taken one of these seats over. `prepare`: called with each seat, because then members run here.
    """

    def __init__(self, thread: LoopThread, backend: Backend, team: ServerTeam, prepare: Callable[[], None]) -> None:
        self._thread, self._backend, self._team, self._prepare = thread, backend, team, prepare
        self._held: list[Ticket] = []
        self._closed = False

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        """Append records and return their numbers. `Store` has the details."""
        split_stream(stream)
        check_number(expect or 0)
        lines = encode_together(records)
        self._check()
        return await self._thread.finish(
            self._backend.append(self._team, stream, lines, expect, tuple(self._held), sync=sync)
        )

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`. `Store` has the details."""
        split_stream(stream)
        check_number(after)
        self._check()
        return await self._thread.run(self._backend.read(self._team, stream, after, sync=sync))

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        """Append what `make` decides on everything after `after`. `Store` has the details."""
        split_stream(stream)
        check_number(after)
        self._check()
        return await self._thread.finish(
            self._backend.decide(self._team, stream, after, make, tuple(self._held), sync=sync)
        )

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return when any of these streams has something after its number, or when a seat of this store is lost."""
        for stream in since:
            split_stream(stream)
        self._check()
        await self._thread.run(self._backend.changed(self._team, dict(since)))

    @asynccontextmanager
    async def hold(self, name: str, note: str, *, wait: bool = False) -> AsyncIterator[Seat]:
        """Hold a member's seat, or a slot `calls/<number>`. `Store` has the details."""
        split_seat(name)
        self._check()
        ticket = Ticket(name, note)
        try:
            await self._thread.run(self._backend.take(self._team, ticket, wait=wait))
            self._held.append(ticket)
            self._prepare()
            yield ServerSeat(name)
        finally:
            if ticket in self._held:
                self._held.remove(ticket)
            # An engine that was closed has freed all its seats.
            if not self._thread.closed:
                await self._thread.finish(self._backend.drop(self._team, ticket))

    def projections(self) -> NoCopies:
        """Return a writer that writes nothing."""
        return NoCopies()

    def settle(self) -> None:
        """Do nothing: the server itself syncs what was appended without a sync, within a second."""

    def close(self) -> None:
        """Refuse further calls. The connections belong to the engine."""
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise StoreUnavailable("This store is closed", "Open it again.")
        for ticket in self._held:
            if ticket.lost is not None:
                raise SeatLost(ticket.name, ticket.lost)
