"""Seats: a kernel lock on a file of its own, held while its holder lives. No heartbeat, no clock.

`jsonl` above names the folder; the file is never deleted, so that a lock on it always means the same thing.
"""

import fcntl
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.to_thread

from deskmate.errors import Held, StoreUnavailable
from deskmate.stores.folders import Folder, close_lock, own_lock

_NOTE_CAP = 4096


@dataclass(frozen=True, slots=True)
class FileSeat:
    """A seat held through a lock on a file."""

    name: str


@asynccontextmanager
async def hold_file(folder: Folder, file: str, name: str, note: str, *, wait: bool) -> AsyncIterator[FileSeat]:
    """Hold the seat kept in `file`; raise Held, or stand in line."""
    try:
        fd = folder.open_lock(file)
    except OSError as error:
        raise _unavailable(folder, file, error) from error
    try:
        try:
            holder = await anyio.to_thread.run_sync(_sit, folder, fd, note)
            if holder is not None and not wait:
                raise Held(name, holder)
            if holder is not None:
                await _stand(fd)
                _leave_note(fd, note)
        except OSError as error:
            raise _unavailable(folder, file, error) from error
        yield FileSeat(name)
    finally:
        close_lock(fd)


def _sit(folder: Folder, fd: int, note: str) -> str | None:
    """Take the seat, or return its holder's note. The folder's lock keeps others from a note not yet written."""
    with folder.locked():
        if not _try(fd):
            return os.pread(fd, _NOTE_CAP, 0).decode(errors="replace")
        _leave_note(fd, note)
        return None


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _stand(fd: int) -> None:
    """Wait for the lock in a thread that holds up nobody: who leaves the line may go at once, the process too."""
    told, tell = os.pipe()
    trouble: list[OSError] = []
    threading.Thread(target=_lock_copy, args=(own_lock(os.dup(fd)), tell, trouble), daemon=True).start()
    try:
        await anyio.wait_readable(told)
    finally:
        os.close(told)
    if trouble:
        raise trouble[0]


def _lock_copy(copy: int, tell: int, trouble: list[OSError]) -> None:
    """Lock through a copy of the descriptor: if the waiter has gone meanwhile, closing the copy frees the seat."""
    try:
        fcntl.flock(copy, fcntl.LOCK_EX)
    except OSError as error:
        trouble.append(error)
    finally:
        close_lock(copy)
        os.close(tell)


def _leave_note(fd: int, note: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, note.encode(errors="replace")[:_NOTE_CAP], 0)


def _unavailable(folder: Folder, file: str, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"{folder.path / file}: {error.strerror}; mend that, then try again")
