"""The exclusive right to run a member.

The file of a seat is never deleted, so a lock on it always means the same thing.
"""

import os
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress

import anyio

from deskmate.core.values import frozen
from deskmate.errors import Held, StoreError, StoreUnavailable
from deskmate.fs.private_folder import Lock, PrivateFolder, try_lock, wait_lock
from deskmate.fs.worker_threads import WorkerThreads

_NOTE_CAP = 4096


@frozen
class FileSeat:
    """A seat held through a lock on a file."""

    name: str


@asynccontextmanager
async def hold_file(
    folder: PrivateFolder, file: str, name: str, note: str, beside: WorkerThreads, *, wait: bool
) -> AsyncIterator[FileSeat]:
    """Hold the seat in `file`. If it is taken, wait, or without `wait` raise Held."""
    with ExitStack() as leave:
        try:
            lock, holder = await beside.run(lambda: _sit(folder, file, note, leave))
            if holder is not None and not wait:
                raise Held(name, holder)
            if holder is not None:
                await _stand(folder, lock, note)
        except OSError as error:
            raise _unavailable(folder, file, error) from error
        yield FileSeat(name)


def _sit(folder: PrivateFolder, file: str, note: str, leave: ExitStack) -> tuple[Lock, str | None]:
    """Take the seat, or return its holder's note. The folder's lock keeps others from reading an unfinished note."""
    lock = folder.open_lock(file)
    # Here, not in the caller: if that is cancelled meanwhile, it never gets the lock.
    leave.callback(lock.close)
    with folder.locked():
        if not try_lock(lock.fd):
            return lock, os.pread(lock.fd, _NOTE_CAP, 0).decode(errors="replace")
        _leave_note(lock.fd, note)
        return lock, None


async def _stand(folder: PrivateFolder, lock: Lock, note: str) -> None:
    """Wait for the lock in a thread that blocks nobody. A cancelled waiter, or the process, can end at once."""
    told, tell = os.pipe()
    trouble: list[OSError | StoreError] = []
    copy = Lock(os.dup(lock.fd))
    threading.Thread(target=_lock_copy, args=(folder, copy, note, tell, trouble), daemon=True).start()
    try:
        await anyio.wait_readable(told)
    finally:
        os.close(told)
    if trouble:
        raise trouble[0]


def _lock_copy(folder: PrivateFolder, copy: Lock, note: str, tell: int, trouble: list[OSError | StoreError]) -> None:
    """Lock through a copy of the descriptor. If the waiter has left meanwhile, closing the copy frees the seat."""
    try:
        wait_lock(copy.fd)
        with folder.locked():
            _leave_note(copy.fd, note)
    except (OSError, StoreError) as error:
        trouble.append(error)
    finally:
        copy.close()
        # Write, not only close: a forked child may keep a copy of the pipe open. A waiter that left does not read it.
        with suppress(BrokenPipeError):
            os.write(tell, b".")
        os.close(tell)


def _leave_note(fd: int, note: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, note.encode(errors="replace")[:_NOTE_CAP], 0)


def _unavailable(folder: PrivateFolder, file: str, error: OSError) -> StoreUnavailable:
    return StoreUnavailable.of(folder.path / file, error)
