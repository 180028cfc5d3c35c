"""Seats: a kernel lock on a file of its own, held while its holder lives. No heartbeat, no clock.

`jsonl` above names the folder; the file is never deleted, so that a lock on it always means the same thing.
"""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.to_thread

from deskmate.errors import Held, StoreUnavailable
from deskmate.stores.folders import Folder

_NOTE_CAP = 4096


@dataclass(frozen=True, slots=True)
class FileSeat:
    """A seat held through a lock on a file."""

    name: str


@asynccontextmanager
async def hold_file(
    folder: Folder, file: str, name: str, note: str, *, wait: bool, line: anyio.CapacityLimiter
) -> AsyncIterator[FileSeat]:
    """Hold the seat kept in `file`; raise Held, or stand in line."""
    try:
        fd = folder.open(file, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StoreUnavailable(f"{folder.path / file}: {error.strerror}; mend that, then try again") from error
    try:
        if not _try(fd):
            if not wait:
                raise Held(name, _note(fd))
            await anyio.to_thread.run_sync(_stand, os.dup(fd), abandon_on_cancel=True, limiter=line)
        _leave_note(fd, note)
        yield FileSeat(name)
    finally:
        os.close(fd)


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stand(copy: int) -> None:
    """Wait for the lock on a copy of the descriptor: if the waiter has gone meanwhile, closing it frees the seat."""
    try:
        fcntl.flock(copy, fcntl.LOCK_EX)
    finally:
        os.close(copy)


def _leave_note(fd: int, note: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, note.encode(errors="replace")[:_NOTE_CAP], 0)


def _note(fd: int) -> str:
    return os.pread(fd, _NOTE_CAP, 0).decode(errors="replace")
