"""Reads that are asked for while others are on their way go together, in one query.

Whenever a board changes, every member that waits for it reads several streams. One query for all of them takes about
as long as one for each. Equal reads share their answer. A read never gets what was looked up before it was asked for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import asyncpg

from deskmate.core.values import frozen

Rows: TypeAlias = list[asyncpg.Record]
# So many queries are on their way at once. One that takes long must not hold up all others.
_QUERIES = 2
# The end of each stream and its news. A stream without news, or without a record, has one row.
_READ = """
SELECT w.place, s.last, s.unsynced, n.number, n.body
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS w(team, name, after, most, place)
LEFT JOIN deskmate.stream s ON s.team = w.team AND s.name = w.name
LEFT JOIN LATERAL (
    SELECT r.number, r.body FROM deskmate.record r
    WHERE r.stream = s.id AND r.number > w.after ORDER BY r.number LIMIT w.most
) n ON true
ORDER BY w.place, n.number
"""


@frozen
class Wanted:
    """What to read: a team's stream after a number, at most so many records, None for all."""

    team: int
    stream: str
    after: int
    most: int | None


class PostgresReads:
    """Answers reads together. `ask` runs a query that is safe to repeat."""

    def __init__(self, ask: Callable[..., Awaitable[Rows]]) -> None:
        self._ask = ask
        self._waiting: dict[Wanted, asyncio.Future[Rows]] = {}
        self._queries: set[asyncio.Task[None]] = set()

    async def read(self, wanted: Wanted) -> Rows:
        """Return the rows of one read, at least one."""
        answer = self._waiting.get(wanted)
        if answer is None:
            answer = self._waiting[wanted] = asyncio.get_running_loop().create_future()
            # Readers that were cancelled do not ask for an error.
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._begin()
        return await asyncio.shield(answer)

    def _begin(self) -> None:
        if self._waiting and len(self._queries) < _QUERIES:
            query = asyncio.create_task(self._answer(self._waiting))
            self._waiting = {}
            self._queries.add(query)
            query.add_done_callback(self._go_on)

    def _go_on(self, query: "asyncio.Task[None]") -> None:
        self._queries.discard(query)
        self._begin()

    async def _answer(self, waiting: dict[Wanted, "asyncio.Future[Rows]"]) -> None:
        try:
            found = await self._look_up(list(waiting))
        except BaseException as error:
            for answer in waiting.values():
                answer.set_exception(error) if isinstance(error, Exception) else answer.cancel()
            if not isinstance(error, Exception):
                raise
            return
        for answer, rows in zip(waiting.values(), found, strict=True):
            answer.set_result(rows)

    async def _look_up(self, wanted: Sequence[Wanted]) -> list[Rows]:
        found: list[Rows] = [[] for _ in wanted]
        columns = zip(*((one.team, one.stream, one.after, one.most) for one in wanted), strict=True)
        for row in await self._ask(_READ, *map(list, columns)):
            found[row["place"] - 1].append(row)
        return found
