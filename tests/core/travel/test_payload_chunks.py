"""A file in chunks: cut, sent by a sender that is killed, received by a receiver that is killed."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.log.records import RECORD_CAP, Damaged, Item, Record, encode
from deskmate.core.travel.code_records import Payload
from deskmate.core.travel.payload_chunks import (
    CHUNK_BYTES,
    START,
    ChunkPosition,
    chunk_of,
    next_chunk,
    taken,
)
from deskmate.errors import ToolError


def payload_of(data: bytes) -> Payload:
    return Payload(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


class Streams:
    """The streams of one file, without a store."""

    def __init__(self) -> None:
        self.parts = dict[int, list[Item]]()

    def after(self, at: ChunkPosition) -> list[Item]:
        return [item for item in self.parts.get(at.part, []) if item.number > at.number]

    def read(self, payload: Payload, at: ChunkPosition) -> tuple[bytes, ChunkPosition]:
        """Read as far as the streams go."""
        data = b""
        while True:
            pieces, to = taken(payload, at, self.after(at))
            data += b"".join(pieces)
            if to.part == at.part:
                return data, to
            at = to

    def send(self, data: bytes, chunk_bytes: int, chunks_a_stream: int, most: int) -> None:
        """Send the rest, and stop after `most` records, as if killed there."""
        _, at = self.read(payload_of(data), START)
        while most and (step := next_chunk(at, len(data), chunk_bytes, chunks_a_stream)):
            size, more = step
            stream = self.parts.setdefault(at.part, [])
            stream.append(Record(len(stream) + 1, chunk_of(at, data[at.size : at.size + size], more=more).body()))
            _, at = self.read(payload_of(data), at)
            most -= 1


@given(
    st.binary(min_size=1, max_size=300),
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 5), st.integers(0, 9)), max_size=8),
    st.lists(st.booleans(), max_size=30),
)
def test_a_file_arrives_whatever_the_chunks_are_and_wherever_both_sides_are_killed(
    data: bytes, tries: list[tuple[int, int, int]], kills: list[bool]
) -> None:
    streams, payload = Streams(), payload_of(data)
    for chunk_bytes, chunks_a_stream, most in [*tries, (7, 3, 1000)]:
        streams.send(data, chunk_bytes, chunks_a_stream, most)
    stored = sum(len(streams.parts[part]) for part in streams.parts)
    # A receiver that is killed has the bytes and the position that it wrote down last.
    received, at = b"", START
    while at.size < payload.size:
        pieces, to = taken(payload, at, streams.after(at))
        if kills and kills.pop():
            continue
        received, at = received + b"".join(pieces), to
    assert received == data
    streams.send(data, 5, 2, 1000)
    assert sum(len(streams.parts[part]) for part in streams.parts) == stored, "nothing is sent twice"


def test_a_chunk_that_is_there_twice_changes_nothing() -> None:
    data = b"0123456789"
    first, again, rest = chunk_of(START, data[:4], more=False), chunk_of(START, data[:4], more=False), b"456789"
    second = chunk_of(ChunkPosition(size=4), rest, more=False)
    items = [Record(number, one.body()) for number, one in enumerate([first, again, second, second], 1)]
    pieces, at = taken(payload_of(data), START, items)
    assert (b"".join(pieces), at) == (data, ChunkPosition(0, 4, 2, 10))


def test_the_largest_chunk_fits_into_a_record() -> None:
    body = chunk_of(ChunkPosition(size=10**12), b"\xff" * CHUNK_BYTES, more=True).body()
    assert len(encode({**body, "run": "f" * 16, "ord": 10**9})) < RECORD_CAP


@pytest.mark.parametrize(
    "bad",
    [
        Record(2, {"type": "chunk", "start": 5, "data": "AAAA"}),
        Record(2, {"type": "chunk", "start": 4, "data": "AAAA AAAA"}),
        Record(2, {"type": "chunk", "start": 4, "data": "é"}),
        Record(2, {"type": "chunk", "start": 4, "data": ""}),
        Record(2, {"type": "chunk", "start": 4, "data": "A" * 12}),
        Record(2, {"type": "chunk", "start": -1, "data": "AAAA"}),
        Record(2, {"type": "telegram"}),
        Damaged(2, "lost", "somewhere", "checksum"),
    ],
    ids=repr,
)
def test_what_is_no_chunk_or_does_not_follow_is_refused(bad: Item) -> None:
    items: list[Item] = [Record(1, chunk_of(START, b"0123", more=False).body()), bad]
    with pytest.raises(ToolError):
        taken(payload_of(b"0123456789"), START, items)


def test_an_append_that_never_finished_is_skipped() -> None:
    items: list[Item] = [Damaged(1, "torn", "x", "y"), Record(2, chunk_of(START, b"01", more=False).body())]
    assert taken(payload_of(b"01"), START, items) == ([b"01"], ChunkPosition(0, 2, 1, 2))
