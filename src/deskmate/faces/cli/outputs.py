"""Outputs: what programs read on stdout, one JSON object a line. `run` writes them; happenings come from the feed."""

import json
from dataclasses import asdict
from typing import Any, TypeAlias, assert_never

from deskmate.app import (
    CallDelta,
    Changed,
    Delta,
    Founded,
    Happening,
    Outcome,
    Recorded,
    RetryDelta,
    Streamed,
    TextDelta,
    ThinkingDelta,
)

Fields: TypeAlias = dict[str, Any]


def line(fields: Fields) -> str:
    """Return an object as one line. ASCII alone: no encoding can break it and no terminal obeys it."""
    return json.dumps(fields)


def of_happening(happening: Happening) -> Fields:
    """Return what happened, for the stream."""
    match happening:
        case Streamed(member, delta):
            return {"type": "streamed", "member": member, "delta": {"type": _kind(delta), **asdict(delta)}}
        case Recorded(member, number, entry):
            return {"type": "recorded", "member": member, "number": number, "entry": entry.model_dump(mode="json")}
        case Changed(member, word, detail):
            return {"type": "changed", "member": member, "word": word, "detail": detail}
        case Founded(team):
            return {"type": "founded", "team": team}
        case unreachable:
            assert_never(unreachable)


def _kind(delta: Delta) -> str:
    match delta:
        case TextDelta():
            return "text"
        case ThinkingDelta():
            return "thinking"
        case CallDelta():
            return "call"
        case RetryDelta():
            return "retry"
        case unreachable:
            assert_never(unreachable)


def of_outcome(outcome: Outcome, model: str) -> Fields:
    """Return how it ended; `cost_usd` is null where a price is not known."""
    return {
        "team": outcome.team,
        "text": outcome.text,
        "end": outcome.end,
        "reason": outcome.reason,
        "steps": outcome.steps,
        "usage": asdict(outcome.usage),
        # To a thousandth of a millionth: sums of small numbers end in digits that mean nothing.
        "cost_usd": None if outcome.cost is None else round(outcome.cost, 9),
        "model": model,
    }
