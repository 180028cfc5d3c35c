"""What the operating system tells about changed files: inotify on Linux, `watchfiles` elsewhere.

`bell` above asks one of them; both may say too much, and what they miss its scan finds.
"""

import ctypes
import os
import struct
import sys
import threading
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from deskmate.stores.folders import Folder

# A file in a watched folder, or nothing: some file, unknown which.
Changed = tuple[Path, str] | None


class Watch(Protocol):
    """Tell which files in the added folders change."""

    def add(self, folder: Folder) -> None:
        """Watch one more folder."""

    async def wait(self) -> list[Changed]:
        """Return what changed since the last return. One caller at a time."""

    def close(self) -> None:
        """Stop watching."""


class Inotify:
    """The kernel's own notices; folders are named by descriptor, so no path can be swapped underneath.

    A user may have few of them at once, so that who never waits never takes one.
    """

    _EVENT = struct.Struct("iIII")
    _MASK = 0x2 | 0x80 | 0x100  # IN_MODIFY, IN_MOVED_TO, IN_CREATE

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = -1
        self._folders: dict[int, Path] = {}

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"inotify: {os.strerror(code)}; raise fs.inotify.max_user_instances")
        return result

    def add(self, folder: Folder) -> None:
        """Watch one more folder."""
        if self._fd < 0:
            self._fd = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        name = f"/proc/self/fd/{folder.fd}".encode()
        self._folders[self._checked(self._libc.inotify_add_watch(self._fd, name, self._MASK))] = folder.path

    async def wait(self) -> list[Changed]:
        """Return what changed since the last return."""
        await anyio.wait_readable(self._fd)
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        found: list[Changed] = []
        at = 0
        while at < len(data):
            watch, _, _, length = self._EVENT.unpack_from(data, at)
            at += self._EVENT.size + length
            name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
            folder = self._folders.get(watch)
            found.append((folder, name) if folder else None)
        return found

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Notify:
    """The `watchfiles` package, tuned: it waits 5 ms for more before it tells, not 50."""

    def __init__(self) -> None:
        self._paths: dict[Path, Path] = {}
        self._stop = threading.Event()
        self._missed = False

    def add(self, folder: Folder) -> None:
        """Watch one more folder."""
        from watchfiles._rust_notify import RustNotify

        self._paths[Path(os.path.realpath(folder.path))] = folder.path
        self._notify = RustNotify([str(path) for path in self._paths], False, False, 0, False, False)
        self._missed = True

    async def wait(self) -> list[Changed]:
        """Return what changed since the last return."""
        if self._missed:
            self._missed = False
            return [None]
        changes = await anyio.to_thread.run_sync(self._look, abandon_on_cancel=True)
        return [(self._paths[path.parent], path.name) for path in map(Path, changes) if path.parent in self._paths]

    def _look(self) -> list[str]:
        found = self._notify.watch(10, 5, 1000, self._stop)
        if isinstance(found, str):
            return []
        # Whoever waits may be gone by now: the next to wait then hears that something changed.
        self._missed = True
        return [path for _, path in found]

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()


def best_watch() -> Watch:
    """Return the watch this system has."""
    return Inotify() if sys.platform == "linux" else Notify()
