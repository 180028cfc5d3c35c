"""The hosts of a space, as one process sees them: their stream, and whose seat is held."""

from anyio import to_thread

from deskmate.core.hosts import host_fold
from deskmate.core.hosts.host_fold import HostsState
from deskmate.core.hosts.host_records import HostEvent
from deskmate.core.log.names import HOSTS
from deskmate.ports import Clock, Store
from deskmate.runtime.streams.log_writer import Folded, LogWriter
from deskmate.stores.engines.engine import Engine

# A host whose connection broke takes its seat back within this time, if it still runs.
LOST_SECONDS = 5.0


class HostRegistry:
    """Who offers to run teammates. `held`: the hosts whose seat is held, or was until a moment ago."""

    def __init__(self, engine: Engine, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.held = frozenset[str]()
        self._engine, self._writer = engine, LogWriter(store, clock)
        self._folded = Folded(store, HOSTS, host_fold.EMPTY, host_fold.fold)
        self._missing: dict[str, float] = {}

    @property
    def state(self) -> HostsState:
        """The hosts as last read."""
        return self._folded.state

    async def refresh(self) -> HostsState:
        """Read what is new and return the hosts."""
        return await self._folded.refresh()

    async def record(self, event: HostEvent) -> int:
        """Append a record, and return its number."""
        [record] = await self._writer.append(HOSTS, event.body())
        return record.number

    async def look_at_seats(self) -> None:
        """Find out whose seat is held. One that was held and is not any more counts for a few seconds longer."""
        seats = await to_thread.run_sync(self._engine.host_seats)
        held = {name for name, note in seats.items() if note is not None}
        now = self.clock.monotonic()
        self._missing = {name: self._missing.get(name, now) for name in self.held - held}
        self.held = frozenset(held | {name for name, since in self._missing.items() if now - since < LOST_SECONDS})
