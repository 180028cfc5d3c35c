"""The one connection of a process that hears of changes and holds the seats.

Seats are session advisory locks: when the connection ends, the server frees them. If the connection breaks, it is made
again, and each seat is taken back if nobody took it meanwhile. Otherwise its ticket is marked as lost.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

import asyncpg

from deskmate.errors import Held, StoreError
from deskmate.stores.engines.postgres.postgres_errors import PASSING, patiently
from deskmate.stores.engines.postgres.postgres_schema import SEAT
from deskmate.stores.engines.server_backend import Ticket

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
NET_SECONDS = 2.0
# A note of a freed seat goes to those who wait for it, but none comes from a process that was killed.
_LINE_SECONDS = 0.5
_FREED = "!"


class PostgresSession:
    """Waiting for changes, and seats. Teams are known by their ids."""

    def __init__(self, place: str, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._place, self._connect = place, connect
        self._connection: Connection | None = None
        # One query at a time on the connection, and one attempt to make it.
        self._turn = asyncio.Lock()
        self._last: dict[int, dict[str, int]] = {}
        self._rung: dict[int, asyncio.Event] = {}
        self._tickets: dict[tuple[int, str], Ticket] = {}
        # Those whose connection broke, until they are taken back or lost.
        self._unsure: list[tuple[int, Ticket]] = []
        self._keeper: asyncio.Task[None] | None = None

    # -- changes ----------------------------------------------------------------------------------

    async def changed(self, team: int, since: Mapping[str, int]) -> None:
        """Return once a stream has something above its number, or a seat is lost."""
        known = await self._listened(team)
        while True:
            bell = self._bell(team)
            if any(known.get(stream, 0) > number for stream, number in since.items()) or self._has_lost(team):
                return
            try:
                await asyncio.wait_for(bell.wait(), NET_SECONDS)
            except TimeoutError:
                # A net, in case a notification was missed. While the server is away, nothing changes.
                with suppress(StoreError):
                    await self._look(team, list(since))

    def _has_lost(self, team: int) -> bool:
        return any(ticket.lost is not None for (of, _), ticket in self._tickets.items() if of == team)

    async def _listened(self, team: int) -> dict[str, int]:
        """Return the last numbers of a team's streams, which notifications keep up to date from now on."""
        if (known := self._last.get(team)) is None or not self._alive():

            async def listen() -> None:
                async with self._turn:
                    connection = await self._connected()
                    if team not in self._last:
                        await self._listen(connection, team)

            await patiently(self._place, listen)
            known = self._last[team]
        return known

    async def _listen(self, connection: Connection, team: int) -> None:
        await connection.add_listener(f"deskmate_{team}", self._hear)
        # After that: nothing is between this look and the first notification.
        rows = await connection.fetch("SELECT name, last FROM deskmate.stream WHERE team = $1", team)
        known = self._last.setdefault(team, {})
        for row in rows:
            known[row["name"]] = max(row["last"], known.get(row["name"], 0))

    async def _look(self, team: int, streams: list[str]) -> None:
        async def look() -> None:
            async with self._turn:
                connection = await self._connected()
                rows = await connection.fetch(
                    "SELECT name, last FROM deskmate.stream WHERE team = $1 AND name = ANY($2)", team, streams
                )
            for row in rows:
                self._moved(team, row["name"], row["last"])

        await patiently(self._place, look)

    def _hear(self, connection: object, process: int, channel: str, payload: object) -> None:
        stream, _, number = str(payload).rpartition(" ")
        team = int(channel.removeprefix("deskmate_"))
        if stream == _FREED:
            self._ring(team)
        else:
            self._moved(team, stream, int(number))

    def _moved(self, team: int, stream: str, number: int) -> None:
        known = self._last.setdefault(team, {})
        if number > known.get(stream, 0):
            known[stream] = number
            self._ring(team)

    def _bell(self, team: int) -> asyncio.Event:
        return self._rung.setdefault(team, asyncio.Event())

    def _ring(self, team: int) -> None:
        self._rung.pop(team, asyncio.Event()).set()

    # -- seats ------------------------------------------------------------------------------------

    async def take(self, team: int, ticket: Ticket, *, wait: bool) -> None:
        """Take a seat, or wait in line for it. Raises Held."""
        if wait:
            await self._listened(team)
        while True:
            bell = self._bell(team)
            holder = await self._try(team, ticket)
            if holder is None:
                return
            if not wait:
                raise Held(ticket.name, holder)
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), _LINE_SECONDS)

    async def _try(self, team: int, ticket: Ticket) -> str | None:
        """Take a seat, or return its holder's note. An attempt that has begun is not interrupted."""
        attempt = asyncio.ensure_future(self._attempt(team, ticket))
        # A caller that was cancelled does not ask for the error.
        attempt.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(attempt)

    async def _attempt(self, team: int, ticket: Ticket) -> str | None:
        async def attempt() -> str | None:
            async with self._turn:
                connection = await self._connected()
                if (mine := self._tickets.get((team, ticket.name))) is not None:
                    return mine.note
                row = await connection.fetchrow("SELECT * FROM deskmate.take_seat($1, $2, $3)", team, ticket.name, note)
                assert row is not None, "the function returns one row"
                if not row["new_epoch"]:
                    return str(row["holder"])
                ticket.id, ticket.epoch = str(row["seat"]), row["new_epoch"]
                self._tickets[team, ticket.name] = ticket
                return None

        note = ticket.note.replace("\0", "")
        async with ticket.busy:
            return await patiently(self._place, attempt)

    async def drop(self, team: int, ticket: Ticket) -> None:
        """Free a seat, if the ticket has it. If the connection is broken, the server has freed it."""
        async with ticket.busy, self._turn:
            if self._tickets.get((team, ticket.name)) is not ticket:
                return
            del self._tickets[team, ticket.name]
            self._unsure = [unsure for unsure in self._unsure if unsure[1] is not ticket]
            if self._alive() and ticket.lost is None and self._connection:
                with suppress(*PASSING, asyncpg.PostgresError):
                    await self._connection.execute("SELECT pg_advisory_unlock($1, $2)", SEAT, int(ticket.id))
                    await self._connection.execute("SELECT pg_notify($1, $2)", f"deskmate_{team}", f"{_FREED} 0")
        self._ring(team)

    async def _regain(self, connection: Connection) -> None:
        """Take back the seats that the broken connection had, as far as nobody else took them.

        The server may not have noticed yet that the old connection broke. Then the seat is asked for again later.
        """
        for team, ticket in list(self._unsure):
            locked = await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", SEAT, int(ticket.id))
            row = await connection.fetchrow("SELECT epoch, note FROM deskmate.seat WHERE id = $1", int(ticket.id))
            same = row is not None and row["epoch"] == ticket.epoch
            if locked and not same:
                await connection.execute("SELECT pg_advisory_unlock($1, $2)", SEAT, int(ticket.id))
            if not same:
                ticket.lost = str(row["note"]) if row is not None else ""
                self._ring(team)
            if locked or not same:
                self._unsure.remove((team, ticket))

    # -- the connection ---------------------------------------------------------------------------

    def _alive(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    async def _connected(self) -> Connection:
        """Return the connection, made again if it broke. Only the holder of `_turn` may call this."""
        if self._connection is None or self._connection.is_closed():
            connection = await self._connect()
            self._unsure = [(team, one) for (team, _), one in self._tickets.items() if one.lost is None]
            try:
                await self._regain(connection)
                for team in list(self._last):
                    await self._listen(connection, team)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection
            for team in list(self._rung):
                self._ring(team)
            if self._keeper is None:
                self._keeper = asyncio.create_task(self._keep())
        return self._connection

    async def _keep(self) -> None:
        """Ask the server now and then, so that a broken connection is found and made again."""
        while True:
            await asyncio.sleep(NET_SECONDS)
            with suppress(*PASSING, asyncpg.PostgresError, StoreError):
                async with self._turn:
                    connection = await self._connected()
                    try:
                        await connection.execute("SELECT 1")
                        await self._regain(connection)
                    except PASSING:
                        connection.terminate()
                        raise

    async def close(self) -> None:
        """End the connection, which frees the seats."""
        if self._keeper is not None:
            self._keeper.cancel()
        if self._connection is not None:
            self._connection.terminate()
