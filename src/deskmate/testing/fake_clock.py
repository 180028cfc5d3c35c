"""FakeClock: time as a test input."""

import heapq
import itertools
from collections.abc import Callable

import anyio
import anyio.lowlevel


class FakeClock:
    """A clock that moves only when you call `advance`."""

    def __init__(self, timestamp: float = 1_700_000_000.0) -> None:
        self._now = 0.0
        self._start = timestamp
        self._sleepers: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._now

    def timestamp(self) -> float:
        """Return the start plus the seconds advanced so far."""
        return self._start + self._now

    async def sleep(self, seconds: float) -> None:
        """Return when the clock was advanced that far."""
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        self._wake_after(seconds, woken.set)
        await woken.wait()

    def move_on_after(self, seconds: float) -> anyio.CancelScope:
        """Return a scope that is cancelled when the clock was advanced that far."""
        scope = anyio.CancelScope()
        self._wake_after(seconds, scope.cancel)
        return scope

    def _wake_after(self, seconds: float, wake: Callable[[], object]) -> None:
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), wake))

    @property
    def sleeping(self) -> int:
        """How many tasks wait for the clock."""
        return len(self._sleepers)

    def advance(self, seconds: float) -> None:
        """Let that many seconds pass, and wake the tasks that waited for them, in order."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            heapq.heappop(self._sleepers)[2]()
