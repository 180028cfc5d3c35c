"""The seams: what the runtime needs from the outside, as narrow as it can be.

Adapters (`stores/`, and later `models/`, `tools/`, `workspaces/`, `launchers/`) stand below them; `runtime/` stands
above and never knows which one it has.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from deskmate.core.records import Item, Json


class Seat(Protocol):
    """The exclusive right to play a member, for as long as it is held."""

    @property
    def name(self) -> str:
        """The seat's name: a member, or a slot such as `calls/0`."""


class Store(Protocol):
    """Append-only numbered streams, and seats. Numbers grow; they need not be contiguous."""

    async def append(self, stream: str, record: Json, *, expect: int | None = None, sync: bool = True) -> int:
        """Add one record; return its number. With `expect`, only if that is the number of the last one (0 when empty).

        Raises Conflict (read, decide again), TooLarge, or StoreUnavailable: it may or may not have been
        written; append the same record again. The caller stamps `run` (random, one per process start) and
        `ord` (counts up) into it; the store looks from the end it saw at the first try: found, it returns
        that number and writes nothing. With `sync`, a power loss after the return takes nothing back; without, it
        may for up to a second, while a killed process still loses nothing. Shielded from cancellation.
        """

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return what stands above `after`, in order, damage in its place.

        With `sync`, nothing is returned that a power loss could take back. Without, something may be: enough to count
        what only costs. Raises StoreCorrupt where the stream ends below `after`: someone read further once.
        """

    async def decide(
        self, stream: str, after: int, make: Callable[[Sequence[Item]], Json | None], *, sync: bool = True
    ) -> int | None:
        """Append what `make` makes of all that stands above `after`, with nothing coming between; return its number.

        Where it makes nothing, nothing is appended and None returned. `make` may be called more than once, and in
        another thread: it only looks. What it was given and what it made are kept as `append` keeps them, and so are
        the errors; in doubt, ask again: it is then given what an earlier try had written.
        """

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return once any of these streams has something above the given number.

        Level-triggered: may return early, never late. No gap between looking and waiting.
        """

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        """Hold `name` until closed or this process dies; one holder at a time.

        Raises Held with the holder's note; with `wait`, stands in line instead.
        """


class Clock(Protocol):
    """Time as the runtime may know it."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""

    def timestamp(self) -> float:
        """Return seconds since the epoch, for people to read."""

    async def sleep(self, seconds: float) -> None:
        """Return after that many monotonic seconds."""
