"""A map that only grows and can be kept as a value.

Folds remember with it every id they have met. It is a few dictionaries of growing size, merged as equals meet, so
that adding costs the logarithm of what is there, not a copy of it.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Seen(Generic[V]):
    """Keys met so far, each with what it stood for."""

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
        """Return what a key stood for, or nothing."""
        return next((level[key] for level in self.levels if key in level), None)

    def put(self, key: str, value: V) -> "Seen[V]":
        """Return this with one key more; a key met before keeps its first meaning."""
        if key in self:
            return self
        newest, levels = {key: value}, self.levels
        while levels and len(levels[-1]) <= len(newest):
            newest, levels = {**levels[-1], **newest}, levels[:-1]
        return Seen((*levels, newest))

    def _all(self) -> dict[str, V]:
        return {key: value for level in self.levels for key, value in level.items()}
