"""A private folder: opened by descriptor, step by step, no symlink followed, with one lock for all its streams.

`stream_file`, `seats` and `projections` work in one; `jsonl` opens them.
"""

import contextlib
import errno
import fcntl
import os
import re
import stat
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from deskmate.errors import StoreCorrupt, StoreUnavailable, UnsafeFolder
from deskmate.stores.files import Files

LOCK = ".lock"
_MARK = struct.Struct("<QQI")
_MARKS = 128
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
# Mount options with which another machine does not see our locks.
_LOCAL_LOCKS = {"nolock", "local_lock=all", "local_lock=flock", "nobrl"}
# Descriptors opened to be locked. A lock lives as long as any copy of its descriptor, and a fork copies them all.
_LOCKS: set[int] = set()


class Folder:
    """One private folder and its lock. Closed by `close`."""

    def __init__(self, path: Path, fd: int, files: Files) -> None:
        self.path, self.fd, self.files = path, fd, files
        self._mutex, self._opening = threading.Lock(), threading.Lock()
        self._lock: int | None = None
        self._process = os.getpid()

    @classmethod
    def of(cls, workspace: Path, parts: tuple[str, ...], files: Files, *, create: bool) -> "Folder":
        """Open (with `create`: make) the folder `parts` below `workspace`; raise UnsafeFolder or FileNotFoundError."""
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

    def below(self, name: str) -> "Folder":
        """Open the folder `name` in this one, making it where it is missing."""
        path = self.path / name
        return Folder(path, _step(self.fd, name, path, self.files, create=True), self.files)

    def open(self, name: str, flags: int) -> int:
        """Open a regular file in this folder; raise StoreCorrupt for anything else of that name."""
        try:
            fd = self.files.open(name, flags, self.fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise self._not_a_file(name) from error
            raise
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise self._not_a_file(name)
        return fd

    def _not_a_file(self, name: str) -> StoreCorrupt:
        return StoreCorrupt(f"{self.path / name} is no regular file; move it away, then start again")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock: one holder among all threads and processes, freed by the kernel if it dies."""
        if os.getpid() != self._process:
            # A forked child shares its parent's lock: both would hold it at once.
            raise StoreUnavailable("this store was opened before a fork; open it again in the new process")
        with self._mutex:
            lock = self._lock_file()
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _lock_file(self) -> int:
        if self._lock is None:
            with self._opening:
                self._lock = self._lock or self._open_lock()
        return self._lock

    def _open_lock(self) -> int:
        """Open the lock file, after showing that a lock there keeps others out."""
        lock = self.open_lock(LOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._keeps_out():
                raise _no_locks(self.path)
            # Opened by a reader too, who would keep every writer waiting.
            fcntl.flock(lock, fcntl.LOCK_UN)
        except BaseException as error:
            close_lock(lock)
            if isinstance(error, OSError) and error.errno in _NO_LOCKS:
                raise _no_locks(self.path) from error
            raise
        return lock

    def open_lock(self, name: str) -> int:
        """Open a file to lock it, for this process alone; `close_lock` closes it."""
        return own_lock(self.open(name, os.O_RDWR | os.O_CREAT))

    def _keeps_out(self) -> bool:
        """Tell whether the lock, which is held, keeps a second one out."""
        second = self.open(LOCK, os.O_RDWR)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(second)
        return False

    # The lock file has room to spare: it tells other processes how far each file is synced, so that a record is synced
    # once, not once by each who reads it. Said only after the sync; a slot overwritten or torn only costs a sync, and
    # so does a disk that is full or mounted read-only.

    def synced(self, inode: int) -> int:
        """Return how many bytes of a file someone has synced, its entry in this folder too; 0 if nobody said."""
        try:
            slot = os.pread(self._lock_file(), _MARK.size, inode % _MARKS * _MARK.size)
        except OSError:
            return 0
        if len(slot) < _MARK.size:
            return 0
        whose, size, check = _MARK.unpack(slot)
        return size if whose == inode and check == crc32(slot[:-4]) else 0

    def tell_synced(self, inode: int, size: int) -> None:
        """Tell other processes that this many bytes of a file, and its entry in this folder, are synced."""
        slot = _MARK.pack(inode, size, 0)[:-4]
        with contextlib.suppress(OSError):
            os.pwrite(self._lock_file(), slot + struct.pack("<I", crc32(slot)), inode % _MARKS * _MARK.size)

    def sync(self) -> None:
        """Return once the entries of this folder outlive a power loss."""
        self.files.sync_folder(self.fd)

    def close(self) -> None:
        """Let go of folder and lock."""
        with self._mutex:
            if self._lock is not None:
                close_lock(self._lock)
                self._lock = None
        os.close(self.fd)


def own_lock(fd: int) -> int:
    """Keep a descriptor that is opened to be locked from forked children; `close_lock` closes it."""
    _LOCKS.add(fd)
    return fd


def close_lock(fd: int) -> None:
    """Close a descriptor opened to be locked; in a forked child it is closed already."""
    if fd in _LOCKS:
        _LOCKS.remove(fd)
        os.close(fd)


def _let_go_in_child() -> None:
    while _LOCKS:
        os.close(_LOCKS.pop())


os.register_at_fork(after_in_child=_let_go_in_child)


def _step(parent: int, name: str, path: Path, files: Files, *, create: bool) -> int:
    """Open one folder below another, private and ours."""
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    # Also where it was there: its maker may not have come to this line yet, or have died before it.
    files.sync_folder(parent)
    try:
        fd = os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise UnsafeFolder(f"{path} is a link or a file, not a folder; move it away, then start again") from error
        raise
    found = os.fstat(fd)
    if found.st_uid != os.geteuid():
        os.close(fd)
        raise UnsafeFolder(f"{path} belongs to user {found.st_uid}, not to you; run as that user, or remove it")
    if found.st_mode & 0o077:
        os.fchmod(fd, 0o700)
    return fd


def _no_locks(path: Path) -> UnsafeFolder:
    return UnsafeFolder(f"locks do not work in {path}; choose a workspace on a local file system")


def refuse_local_locks(workspace: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> None:
    """Raise UnsafeFolder where the mount itself says that other machines do not see its locks."""
    try:
        mounts = mountinfo.read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return
    here = os.path.realpath(workspace)
    best, options = "", set[str]()
    for mount in mounts:
        fields, _, source = mount.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split()[4])
        if len(point) >= len(best) and (here + "/").startswith(point.rstrip("/") + "/"):
            best, options = point, set(source.split()[-1].split(","))
    if found := options & _LOCAL_LOCKS:
        raise UnsafeFolder(
            f"{here} is mounted with {', '.join(sorted(found))}, so other machines do not see locks there; "
            "choose a workspace on a local file system"
        )
