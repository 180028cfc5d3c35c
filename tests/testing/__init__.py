"""Tests of what Deskmate ships for testing; a checker is tried on planted violations."""

from itertools import count

from deskmate.testing.run_history import HistoryEvent, Json

Outcome = tuple[str, Json] | None
Call = tuple[HistoryEvent, ...]

_numbers = count(1)


def call(span: tuple[int, int], action: str, value: Json, outcome: Outcome, key: str = "7") -> Call:
    """Return the events of one operation by a process of its own; without an outcome it is in doubt."""
    process = f"p{next(_numbers)}"
    begun = HistoryEvent(process, 1, "invoke", action, key, value, span[0])
    if outcome is None:
        return (begun,)
    kind, result = outcome
    return begun, HistoryEvent(process, 1, "ok" if kind == "ok" else "fail", action, key, result, span[1])
