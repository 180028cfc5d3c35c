"""Files on their way: those to send, and those that arrive in pieces.

What has arrived is kept with its position until the file is complete, so a process that was killed goes on from there.
The bytes are written first: what is more than the position says is cut off.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from deskmate.core.travel.code_records import Payload
from deskmate.core.travel.payload_chunks import START, ChunkPosition
from deskmate.errors import ToolError
from deskmate.fs.safe_files import open_folder, replace_file, small_file

_READ = 1 << 20


class OutgoingFile:
    """A file to send. It does not change any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.payload = Payload(sha256=_hash(path), size=path.stat().st_size)

    def read(self, start: int, size: int) -> bytes:
        """Return some of its bytes."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(size)


class IncomingFile:
    """A file that arrives in pieces. `folder`: where it is kept meanwhile, which only one process uses at a time."""

    def __init__(self, folder: Path, payload: Payload) -> None:
        self.payload = payload
        self.path = folder / payload.sha256
        self._position = folder / f"{payload.sha256}.position"

    def position(self) -> ChunkPosition:
        """Return how much has arrived."""
        with suppress(OSError, ValueError, TypeError):
            found = ChunkPosition(**json.loads(small_file(self._position)))
            if self.path.stat().st_size >= found.size:
                os.truncate(self.path, found.size)
                return found
        self.discard()
        return START

    def add(self, pieces: Sequence[bytes], at: ChunkPosition) -> None:
        """Add what comes next, and note the position after it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.writelines(pieces)
        with open_folder(self.path.parent) as folder:
            replace_file(folder, self._position.name, json.dumps(asdict(at)).encode())

    def check(self) -> None:
        """Raise ToolError unless it is complete. If its content is wrong, it is deleted."""
        if (size := self.path.stat().st_size if self.path.exists() else 0) < self.payload.size:
            raise ToolError(f"Only {size:,} of {self.payload.size:,} bytes were sent.")
        if _hash(self.path) != self.payload.sha256:
            self.discard()
            raise ToolError(f"What was sent is not what its SHA-256 says, {self.payload.sha256[:12]}.")

    def discard(self) -> None:
        """Delete what has arrived."""
        for path in (self._position, self.path):
            path.unlink(missing_ok=True)


def _hash(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_READ):
            made.update(data)
    return made.hexdigest()
