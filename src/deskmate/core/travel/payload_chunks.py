"""A file in chunks: cut into records of a few streams, continued after a kill, and put together again.

The streams of a file are named after its SHA-256, so the same file is sent only once. A chunk says at
which byte it begins. The last chunk of a full stream says that the next stream goes on. So both sides know from the
records alone how far they are, and a chunk that is there twice changes nothing.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.records import Damaged, Item, Json
from deskmate.core.travel.code_records import Payload
from deskmate.core.values import frozen
from deskmate.errors import ToolError

# As text, this and its record fit into the 512 KiB of a record, and into a message of NATS.
CHUNK_BYTES = 360_000
# More is not sent: a store keeps every record.
MOST_SENT = 200_000_000
# What a reader has in memory at once is at most one stream.
CHUNKS_A_STREAM = 32


class Chunk(Fact):
    """Bytes of a file, in base64. `start`: where they begin. `more`: the next chunk is in the next stream."""

    type: Literal["chunk"] = "chunk"
    start: Annotated[StrictInt, Field(ge=0)]
    data: str
    more: StrictBool = False


KINDS: tuple[type[Chunk], ...] = (Chunk,)
read_chunk: Callable[[Json], Chunk | Foreign] = reader(*KINDS)


@frozen
class ChunkPosition:
    """How far a file is sent or received. `part`: the stream. `number`: its last record that is read.

    `chunks`: how many there are in this stream. `size`: the bytes before this place.
    """

    part: int = 0
    number: int = 0
    chunks: int = 0
    size: int = 0


START = ChunkPosition()


def next_chunk(
    at: ChunkPosition, size: int, chunk_bytes: int = CHUNK_BYTES, chunks_a_stream: int = CHUNKS_A_STREAM
) -> tuple[int, bool] | None:
    """Return how many bytes come next in a file of `size` bytes, and whether its stream is full then.

    None if everything is sent.
    """
    left = size - at.size
    if left <= 0:
        return None
    return min(left, chunk_bytes), at.chunks + 1 >= chunks_a_stream and left > chunk_bytes


def chunk_of(at: ChunkPosition, data: bytes, *, more: bool) -> Chunk:
    """Return the record with the next bytes of a file."""
    return Chunk(start=at.size, data=base64.b64encode(data).decode(), more=more)


def taken(payload: Payload, at: ChunkPosition, items: Sequence[Item]) -> tuple[list[bytes], ChunkPosition]:
    """Return the next bytes that items of the current stream have, and the position after them.

    What is known is skipped. Raises ToolError if a chunk is lost or malformed, or if there are too many bytes.
    """
    found = list[bytes]()
    for item in items:
        at = replace(at, number=item.number)
        if isinstance(item, Damaged):
            if item.kind == "lost":
                raise ToolError(f"A chunk of what was sent is lost: {item.where}: {item.reason}")
            continue
        chunk = read_chunk(item.body)
        if isinstance(chunk, Foreign):
            raise ToolError(f"Record {item.number} of what was sent is not a chunk: {chunk.reason}")
        if chunk.start < at.size:
            continue
        data = _bytes_of(chunk)
        if chunk.start > at.size or not data or at.size + len(data) > payload.size:
            raise ToolError(f"The chunk at byte {chunk.start:,} does not follow the {at.size:,} bytes before it")
        found.append(data)
        at = replace(at, chunks=at.chunks + 1, size=at.size + len(data))
        if chunk.more:
            # A record after the last one of a full stream counts for nothing.
            return found, ChunkPosition(at.part + 1, 0, 0, at.size)
    return found, at


def _bytes_of(chunk: Chunk) -> bytes:
    try:
        return base64.b64decode(chunk.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"The chunk at byte {chunk.start:,} is not base64") from error
