"""Faults on purpose: cut, damaged and lost files, failing and killed system calls, races, nasty strings.

Counts are for the ordinary run; with DESKMATE_SOAK=1 each is ten times as high.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deskmate.core.log.records import encode_together
from deskmate.stores.stream_file import StreamFile

TIMES = 10 if os.environ.get("DESKMATE_SOAK") == "1" else 1


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Lend a folder on a memory file system where there is one: what is tested is the store, not the disk."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="deskmate-", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def letter(ordinal: int, content: str = "", run: str = "r") -> dict[str, object]:
    """Return the body of a message, the `ordinal`-th of its run."""
    return {"type": "message", "content": content, "run": run, "ord": ordinal}


def put(stream: StreamFile, record: dict[str, object], *, sync: bool = True) -> int:
    """Append to one file without a store around it."""
    [number] = stream.append(encode_together([record]), None, sync=sync)
    return number
