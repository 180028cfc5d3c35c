"""The streams of a team, read and projected."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from anyio.lowlevel import checkpoint

from deskmate.core.log.names import ROSTER, log
from deskmate.core.telemetry.projection import Projection, identity_of, project
from deskmate.core.telemetry.span_values import FinishedSpan
from deskmate.core.telemetry.usage_facts import ContentChoice
from deskmate.ports import Store

# So many records are taken in without a pause, because others share the event loop.
_PORTION = 128


class TeamReader:
    """Reads what is new in the streams of a team, and knows the projection of everything it has read.

    `sync`: leave out records that a power loss could still remove, so that a number always means the same record.
    """

    def __init__(self, store: Store, content: ContentChoice, *, sync: bool) -> None:
        self._store, self._content, self._sync = store, content, sync
        self._projection: Projection | None = None
        self._complete = frozenset[str]()

    @property
    def projection(self) -> Projection:
        """The projection of everything that was read. Call `begin` first."""
        assert self._projection is not None, "begin was called"
        return self._projection

    def number_of(self, stream: str) -> int:
        """Return the number of the last record of a stream that was taken in."""
        return self._projection.number_of(stream) if self._projection else 0

    async def begin(self) -> Projection:
        """Find out which team this is, unless that is known. Return the projection."""
        if self._projection is None:
            roster = await self._store.read(ROSTER, sync=self._sync)
            home = identity_of(roster, ()).home
            founding = await self._store.read(f"{ROSTER}@{home}", sync=self._sync) if home else ()
            self._projection = Projection(identity_of(roster, founding), self._content)
        return self._projection

    async def news(self) -> AsyncGenerator[list[FinishedSpan], None]:
        """Read everything that is new, and yield the spans that it ended. It may be closed at any time."""
        await self.begin()
        # What ended by now has written all it will write.
        ended = self.projection.ended_subagents
        read = set[str]()
        async with aclosing(self._take(ROSTER)) as spans:
            async for some in spans:
                yield some
        while new := [one for one in self.projection.streams if one not in read | self._complete]:
            for stream in new:
                read.add(stream)
                async with aclosing(self._take(stream)) as spans:
                    async for some in spans:
                        yield some
        self._complete |= {log(call) for call in ended}

    async def _take(self, stream: str) -> AsyncGenerator[list[FinishedSpan], None]:
        items = list(await self._store.read(stream, self.projection.number_of(stream), sync=self._sync))
        if stream != ROSTER and items:
            # After the stream: then the roster has the run in which these records were written.
            roster = await self._store.read(ROSTER, self.projection.number_of(ROSTER), sync=self._sync)
            self._projection, spans = project(self.projection, ROSTER, roster)
            yield spans
        for begin in range(0, len(items), _PORTION):
            self._projection, spans = project(self.projection, stream, items[begin : begin + _PORTION])
            yield spans
            await checkpoint()
