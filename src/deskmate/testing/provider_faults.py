"""What goes wrong on its wire.

`fake_provider` asks a plan for the fault of each request.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from deskmate.testing.http_server import Response
from deskmate.testing.scripts import Asked


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """An error with this status instead of an answer."""

    code: int
    retry_after: float | None = None
    message: str = "this request was chosen to fail"


@dataclass(frozen=True, slots=True)
class TooLong:
    """The refusal of a prompt that is larger than the context window."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection ends before any byte of an answer."""


@dataclass(frozen=True, slots=True)
class DropAfter:
    """The connection ends after a part of the body: a share of it or, if an int, this many bytes."""

    part: float | int = 0.5


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more arrives after a part of the body, and the connection stays open.

    If the part is 0, not even a response head arrives.
    """

    part: float | int = 0.5


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An error in the stream after a share of its events. Without streaming, the status of that error."""

    kind: str = "overloaded_error"
    part: float = 0.5


@dataclass(frozen=True, slots=True)
class Garbage:
    """Meaningless bytes after a share of the events. Without streaming, they are the whole body."""

    data: bytes = b"<html>\xff\xfe{]\n\n"
    part: float = 0.5


@dataclass(frozen=True, slots=True)
class Slow:
    """The whole answer, cut anywhere into this many pieces, with a pause after each."""

    pieces: int = 20
    pause_seconds: float = 0.002


Fault: TypeAlias = ErrorStatus | TooLong | Drop | DropAfter | Stall | ErrorEvent | Garbage | Slow
Plan: TypeAlias = Mapping[int, Fault] | Callable[[int, Asked], Fault | None]


def planned(plan: Plan, asked: Asked) -> Fault | None:
    """Return the fault that a plan has for a request, by its number."""
    return plan(asked.number, asked) if callable(plan) else plan.get(asked.number)


def damaged(response: Response, fault: DropAfter | Stall | Garbage | Slow) -> Response:
    """Return a response with the fault applied."""
    match fault:
        case DropAfter(part=part):
            return replace(response, upto=_bytes(response.pieces, part), then="drop")
        case Stall(part=part):
            return replace(response, upto=_bytes(response.pieces, part), then="stall", head=part > 0)
        case Garbage(data=data, part=part):
            kept = first_part(response.pieces, part) if response.streamed else ()
            return replace(response, pieces=(*kept, data))
        case Slow(pieces=count, pause_seconds=pause_seconds):
            return replace(response, pieces=_pieces(b"".join(response.pieces), count), pause_seconds=pause_seconds)


def first_part(pieces: Sequence[bytes], part: float) -> Sequence[bytes]:
    """Return the first pieces, this share of all."""
    return pieces[: int(len(pieces) * part)]


def _bytes(pieces: Sequence[bytes], part: float | int) -> int:
    size = sum(map(len, pieces))
    return min(part, size) if isinstance(part, int) else int(size * part)


def _pieces(data: bytes, count: int) -> list[bytes]:
    size = max(1, -(-len(data) // count))
    return [data[start : start + size] for start in range(0, len(data), size)]
