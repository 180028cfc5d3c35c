"""Values by key, and since which version each is as it is."""

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# A page that missed more keys that are gone is told everything.
GONE_KEPT = 2000


class KeptJson(Generic[T]):
    """The JSON of items, made again only if an item has changed. Most never do."""

    def __init__(self, make: Callable[[T], dict[str, Any]]) -> None:
        self._make = make
        self._made: dict[str, tuple[T, dict[str, Any]]] = {}

    def all(self, items: dict[str, T]) -> dict[str, dict[str, Any]]:
        """Return the JSON of items by key, and forget all others."""
        made = {}
        for key, item in items.items():
            known = self._made.get(key)
            made[key] = known if known is not None and known[0] == item else (item, self._make(item))
        self._made = made
        return {key: shown for key, (_, shown) in made.items()}


class Versioned:
    """Values by part and key, and since which version each is as it is."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}
        self._gone: deque[tuple[int, str, str]] = deque()
        self._forgotten = 0

    def put(self, version: int, part: str, values: dict[str, dict[str, Any]]) -> None:
        """Set all values of a part."""
        known = self._parts.get(part, {})
        self._parts[part] = {
            key: known[key] if key in known and (known[key][1] is value or known[key][1] == value) else (version, value)
            for key, value in values.items()
        }
        self._gone.extend((version, part, key) for key in known if key not in values)
        while len(self._gone) > GONE_KEPT:
            self._forgotten = self._gone.popleft()[0]

    def since(self, version: int) -> dict[str, Any]:
        """Return what changed after a version, with `whole` if that is everything there is."""
        if version < self._forgotten:
            version = 0
        changes: dict[str, Any] = {} if version else {"whole": True}
        for part, values in self._parts.items():
            changed: dict[str, Any] = {key: value for key, (number, value) in values.items() if number > version}
            if version:
                gone = (key for number, name, key in self._gone if number > version and name == part)
                changed |= dict.fromkeys(key for key in gone if key not in values)
            if changed:
                changes[part] = changed
        return changes
