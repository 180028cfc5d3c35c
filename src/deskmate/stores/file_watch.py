"""Changed files as the operating system reports them.

Both watches may report too much. The scan in `wakeups` finds what they miss.
"""

import contextlib
import ctypes
import errno
import os
import struct
import sys
import threading
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from deskmate.errors import SystemProblem
from deskmate.fs.private_folder import PrivateFolder

# What the kernel answers if the user has too many watches.
_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOSPC)
_MORE_WATCHES = "Raise fs.inotify.max_user_instances or fs.inotify.max_user_watches with sysctl."
# A file in a watched folder. None means some file, unknown which.
Changed = tuple[Path, str] | None


class FileWatch(Protocol):
    """Reports which of the added files change, and maybe others."""

    def add(self, folder: PrivateFolder, name: str) -> None:
        """Watch one more file. It need not exist yet, but its folder must."""

    async def wait(self) -> list[Changed]:
        """Return what changed since the last return. One caller at a time."""

    def close(self) -> None:
        """Stop watching."""


class Inotify:
    """The kernel's inotify. Folders are named by descriptor, so nobody can swap a path meanwhile.

    A folder only reports which files appear in it, and each file reports that it grows. So nobody is woken by writes to
    a file that nobody waits for. A user has few watches, so a process that never waits takes none.
    """

    _EVENT = struct.Struct("iIII")
    _APPEARS = 0x80 | 0x100  # IN_MOVED_TO, IN_CREATE
    _GROWS = 0x2 | 0x2000000  # IN_MODIFY; IN_DONT_FOLLOW

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = -1
        self._folders: dict[int, PrivateFolder] = {}
        self._files: dict[int, tuple[PrivateFolder, str]] = {}
        self._added: set[tuple[PrivateFolder, str]] = set()

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            words = f"inotify: {os.strerror(code)}"
            raise SystemProblem(code, words, _MORE_WATCHES) if code in _LIMITS else OSError(code, words)
        return result

    def add(self, folder: PrivateFolder, name: str) -> None:
        """Watch one more file. It need not exist yet, but its folder must."""
        if self._fd < 0:
            self._fd = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._added.add((folder, name))
        # The folder first: it reports a file that appears after the look at the file.
        self._folders[self._watch(f"/proc/self/fd/{folder.fd}", self._APPEARS)] = folder
        self._see(folder, name)

    def _see(self, folder: PrivateFolder, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files[self._watch(f"/proc/self/fd/{folder.fd}/{name}", self._GROWS)] = (folder, name)

    def _watch(self, path: str, mask: int) -> int:
        return self._checked(self._libc.inotify_add_watch(self._fd, os.fsencode(path), mask))

    async def wait(self) -> list[Changed]:
        """Return what changed since the last return."""
        found: list[Changed] = []
        # Mostly another file of a folder has appeared.
        while not found:
            await anyio.wait_readable(self._fd)
            with contextlib.suppress(BlockingIOError):
                found = self._read()
        return found

    def _read(self) -> list[Changed]:
        found: list[Changed] = []
        data, at = os.read(self._fd, 65536), 0
        while at < len(data):
            watch, _, _, length = self._EVENT.unpack_from(data, at)
            at += self._EVENT.size + length
            found += self._changed(watch, os.fsdecode(data[at - length : at].rstrip(b"\0")))
        return found

    def _changed(self, watch: int, name: str) -> list[Changed]:
        if watch in self._files:
            folder, name = self._files[watch]
            return [(folder.path, name)]
        # Without a known folder: the kernel's queue overflowed, and any of the files may have appeared.
        appeared = self._added & {(self._folders[watch], name)} if watch in self._folders else self._added
        for folder, name in appeared:
            # Before anyone reads it: the file then reports later writes. If this fails, the scan finds them.
            with contextlib.suppress(OSError):
                self._see(folder, name)
        return [(folder.path, name) for folder, name in appeared]

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Notify:
    """The `watchfiles` package, tuned to wait 5 ms for more changes, not 50."""

    def __init__(self) -> None:
        self._paths: dict[Path, Path] = {}
        self._stop = threading.Event()
        self._missed = False

    def add(self, folder: PrivateFolder, name: str) -> None:
        """Watch one more file, by its folder."""
        if folder.path in self._paths.values():
            return
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
        # The waiter may be gone by now. Then the next one is told that something changed.
        self._missed = True
        return [path for _, path in found]

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()


def best_watch() -> FileWatch:
    """Return the best watch for this system."""
    return Inotify() if sys.platform == "linux" else Notify()
