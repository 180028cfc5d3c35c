"""The messages of a team: their subjects, their headers, and the records in them.

One message has all records of one append, so that they are stored together or not at all. JetStream counts the messages
of a whole team. The numbers of the records of one stream are in the headers.
"""

import zlib
from collections.abc import Mapping

from deskmate.core.log.records import Damaged, Item, Record, decode
from deskmate.core.values import frozen
from deskmate.errors import BadRecord, TooLarge

# `first` and `last` number of the records in a message. A fence has none, and repeats the last number.
FIRST, LAST, PACKED = "Dm-First", "Dm-Last", "Dm-Packed"
# The note of the process that took a seat and so ended what another one wrote here.
FENCE, EPOCH = "Dm-Fence", "Dm-Epoch"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
TTL = "Nats-TTL"
# The server's usual limit is 1 MiB with the headers.
_MOST_BYTES = 1_000_000


@frozen
class Tail:
    """The end of a stream: the last number of its records, and the server's number of its last message."""

    number: int = 0
    sequence: int = 0
    fence: str = ""
    epoch: int = 0

    @classmethod
    def of(cls, sequence: int, headers: Mapping[str, str]) -> "Tail":
        """Return the tail that a message is."""
        return cls(int(headers[LAST]), sequence, headers.get(FENCE, ""), int(headers.get(EPOCH, 0)))


def token(name: str) -> str:
    """Return a name as a part of a subject."""
    return "".join(letter if letter.isalnum() or letter in "-_" else f"={ord(letter):x}=" for letter in name)


def subject_of(team: str, stream: str) -> str:
    """Return the subject of a stream. Its kind and its owner are parts of it."""
    return ".".join(("deskmate", team, "s", *map(token, stream.split("/"))))


def name_of(subject: str) -> str:
    """Return the stream or the seat of a subject."""
    return "/".join(_text_of(part) for part in subject.split(".")[3:])


def _text_of(part: str) -> str:
    pieces = part.split("=")
    return "".join(chr(int(piece, 16)) if index % 2 else piece for index, piece in enumerate(pieces))


def packed(first: int, lines: list[bytes]) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of a message with records. Raises TooLarge."""
    body = b"\n".join(lines)
    headers = {FIRST: str(first), LAST: str(first + len(lines) - 1)}
    if len(body) > _MOST_BYTES:
        body, headers[PACKED] = zlib.compress(body), "1"
    if len(body) > _MOST_BYTES:
        raise TooLarge(f"{len(lines)} records that are appended together have {len(body):,} bytes", "Append fewer.")
    return body, headers


def unpacked(place: str, headers: Mapping[str, str], body: bytes) -> list[Item]:
    """Return the records of a message. A fence has none."""
    if FENCE in headers:
        return []
    lines = (zlib.decompress(body) if PACKED in headers else body).split(b"\n")
    return [_item(place, number, line) for number, line in enumerate(lines, int(headers[FIRST]))]


def _item(place: str, number: int, line: bytes) -> Item:
    try:
        return Record(number, decode(line))
    except BadRecord as error:
        return Damaged(number, "lost", place, error.message)
