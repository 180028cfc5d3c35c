"""A process that sends or receives one file through the store of files. `test_payload_kills` kills it."""

import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio

from deskmate.core.travel.code_records import Payload
from deskmate.core.travel.payload_chunks import next_chunk
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.travel import payload_travel
from deskmate.runtime.travel.payload_travel import receive, send
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.workspace.trees.travel.travelling_files import IncomingFile, OutgoingFile


async def run(deed: str, workspace: Path, file: Path, payload: str) -> None:
    """Send a file, or receive one that has this description into a folder. Small chunks make many steps."""
    vars(payload_travel)["next_chunk"] = partial(next_chunk, chunk_bytes=10_000, chunks_a_stream=4)
    with closing(JsonlStore.open(workspace, "main")) as store:
        if deed == "send":
            await send(LogWriter(store, SystemClock()), OutgoingFile(file))
        else:
            await receive(store, IncomingFile(file, Payload.model_validate_json(payload)))


if __name__ == "__main__":
    anyio.run(run, sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
