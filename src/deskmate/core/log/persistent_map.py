"""A map that only grows and can be kept as a value.

Folds use it to remember every id they have seen. It is a few dictionaries of growing size, merged when two have the
same size. Adding a key has logarithmic cost and does not copy the map.
"""

from typing import Generic, TypeVar

from deskmate.core.values import frozen

V = TypeVar("V")


@frozen
class Seen(Generic[V]):
    """The keys seen so far, each with its value."""

    levels: tuple[dict[str, V], ...] = ()

    def __contains__(self, key: object) -> bool:
        return any(key in level for level in self.levels)

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(frozenset(self._all()))

    def get(self, key: str) -> V | None:
        """Return the value of a key, or None."""
        return next((level[key] for level in self.levels if key in level), None)

    def put(self, key: str, value: V) -> "Seen[V]":
        """Return this map with one more key. A key seen before keeps its first value."""
        if key in self:
            return self
        newest, levels = {key: value}, self.levels
        while levels and len(levels[-1]) <= len(newest):
            newest, levels = {**levels[-1], **newest}, levels[:-1]
        return Seen((*levels, newest))

    def _all(self) -> dict[str, V]:
        return {key: value for level in self.levels for key, value in level.items()}
