"""Numbered records, damaged lines and what may be encoded.

All stores encode with these functions, so that every store accepts and refuses the same things.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadRecord, TooLarge

Json: TypeAlias = Mapping[str, object]
T = TypeVar("T")

RECORD_CAP = 512 * 1024
DEPTH_CAP = 64
KEPT_KEYS = frozenset({"n", "crc"})
STAMP_KEYS = frozenset({"run", "ord"})
# Records of transcripts also have the time, for people and telemetry. It is no part of the entry.
TIME_KEY = "at"
BESIDE_ENTRY = STAMP_KEYS | {TIME_KEY}


@frozen
class Record:
    """One item of a stream, as it was appended."""

    number: int
    body: Json


@frozen
class Damaged:
    """A place in a stream where no record can be read.

    `torn`: an append that never finished, and whose success was never reported. `lost`: something that was, or may have
    been, a record.
    """

    number: int
    kind: Literal["torn", "lost"]
    where: str
    reason: str


Item: TypeAlias = Record | Damaged
Stamp: TypeAlias = tuple[str, int]


@frozen
class Decision(Generic[T]):
    """What to append to a stream, None for nothing, and what the caller of `decide` wants to know about that."""

    record: Json | None
    outcome: T


Make: TypeAlias = Callable[[Sequence[Item]], Decision[T]]


class Encoded(dict[str, object]):
    """A record as it will be read back, with its line, so that it is encoded only once. It is never changed."""

    __slots__ = ("line",)

    def __init__(self, record: Json) -> None:
        """Encode a record. Raises BadRecord or TooLarge."""
        self.line = encode(record)
        super().__init__(decode(self.line))


def encode(record: Json) -> bytes:
    """Return a record as one line of JSON without its line end; raise BadRecord or TooLarge.

    Lone surrogates become U+FFFD: they have no UTF-8, and odd output of a tool must not stop its agent.
    """
    if isinstance(record, Encoded):
        return record.line
    if not isinstance(record, dict) or not record:
        raise BadRecord(f"A record must be a JSON object with at least one key, not {type(record).__name__}")
    if taken := KEPT_KEYS & record.keys():
        raise BadRecord(f"The keys {sorted(taken)} are reserved for the store", "Use other names.")
    stamp(record)
    try:
        text = _ENCODER.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRecord(
            f"This record cannot be written as JSON: {error}", "Use strings, finite numbers, lists and objects."
        ) from error
    line = _utf8(text)
    if _too_deep(line, record):
        raise BadRecord(f"This record is nested deeper than {DEPTH_CAP} levels", "Flatten it, or send it as text.")
    if len(line) > RECORD_CAP:
        raise TooLarge(
            f"This record has {len(line)} bytes, and at most {RECORD_CAP} are allowed", "Put the rest in a blob."
        )
    return line


def encode_together(records: Sequence[Json]) -> dict[Stamp, bytes]:
    """Return the lines of records that are appended together, by stamp and in order.

    Raises BadInput if there is no record, BadRecord if two have the same stamp, and what `encode` raises.
    """
    if not records:
        raise BadInput("There is no record to append", "Pass at least one.")
    bodies = [encode(record) for record in records]
    lines = dict(zip(map(stamp, records), bodies, strict=True))
    if len(lines) < len(records):
        raise BadRecord("Two records of one append have the same stamp", "Count `ord` up for each record.")
    return lines


def stamp(record: Json) -> Stamp:
    """Return which run appended a record and its ordinal in that run; raise BadRecord if it has no stamp."""
    run, ordinal = record.get("run"), record.get("ord")
    if not isinstance(run, str) or not run or type(ordinal) is not int:
        raise BadRecord("A record must have `run` (a text) and `ord` (a number), so that repeats can be found")
    return run, ordinal


def check_number(number: int) -> None:
    """Raise BadInput if no place in a stream can have this number."""
    if number < 0:
        raise BadInput(f"{number} is not a position in a stream", "The first record is number 1, and 0 is before it.")


def decode(line: bytes) -> dict[str, object]:
    """Return the object in one line of JSON; raise BadRecord for anything else."""
    try:
        value = STRICT_JSON.decode(line.decode(errors="surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadRecord(f"a JSON {type(value).__name__}, not an object")
    if _too_deep(line, value):
        raise BadRecord(f"nested deeper than {DEPTH_CAP} levels")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    """Return a number that can be encoded again. `1e999` is JSON, but becomes infinite."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large")
    return number


# Made once: `json.dumps` and `json.loads` make a new one for each call with other than default options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
# Raises ValueError or RecursionError, also for a number that could not be encoded again.
STRICT_JSON = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _too_deep(line: bytes, value: object) -> bool:
    """Tell whether a value is nested too deep. For most values the line shows cheaply that they are not."""
    return line.count(b"[") + line.count(b"{") > DEPTH_CAP and _depth(value) > DEPTH_CAP


def _depth(value: object) -> int:
    """Return how deep `value` is nested, level by level and without recursion."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [child for parent in level for child in _children(parent)]
    return depth


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, dict | list | tuple)]
    if isinstance(value, list | tuple):
        return [child for child in value if isinstance(child, dict | list | tuple)]
    return []
