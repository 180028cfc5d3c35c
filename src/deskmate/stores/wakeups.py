"""Waking whoever waits for a stream.

One watch serves every waiter: the first of them listens to it for all and hands over when it leaves, so
there is no thread and no background task. The net below is a scan every two seconds, by that one for all too: a
thousand that wait cost no more than a look at a thousand files. `jsonl` does the looking.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from deskmate.stores.file_watch import Changed, FileWatch

Place = tuple[Path, str]


class Waiter:
    """Someone who waits for some places, and which of them were rung."""

    def __init__(self, places: frozenset[Place]) -> None:
        self.places = places
        self.rung: set[Place] = set()
        self.stir = anyio.Event()
        self.listens: anyio.CancelScope | None = None


class Wakeups:
    """Ring for places; wait for rings. `look` returns something that is another once a place has changed."""

    def __init__(self, watch: FileWatch, look: Callable[[Place], object]) -> None:
        self._watch, self._look = watch, look
        self._waiters: dict[Place, set[Waiter]] = {}
        self._listening = False
        self._looks: dict[Place, object] = {}
        self._scanned = -math.inf

    @contextmanager
    def waiting(self, places: Iterable[Place]) -> Iterator[Waiter]:
        """Count as waiting for these places; nothing rung inside is missed."""
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
            # The listener may have handed over to this one just when it was leaving too.
            if not self._listening:
                self._hand_over(waiter)

    def ring(self, place: Place) -> None:
        """Wake all who wait for this place."""
        for waiter in self._waiters.get(place, ()):
            waiter.rung.add(place)
            waiter.stir.set()
            if waiter.listens is not None:
                waiter.listens.cancel()

    async def wait(self, waiter: Waiter, seconds: float) -> set[Place]:
        """Return the places rung since the last return; what no watch told of is rung within so many seconds."""
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
                # However much is told of some places: the others are looked at in time.
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
        """Return what the watch tells, nothing if this process rings first."""
        heard: list[Changed] = []
        try:
            with anyio.CancelScope() as waiter.listens:
                heard = await self._watch.wait()
        finally:
            waiter.listens = None
        return heard

    def _scan(self) -> None:
        """Ring for every place that is not as it was at the last scan, or was not waited for then."""
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
