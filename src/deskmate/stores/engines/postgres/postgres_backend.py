"""Streams and teams in a PostgreSQL database.

append   one function call. A record that is there already is found by its stamp, whenever it comes again
decide   read, decide, append if nobody came between; after lost races one transaction with the stream locked
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar

import asyncpg

from deskmate.core.checks import Check
from deskmate.core.log.records import Damaged, Item, Make, Record, Stamp, decode, encode, stamp
from deskmate.core.values import frozen
from deskmate.errors import BadRecord, Conflict, StoreCorrupt, StoreUnavailable
from deskmate.stores.engines.postgres.postgres_checks import check_server
from deskmate.stores.engines.postgres.postgres_errors import (
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    FIRST_PATIENCE_SECONDS,
    SESSION,
    patiently,
)
from deskmate.stores.engines.postgres.postgres_reads import PostgresReads, Wanted
from deskmate.stores.engines.postgres.postgres_schema import SEAT, migrate
from deskmate.stores.engines.postgres.postgres_session import PostgresSession
from deskmate.stores.engines.server_backend import ServerTeam, StreamEnd, Ticket

T = TypeVar("T")
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_MOST_CONNECTIONS, _IDLE_SECONDS = 4, 60.0
_FREE_TRIES = 3


class PostgresBackend:
    """The teams of one space of a database. `place`: its address as people may see it."""

    def __init__(self, url: str, space: str, place: str) -> None:
        self._url, self._space, self._place = url, space, place
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._session = PostgresSession(place, self._connect)
        self._reads = PostgresReads(self._rows)
        self._turns: dict[tuple[int, str], asyncio.Lock] = {}
        self._flushed: dict[tuple[int, str], int] = {}

    async def _connect(self) -> Connection:
        # The client gives up on a broken connection, too.
        return await asyncpg.connect(
            self._url, timeout=CONNECT_SECONDS, command_timeout=ANSWER_SECONDS, server_settings=SESSION
        )

    async def _ready(self) -> Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await patiently(self._place, self._open, FIRST_PATIENCE_SECONDS)
        return self._pool

    async def _open(self) -> Pool:
        first = await self._connect()
        try:
            await self._check(first)
        finally:
            first.terminate()
        return await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=_MOST_CONNECTIONS,
            max_inactive_connection_lifetime=_IDLE_SECONDS,
            timeout=CONNECT_SECONDS,
            command_timeout=ANSWER_SECONDS,
            server_settings=SESSION,
            reset=_keep,
        )

    async def _check(self, connection: Connection) -> None:
        if (encoding := await connection.fetchval("SHOW server_encoding")) != "UTF8":
            raise StoreUnavailable(f"The database {self._place} has the encoding {encoding}", "Create it with UTF8.")
        # The last has other values that are safe: they also wait for replicas, or do not.
        for risky in ("fsync", "full_page_writes", "synchronous_commit"):
            if await connection.fetchval(f"SHOW {risky}") == "off":
                raise StoreUnavailable(
                    f"The server of {self._place} runs with {risky} = off and can lose what it confirmed",
                    f"Set {risky} = on in postgresql.conf.",
                )
        await migrate(connection, self._place)

    # -- teams ------------------------------------------------------------------------------------

    async def teams(self) -> list[ServerTeam]:
        """Return all teams that have a record."""
        rows = await self._rows(
            "SELECT id, name, archived FROM deskmate.team t WHERE space = $1"
            " AND EXISTS (SELECT FROM deskmate.stream s WHERE s.team = t.id AND s.last > 0) ORDER BY name",
            self._space,
        )
        return [ServerTeam(str(row["id"]), row["name"], row["archived"]) for row in rows]

    async def team(self, name: str) -> ServerTeam | None:
        """Return the open team of a name."""
        rows = await self._rows(
            "SELECT id FROM deskmate.team WHERE space = $1 AND name = $2 AND NOT archived", self._space, name
        )
        return ServerTeam(str(rows[0]["id"]), name) if rows else None

    async def create(self, name: str) -> ServerTeam:
        """Return the open team of a name, created if it is not there."""
        await self._rows(
            "INSERT INTO deskmate.team (space, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", self._space, name
        )
        found = await self.team(name)
        assert found is not None, "it was just created"
        return found

    async def archive(self, team: ServerTeam, place: str) -> None:
        """Rename a team to its place in the archive."""
        await self._rows("UPDATE deskmate.team SET name = $2, archived = true WHERE id = $1", int(team.id), place)

    async def remove(self, team: ServerTeam) -> None:
        """Delete a team with everything in it."""
        await self._rows("DELETE FROM deskmate.team WHERE id = $1", int(team.id))

    async def ends(self, team: ServerTeam) -> dict[str, StreamEnd]:
        """Return the ends of all streams that have a record."""
        rows = await self._rows(
            "SELECT name, last, extract(epoch FROM changed_at)::float8 AS at FROM deskmate.stream"
            " WHERE team = $1 AND last > 0 ORDER BY name",
            int(team.id),
        )
        return {row["name"]: StreamEnd(row["last"], row["at"]) for row in rows}

    async def _rows(self, query: str, *values: object) -> list[asyncpg.Record]:
        """Return the rows of a query that is safe to repeat."""
        pool = await self._ready()
        return await patiently(self._place, lambda: pool.fetch(query, *values))

    # -- streams ----------------------------------------------------------------------------------

    async def read(
        self, team: ServerTeam, stream: str, after: int, *, most: int | None = None, sync: bool = True
    ) -> Sequence[Item]:
        """Return what is after a number, at most so many."""
        key = int(team.id), stream
        rows = await self._reads.read(Wanted(*key, after, most))
        # The first row has the end of the stream, also if it has no news.
        end, unsynced = rows[0]["last"] or 0, rows[0]["unsynced"] or 0
        if after > end:
            raise _shrunk(stream, after, end)
        found = [row for row in rows if row["number"] is not None]
        # What was not read need not be on disk.
        unsynced = min(unsynced, found[-1]["number"] if found else after)
        if sync and unsynced > max(after, self._flushed.get(key, 0)):
            # Its commit waits for the disk, and everything committed before is on disk after that.
            await self._rows("SELECT pg_logical_emit_message(true, 'deskmate', '')")
            self._flushed[key] = unsynced
        return self._items(stream, found)

    async def append(
        self,
        team: ServerTeam,
        stream: str,
        lines: Mapping[Stamp, bytes],
        expect: int | None,
        guards: Sequence[Ticket],
        *,
        sync: bool,
    ) -> list[int]:
        """Append lines in one function call."""
        pool = await self._ready()
        numbers = await patiently(
            self._place, lambda: pool.fetchval(_APPEND, *_appended(team, stream, lines, expect, guards, sync=sync))
        )
        if numbers[0] > 0:
            return list(numbers)
        last = -1 - int(numbers[0])
        raise _shrunk(stream, expect or 0, last) if (expect or 0) > last else Conflict(stream, expect or 0, last)

    async def decide(
        self, team: ServerTeam, stream: str, after: int, make: Make[T], guards: Sequence[Ticket], *, sync: bool
    ) -> tuple[int | None, T]:
        """Append what `make` decides: without a lock at first, after lost races with the stream locked.

        A lock is held while this process decides, and a process with many members has much else to do.
        """
        pool, tried = await self._ready(), list[_Tried[T]]()

        async def freely() -> tuple[int | None, T]:
            items = await self.read(team, stream, after, sync=False)
            decision = make(items)
            if decision.record is None:
                return None, decision.outcome
            line = {stamp(decision.record): encode(decision.record)}
            tried.append(_Tried(line, decision.outcome))
            last = items[-1].number if items else after
            return (await self.append(team, stream, line, last, guards, sync=sync))[0], decision.outcome

        async def once() -> tuple[int | None, T]:
            async with pool.acquire() as connection, connection.transaction():
                found = await connection.fetch(_NEWS, int(team.id), stream, after, *_guards(guards))
                if after > (last := found[0]["number"]):
                    raise _shrunk(stream, after, last)
                items = self._items(stream, found[1:])
                for item in items:
                    for one in tried:
                        if isinstance(item, Record) and stamp(item.body) in one.line:
                            # The connection broke after a commit that we did not hear of.
                            return item.number, one.outcome
                decision = make(items)
                if decision.record is None:
                    return None, decision.outcome
                line = {stamp(decision.record): encode(decision.record)}
                tried.append(_Tried(line, decision.outcome))
                numbers = await connection.fetchval(_APPEND, *_appended(team, stream, line, None, (), sync=sync))
                return numbers[0], decision.outcome

        # One of this process at a time waits for the lock. Otherwise they have all connections, and nobody reads.
        async with self._turns.setdefault((int(team.id), stream), asyncio.Lock()):
            for _ in range(_FREE_TRIES):
                with suppress(Conflict):
                    return await freely()
            return await patiently(self._place, once)

    def _items(self, stream: str, rows: Sequence[asyncpg.Record]) -> list[Item]:
        return [self._item(stream, row["number"], row["body"]) for row in rows]

    def _item(self, stream: str, number: int, body: str) -> Item:
        try:
            return Record(number, decode(body.encode()))
        except BadRecord as error:
            return Damaged(number, "lost", f"{self._place} {stream}", error.message)

    # -- changes and seats ------------------------------------------------------------------------

    async def changed(self, team: ServerTeam, since: Mapping[str, int]) -> None:
        """Return once a stream has something above its number."""
        await self._ready()
        await self._session.changed(int(team.id), since)

    async def take(self, team: ServerTeam, ticket: Ticket, *, wait: bool) -> None:
        """Take a seat. Raises Held."""
        await self._ready()
        await self._session.take(int(team.id), ticket, wait=wait)

    async def drop(self, team: ServerTeam, ticket: Ticket) -> None:
        """Free a seat, if the ticket has it."""
        await self._session.drop(int(team.id), ticket)

    async def holders(self, team: ServerTeam, only: str | None = None) -> dict[str, str | None]:
        """Return the seats that are or were held, with the holder's note or None. `only`: at most this one."""
        rows = await self._rows(
            "SELECT name, note, EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted"
            " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND l.classid::bigint = $2 AND l.objid::bigint = s.id AND l.objsubid = 2) AS held"
            " FROM deskmate.seat s WHERE team = $1 AND epoch > 0 AND ($3::text IS NULL OR name = $3) ORDER BY name",
            int(team.id),
            SEAT,
            only,
        )
        return {row["name"]: row["note"] if row["held"] else None for row in rows}

    async def checks(self) -> list[Check]:
        """Check the server for `deskmate doctor`."""

        async def ask(query: str, *values: object) -> list[dict[str, object]]:
            return [dict(row) for row in await self._rows(query, *values)]

        return await check_server(ask, self._space)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        if self._pool is not None:
            self._pool.terminate()


async def _keep(connection: object) -> None:
    """Return a connection to the pool as it is: no query changes the session, and a reset is a round trip."""


@frozen
class _Tried(Generic[T]):
    """What `make` decided in a try that may have been committed."""

    line: Mapping[Stamp, bytes]
    outcome: T


_APPEND = "SELECT deskmate.append($1, $2, $3, $4, $5, $6, $7, $8)"
_NEWS = "SELECT number, body FROM deskmate.locked_news($1, $2, $3, $4, $5)"


def _appended(
    team: ServerTeam,
    stream: str,
    lines: Mapping[Stamp, bytes],
    expect: int | None,
    guards: Sequence[Ticket],
    *,
    sync: bool,
) -> tuple[object, ...]:
    stamps = [f"{run}\n{ordinal}".encode(errors="surrogatepass") for run, ordinal in lines]
    bodies = [line.decode() for line in lines.values()]
    return int(team.id), stream, stamps, bodies, expect, not sync, *_guards(guards)


def _guards(guards: Sequence[Ticket]) -> tuple[list[str], list[int]]:
    return [ticket.name for ticket in guards], [ticket.epoch for ticket in guards]


def _shrunk(stream: str, known: int, last: int) -> StoreCorrupt:
    return StoreCorrupt(f"{stream} ends at record {last}, but record {known} was read from it before")
