"""When the entries of transcripts were written. Those of version 0.2 and older do not say it.

But each record says which process wrote it, and numbers the records of that process. Model calls, status, tasks and
mail always had a time, so an entry was written after the last of them before it, and before the next one.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from deskmate.core.log.records import TIME_KEY, Item, Record

# These end something that may have taken long, so they are as late as they can be.
_ENDINGS = ("did", "ended")


class EntryTimes:
    """What is known of when each run of a process wrote which record."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, float]] = {}
        self._ordered: dict[str, list[tuple[int, float]]] = {}

    def note(self, record: Record, at: float) -> None:
        """Remember when a record was written."""
        run, ordinal = record.body.get("run"), record.body.get("ord")
        if isinstance(run, str) and isinstance(ordinal, int):
            self._known.setdefault(run, {})[ordinal] = at
            self._ordered.pop(run, None)

    def of(self, entries: Iterable[Item]) -> dict[int, float]:
        """Return the time of each entry of a transcript by its number. Times never go back."""
        return dict(self._times(entries))

    def _times(self, entries: Iterable[Item]) -> Iterator[tuple[int, float]]:
        latest = 0.0
        for item in entries:
            if isinstance(item, Record):
                latest = max(latest, self._time(item) or 0.0)
                yield item.number, latest

    def _time(self, entry: Record) -> float | None:
        if isinstance(at := entry.body.get(TIME_KEY), int | float) and isfinite(at):
            return at
        known, ordinal = self._in_order(str(entry.body.get("run"))), entry.body.get("ord")
        place = bisect(known, (ordinal, float("inf"))) if isinstance(ordinal, int) else 0
        before, after = known[place - 1 : place], known[place : place + 1]
        ends = entry.body.get("type") in _ENDINGS
        return next((at for _, at in ((after or before) if ends else (before or after))), None)

    def _in_order(self, run: str) -> Sequence[tuple[int, float]]:
        if run not in self._ordered:
            self._ordered[run] = sorted(self._known.get(run, {}).items())
        return self._ordered[run]
