"""Waking whoever waits for a stream, whether this process wrote or another.

One watch serves every waiter: the first of them listens to it for all and hands over when it leaves, so
there is no thread and no background task. A scan every two seconds is the net below; `jsonl` does the looking.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from deskmate.stores.watches import Changed, Watch

Place = tuple[Path, str]


class Waiter:
    """Someone who waits for some places, and which of them were rung."""

    def __init__(self, places: frozenset[Place]) -> None:
        self.places = places
        self.rung: set[Place] = set()
        self.stir = anyio.Event()
        self.listens: anyio.CancelScope | None = None


class Bell:
    """Ring for places; wait for rings."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._waiters: dict[Place, set[Waiter]] = {}
        self._listening = False

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
        """Return the places rung since the last return; none after that many seconds without a ring."""
        with anyio.move_on_after(seconds):
            while not waiter.rung:
                if self._listening:
                    await waiter.stir.wait()
                    waiter.stir = anyio.Event()
                else:
                    await self._listen(waiter)
        rung, waiter.rung = waiter.rung, set()
        return rung

    async def _listen(self, waiter: Waiter) -> None:
        self._listening = True
        try:
            while not waiter.rung:
                for place in await self._hear(waiter):
                    self._ring_all() if place is None else self.ring(place)
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

    def _ring_all(self) -> None:
        for place in self._waiters:
            self.ring(place)

    def _hand_over(self, leaver: Waiter) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                if waiter is not leaver:
                    waiter.stir.set()
                    return
