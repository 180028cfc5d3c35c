"""Waking callers that wait for a stream.

One watch serves every waiter. The first waiter listens for all and hands over when it leaves, so there is no thread and
no background task. It also scans all files every two seconds, in case the watch misses a change. So a thousand waiters
cost no more than a look at a thousand files.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from deskmate.stores.file_watch import Changed, FileWatch

Place = tuple[Path, str]


class Waiter:
    """A caller that waits for some places, and which of them were rung."""

    def __init__(self, places: frozenset[Place]) -> None:
        self.places = places
        self.rung: set[Place] = set()
        self.stir = anyio.Event()
        self.listens: anyio.CancelScope | None = None


class Wakeups:
    """Rings for places and waits for rings. `look` returns a value that differs once a place has changed."""

    def __init__(self, watch: FileWatch, look: Callable[[Place], object]) -> None:
        self._watch, self._look = watch, look
        self._waiters: dict[Place, set[Waiter]] = {}
        self._listening = False
        self._looks: dict[Place, object] = {}
        self._scanned = -math.inf

    @contextmanager
    def waiting(self, places: Iterable[Place]) -> Iterator[Waiter]:
        """Register a waiter for these places. No ring inside the context is missed."""
        waiter = Waiter(frozenset(places))
        for place in waiter.places:
            self._waiters.setdefault(place, set()).add(waiter)
        try:
            yield waiter
        finally:
            for place in waiter.places:
                self._waiters[place].discard(waiter)
                if not self._waiters[place]:
                    del self._waiters[place]
            # The listener may have handed over to this waiter just when it was leaving, too.
            if not self._listening:
                self._hand_over(waiter)

    def ring(self, place: Place) -> None:
        """Wake all waiters for this place."""
        for waiter in self._waiters.get(place, ()):
            waiter.rung.add(place)
            waiter.stir.set()
            if waiter.listens is not None:
                waiter.listens.cancel()

    async def wait(self, waiter: Waiter, seconds: float) -> set[Place]:
        """Return the places rung since the last return. A change that the watch misses is rung within `seconds`."""
        while not waiter.rung:
            if self._listening:
                await waiter.stir.wait()
                waiter.stir = anyio.Event()
            else:
                await self._listen(waiter, seconds)
        rung, waiter.rung = waiter.rung, set()
        return rung

    async def _listen(self, waiter: Waiter, seconds: float) -> None:
        self._listening = True
        try:
            while not waiter.rung:
                # Many changes in some places must not delay the scan of the others.
                due = max(0.0, self._scanned + seconds - anyio.current_time())
                with anyio.move_on_after(due) as scope:
                    for place in await self._hear(waiter):
                        self._ring_all() if place is None else self.ring(place)
                if scope.cancelled_caught:
                    self._scan()
        finally:
            self._listening = False
            self._hand_over(waiter)

    async def _hear(self, waiter: Waiter) -> list[Changed]:
        """Return what the watch reports, nothing if this process rings first."""
        heard: list[Changed] = []
        try:
            with anyio.CancelScope() as waiter.listens:
                heard = await self._watch.wait()
        finally:
            waiter.listens = None
        return heard

    def _scan(self) -> None:
        """Ring for every place that has changed since the last scan, or had no waiter then."""
        before, self._looks = self._looks, {place: self._look(place) for place in self._waiters}
        self._scanned = anyio.current_time()
        for place, look in self._looks.items():
            if place not in before or before[place] != look:
                self.ring(place)

    def _ring_all(self) -> None:
        for place in self._waiters:
            self.ring(place)

    def _hand_over(self, leaver: Waiter) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                if waiter is not leaver:
                    waiter.stir.set()
                    return
