"""Folders opened by descriptor, their lock, no symlink followed."""

import contextlib
import errno
import fcntl
import os
import re
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, ClassVar
from zlib import crc32

from deskmate.errors import StoreCorrupt, StoreUnavailable, UnsafeFolder
from deskmate.fs.disk_calls import Files
from deskmate.fs.safe_files import FOLDER, NotRegular, open_regular

LOCK = ".lock"
MOUNTS = Path("/proc/self/mountinfo")
_MARK = struct.Struct("<QQQI")
_MARKS = 128
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
# Mount options with which another machine does not see our locks.
_LOCAL_LOCKS = {"nolock", "local_lock=all", "local_lock=flock", "nobrl"}


class Lock:
    """A descriptor opened for locking, only for this process."""

    # A lock lasts as long as any copy of its descriptor, and a fork copies them all.
    _all: ClassVar[set["Lock"]] = set()

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._all.add(self)

    def close(self) -> None:
        """Close the descriptor. In a forked child it is closed already."""
        self._all.discard(self)
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    @classmethod
    def close_all(cls) -> None:
        """Close the copies that a fork made."""
        for lock in tuple(cls._all):
            lock.close()


os.register_at_fork(after_in_child=Lock.close_all)


class WouldWait(Exception):
    """Something cannot be done without waiting for others."""


class PrivateFolder:
    """One private folder and its lock. Release it with `close`."""

    def __init__(self, path: Path, fd: int, files: Files, above: "PrivateFolder | None" = None) -> None:
        self.path, self.fd, self.files = path, fd, files
        self._above = above
        self._mutex, self._opening = threading.Lock(), threading.RLock()
        self._lock: Lock | None = None
        self._process = os.getpid()

    @classmethod
    def of(cls, workspace: Path, parts: tuple[str, ...], files: Files, *, create: bool) -> "PrivateFolder":
        """Open the folder `parts` below `workspace`, and create it with `create`.

        Raises UnsafeFolder or FileNotFoundError.
        """
        refuse_local_locks(workspace)
        fd = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        path = workspace
        for part in parts:
            path = path / part
            try:
                below = _step(fd, part, path, files, create=create)
            finally:
                os.close(fd)
            fd = below
        return cls(path, fd, files)

    def below(self, name: str) -> "PrivateFolder":
        """Return the folder `name` in this one. The first read opens it, the first write creates it."""
        return PrivateFolder(self.path / name, -1, self.files, above=self)

    def reach(self, *, create: bool) -> int:
        """Return the descriptor. Opens the folder first, and with `create` creates it. Raises FileNotFoundError."""
        if self.fd < 0 and self._above is not None:
            with self._opening:
                if self.fd < 0:
                    self.fd = _step(self._above.fd, self.path.name, self.path, self.files, create=create)
        return self.fd

    def open(self, name: str, flags: int) -> int:
        """Open a regular file in this folder. Raises StoreCorrupt for anything else of that name."""
        folder = self.reach(create=bool(flags & os.O_CREAT))
        try:
            return open_regular(lambda: self.files.open(name, flags, folder), name)
        except NotRegular as error:
            raise StoreCorrupt(
                f"{self.path / name} is not a regular file", "Move it away, then start again."
            ) from error

    def reader(self, name: str) -> BinaryIO:
        """Open a regular file in this folder for reading. Raises FileNotFoundError or StoreCorrupt."""
        return os.fdopen(self.open(name, os.O_RDONLY), "rb")

    def replace(self, name: str, data: bytes) -> None:
        """Write a file atomically: all of it or nothing. Nobody else may replace the same file meanwhile."""
        draft = f".{name}.new"
        fd = self.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            while data:
                data = data[self.files.write(fd, data) :]
        finally:
            os.close(fd)
        self.files.rename(draft, name, self.fd)

    @contextlib.contextmanager
    def locked(self, *, wait: bool = True) -> Iterator[None]:
        """Hold the folder's lock, exclusive among all threads and processes. The kernel frees it if the holder dies.

        Without `wait`, raise WouldWait if another holds it, or if it was not held in this process before.
        """
        self._refuse_fork()
        if not self._mutex.acquire(blocking=wait):
            raise WouldWait(self.path)
        try:
            lock = self._locked_file() if wait else self._locked_at_once()
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            self._mutex.release()

    def _locked_file(self) -> int:
        lock = self._lock_file()
        wait_lock(lock)
        return lock

    def _locked_at_once(self) -> int:
        # Opening the file for the first time takes a while.
        if self._lock is None or not try_lock(self._lock.fd):
            raise WouldWait(self.path)
        return self._lock.fd

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:
            # A forked child shares its parent's lock: both would hold it at once. Its mutexes may be locked forever.
            raise StoreUnavailable("This store was opened before a fork", "Open it again in the new process.")

    def _lock_file(self) -> int:
        self._refuse_fork()
        if self._lock is None:
            with self._opening:
                self._lock = self._lock or self._open_lock()
        return self._lock.fd

    def _open_lock(self) -> Lock:
        """Open the lock file, and check that a lock there keeps others out."""
        lock = self.open_lock(LOCK)
        try:
            # Without waiting, because readers come here too. If the lock is held, it evidently keeps others out.
            if try_lock(lock.fd):
                if not self._keeps_out():
                    raise _no_locks(self.path)
                # A reader that kept it would block every writer.
                fcntl.flock(lock.fd, fcntl.LOCK_UN)
        except BaseException as error:
            lock.close()
            if isinstance(error, OSError) and error.errno in _NO_LOCKS:
                raise _no_locks(self.path) from error
            raise
        return lock

    def open_lock(self, name: str) -> Lock:
        """Open a file to lock it."""
        return Lock(self.open(name, os.O_RDWR | os.O_CREAT))

    def _keeps_out(self) -> bool:
        """Return whether the lock, which is held, keeps a second one out."""
        second = self.open(LOCK, os.O_RDWR)
        try:
            return not try_lock(second)
        finally:
            os.close(second)

    # The lock file also tells other processes how far each file is synced, so that a record is synced once and not by
    # every reader. It also has the highest synced number, so that no number is used again if the file is cut. A slot is
    # written only after the sync. An overwritten or torn slot only costs one more sync, and a cut may go unnoticed.
    # The same is true if the disk is full or mounted read-only.

    def synced(self, name: str, inode: int) -> tuple[int, int]:
        """Return how many bytes of a file and its entry are synced, and up to which number. 0 if unknown.

        The number stays after a cut. The bytes may then be more than the file has now.
        """
        try:
            slot = os.pread(self._lock_file(), _MARK.size, inode % _MARKS * _MARK.size)
        except OSError:
            return 0, 0
        if len(slot) < _MARK.size:
            return 0, 0
        whose, size, number, check = _MARK.unpack(slot)
        # Also check the name: the disk gives the inode of a deleted file to the next one.
        return (size, number) if whose == inode and check == crc32(slot[:-4], crc32(name.encode())) else (0, 0)

    def marks(self, name: str) -> dict[int, int]:
        """Return by inode up to which number files of this name were synced, as far as the lock file still says so.

        Creates no lock file, so readers can use it. Raises OSError or StoreCorrupt if there is an unreadable one.
        """
        try:
            with self.reader(LOCK) as file:
                slots = file.read(_MARKS * _MARK.size)
        except FileNotFoundError:
            return {}
        whole = slots[: len(slots) // _MARK.size * _MARK.size]
        found = zip(range(0, len(whole), _MARK.size), _MARK.iter_unpack(whole), strict=True)
        return {
            inode: number
            for at, (inode, _, number, check) in found
            if check == crc32(whole[at : at + _MARK.size - 4], crc32(name.encode()))
        }

    def tell_synced(self, name: str, inode: int, size: int, number: int) -> None:
        """Tell other processes how much of a file and its entry is synced. A higher number that was told is kept."""
        number = max(number, self.synced(name, inode)[1])
        slot = _MARK.pack(inode, size, number, 0)[:-4]
        check = struct.pack("<I", crc32(slot, crc32(name.encode())))
        with contextlib.suppress(OSError):
            os.pwrite(self._lock_file(), slot + check, inode % _MARKS * _MARK.size)

    def sync(self) -> None:
        """Return once the entries of this folder would survive a power loss."""
        self.files.sync_folder(self.fd)

    def close(self) -> None:
        """Release folder and lock. Any use afterwards fails."""
        # A fork may have copied the mutex while it was locked. The child has no lock to wait for.
        with self._mutex if os.getpid() == self._process else contextlib.nullcontext():
            if self._lock is not None:
                self._lock.close()
                self._lock = None
            # Clear it before closing: the number may be given to another folder at once.
            fd, self.fd, self._above = self.fd, -1, None
        if fd >= 0:
            os.close(fd)


def wait_lock(fd: int) -> None:
    """Lock. Waits until nobody else holds the lock."""
    fcntl.flock(fd, fcntl.LOCK_EX)


def try_lock(fd: int) -> bool:
    """Lock without waiting. Return whether that succeeded."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _step(parent: int, name: str, path: Path, files: Files, *, create: bool) -> int:
    """Open one folder below another. Makes sure that it is private and belongs to this user."""
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    else:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    # Also if it existed: its creator may not have reached this line yet, or died before it.
    files.sync_folder(parent)
    try:
        fd = os.open(name, FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise UnsafeFolder(
                f"{path} is not a folder, but a link or a file", "Move it away, then start again."
            ) from error
        raise
    found = os.fstat(fd)
    if found.st_uid != os.geteuid():
        os.close(fd)
        raise UnsafeFolder(f"{path} belongs to user {found.st_uid}, not to you", "Run as that user, or remove it.")
    if found.st_mode & 0o077:
        os.fchmod(fd, 0o700)
    return fd


_ELSEWHERE = "Choose a workspace on a local file system."


def _no_locks(path: Path) -> UnsafeFolder:
    return UnsafeFolder(f"Locks do not work in {path}", _ELSEWHERE)


def refuse_local_locks(workspace: Path, mountinfo: Path = MOUNTS) -> None:
    """Raise UnsafeFolder if a mount option says that other machines do not see locks there."""
    _, options = mount_of(workspace, mountinfo)
    if found := options & _LOCAL_LOCKS:
        raise UnsafeFolder(
            f"{os.path.realpath(workspace)} is mounted with {', '.join(sorted(found))}, so other machines do not see "
            "locks there",
            _ELSEWHERE,
        )


def mount_of(place: Path, mountinfo: Path = MOUNTS) -> tuple[str, set[str]]:
    """Return the file system type of a folder and its mount options. Both are empty if the system does not tell."""
    try:
        mounts = mountinfo.read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return "", set()
    here = os.path.realpath(place)
    best, kind, options = "", "", set[str]()
    for mount in mounts:
        fields, _, source = mount.partition(" - ")
        point = fields.split(" ", 5)[4]
        if "\\" in point:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
        if len(point) >= len(best) and (here + "/").startswith(point.rstrip("/") + "/"):
            best, kind, options = point, source.split()[0], set(source.split()[-1].split(","))
    return kind, options
