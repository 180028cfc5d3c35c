"""Files sent and received through the store, in chunks.

How far a file is sent is known from its streams alone. So a sender that was killed goes on where it was, and a file
that somebody else has sent already is not sent again.
"""

from anyio import to_thread

from deskmate.core.log.names import chunks_of
from deskmate.core.travel.payload_chunks import MOST_SENT, START, ChunkPosition, chunk_of, next_chunk, taken
from deskmate.errors import Conflict, ToolError
from deskmate.ports import Store
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.travel.travel_ports import Incoming, Outgoing


async def send(writer: LogWriter, file: Outgoing) -> None:
    """Send what is not sent yet of a file. Raises ToolError if something else is in its streams."""
    at = await _sent(writer.store, file, START)
    while step := next_chunk(at, file.payload.size):
        size, more = step
        body = chunk_of(at, await to_thread.run_sync(file.read, at.size, size), more=more).body()
        stream = chunks_of(file.payload.sha256, at.part)
        try:
            records = await writer.append(stream, body, expect=at.number, as_is=True)
        except Conflict:
            # Somebody sends the same file.
            at = await _sent(writer.store, file, at)
        else:
            _, at = taken(file.payload, at, records)


async def _sent(store: Store, file: Outgoing, at: ChunkPosition) -> ChunkPosition:
    """Return how far a file is sent, after a position."""
    while True:
        items = await store.read(chunks_of(file.payload.sha256, at.part), at.number)
        pieces, to = taken(file.payload, at, items)
        found = b"".join(pieces)
        if found != await to_thread.run_sync(file.read, at.size, len(found)):
            raise ToolError(f"The store has other bytes under the SHA-256 {file.payload.sha256[:12]}.")
        if to.part == at.part:
            return to
        at = to


async def receive(store: Store, file: Incoming) -> None:
    """Receive what is missing of a file, and check all of it. Raises ToolError."""
    if file.payload.size > MOST_SENT:
        raise ToolError(f"{file.payload.size:,} bytes are more than can be received at once: {MOST_SENT:,}.")
    at = await to_thread.run_sync(file.position)
    while at.size < file.payload.size:
        items = await store.read(chunks_of(file.payload.sha256, at.part), at.number)
        pieces, to = taken(file.payload, at, items)
        if to == at:
            break
        await to_thread.run_sync(file.add, pieces, to)
        at = to
    await to_thread.run_sync(file.check)
