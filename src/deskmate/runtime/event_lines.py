"""Events as JSON lines, for other processes.

Programs read them from the stdout of a run. A run reads them from the processes of its teammates.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, assert_never

from deskmate.core.agent.entries import read_entry
from deskmate.core.log.facts import Foreign
from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.team.status import Left, status_detail, status_of, status_word
from deskmate.runtime.events import Arrived, Changed, Printed, Recorded, Seated, Streamed, TeamEvent, TeamStarted


def to_line(event: TeamEvent) -> str:
    """Return an event as one line without newline. It is ASCII only, so no encoding can break it."""
    return json.dumps(_fields(event))


def from_line(line: str | bytes) -> TeamEvent | None:
    """Return the event of a line, or None if there is none. Unknown keys are ignored."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match fields:
        case {"type": "streamed", "member": str(member), "delta": dict() as raw}:
            delta = _delta(raw)
            return None if delta is None else Streamed(member, delta)
        case {"type": "recorded", "member": str(member), "number": int(number), "entry": dict() as body}:
            entry = read_entry(body)
            return None if isinstance(entry, Foreign) else Recorded(member, number, entry)
        case {"type": "printed", "member": str(member), "call": str(call), "text": str(text)}:
            return Printed(member, call, text)
        case {"type": "changed", "member": str(member), "word": str(word), "detail": str(detail)}:
            status = status_of(word, detail, agreed=fields.get("agreed") is True)
            return None if status is None else Changed(member, status)
        case {"type": "seated", "member": str(member), "colour": str(colour)}:
            return Seated(member, colour)
        case {"type": "arrived", "member": str(member), "sender": str(sender), "kind": str(kind)}:
            return Arrived(member, sender, kind)
        case {"type": "founded", "team": str(team)}:
            return TeamStarted(team)
        case _:
            return None


def _fields(event: TeamEvent) -> dict[str, Any]:
    match event:
        case Streamed(member, delta):
            return {"type": "streamed", "member": member, "delta": {"type": _kind(delta), **asdict(delta)}}
        case Recorded(member, number, entry):
            return {"type": "recorded", "member": member, "number": number, "entry": entry.model_dump(mode="json")}
        case Printed(member, call, text):
            return {"type": "printed", "member": member, "call": call, "text": text}
        case Changed(member, status):
            told = {"type": "changed", "member": member, "word": status_word(status), "detail": status_detail(status)}
            return {**told, "agreed": True} if isinstance(status, Left) and status.agreed else told
        case Seated(member, colour):
            return {"type": "seated", "member": member, "colour": colour}
        case Arrived(member, sender, kind):
            return {"type": "arrived", "member": member, "sender": sender, "kind": kind}
        case TeamStarted(team):
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


def _delta(raw: Mapping[str, Any]) -> Delta | None:
    match raw:
        case {"type": "text", "text": str(text)}:
            return TextDelta(text)
        case {"type": "thinking", "text": str(text)}:
            return ThinkingDelta(text)
        case {"type": "call", "tool": str(tool)}:
            return CallDelta(tool)
        case {"type": "retry", "seconds": int() | float() as seconds, "reason": str(reason), "model": str(model)}:
            return RetryDelta(seconds, reason, model)
        case _:
            return None
