"""How long each open thing has lasted in this process."""

from collections.abc import Iterable, Mapping

from deskmate.ports import Clock


class WaitTimes:
    """Counts the time from when something is first seen open until it is not open any more."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def look(self, open_: Iterable[str]) -> Mapping[str, float]:
        """Return for each open thing how many seconds it has been open."""
        now = self._clock.monotonic()
        self._since = {id_: self._since.get(id_, now) for id_ in open_}
        return {id_: now - since for id_, since in self._since.items()}
