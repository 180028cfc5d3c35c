"""Files opened safely: regular files only, no link followed, bounded, replaced as a whole.

Whatever is at a path may have been put there by somebody else, and may change at any time. So a file is checked after
it is opened, on the same descriptor. Nothing here ever waits for a pipe or a device.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# What the kernel answers for a link, a socket, and a folder that is opened for writing.
_SPECIAL = {errno.ELOOP, errno.ENXIO, errno.EISDIR}
# More than any of our small files has: a key, a signature, a mark.
_SMALL = 4096


class NotRegular(OSError):
    """There is something else than a regular file. Its `errno` is ELOOP if that is a link."""


# -- reading --------------------------------------------------------------------------------------


def open_regular(open_: Callable[[], int], path: str | Path) -> int:
    """Return the descriptor that `open_` returns, if it is of a regular file. Raises NotRegular otherwise."""
    try:
        fd = open_()
    except OSError as error:
        if error.errno not in _SPECIAL:
            raise
        raise NotRegular(error.errno, "it is a link or a socket, not an ordinary file", str(path)) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotRegular(errno.EINVAL, "it is not an ordinary file", str(path))
    return fd


def read_between(fd: int, begin: int, end: int) -> bytes:
    """Return the bytes of an open file between two offsets, fewer if it ends before."""
    parts = []
    while begin < end and (part := os.pread(fd, end - begin, begin)):
        parts.append(part)
        begin += len(part)
    return b"".join(parts)


@contextlib.contextmanager
def regular_file(path: str | Path, folder: int | None = None) -> Iterator[int]:
    """Keep a regular file open for reading, by its path or by its name in an open folder. Raises NotRegular."""
    fd = open_regular(lambda: os.open(path, _READ, dir_fd=folder), path)
    try:
        yield fd
    finally:
        os.close(fd)


def read_regular(path: str | Path, most: int, folder: int | None = None) -> bytes:
    """Return the content of a regular file of at most `most` bytes, by its path or by its name in an open folder.

    Raises OSError, with a message for the user, for a link, a pipe, a device, a folder or a larger file.
    """
    with regular_file(path, folder) as fd:
        size = os.fstat(fd).st_size
        data = read_up_to(fd, most + 1) if size <= most else b""
    if max(size, len(data)) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data


def read_up_to(fd: int, most: int) -> bytes:
    """Return at most that many bytes of an open file."""
    data = bytearray()
    while len(data) < most and (more := os.read(fd, min(most - len(data), 1 << 20))):
        data += more
    return bytes(data)


def read_end(path: str | Path, most: int) -> bytes:
    """Return the last `most` bytes of a regular file, or all of a smaller one. Raises NotRegular."""
    with regular_file(path) as fd:
        os.lseek(fd, max(0, os.fstat(fd).st_size - most), os.SEEK_SET)
        return read_up_to(fd, most)


def small_file(path: Path) -> bytes:
    """Return the content of one of our small files, empty if it does not exist or cannot be read."""
    try:
        return read_regular(path, _SMALL)
    except OSError:
        return b""


# -- folders --------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_folder(path: str | Path) -> Iterator[int]:
    """Keep a folder open. Raises OSError if it is a link or not a folder."""
    fd = os.open(path, FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def private_folder(root: Path, *parts: str) -> Iterator[int]:
    """Keep a private folder open, and create it if it is missing. Raises OSError if something else is there."""
    fd = os.open(root, FOLDER)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=fd)
            below = os.open(part, FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
            if os.fstat(fd).st_mode & 0o077:
                os.fchmod(fd, 0o700)
        yield fd
    finally:
        os.close(fd)


# -- writing --------------------------------------------------------------------------------------


def create_file(path: str | Path, mode: int = 0o600, folder: int | None = None) -> int:
    """Create a file and open it for writing. Raises FileExistsError if anything has that name, also a link."""
    return os.open(path, _NEW, mode, dir_fd=folder)


def new_file(folder: int, name: str) -> int:
    """Open an empty file for writing. It replaces anything with the same name."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    return create_file(name, folder=folder)


def replace_file(folder: int, name: str, data: bytes) -> None:
    """Write a file atomically: all of it or nothing."""
    temporary = f".{secrets.token_hex(8)}"
    try:
        with os.fdopen(new_file(folder, temporary), "wb") as file:
            file.write(data)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def append_private(path: Path, data: bytes) -> None:
    """Append to a file, and make it readable for this user only. Creates it and its folders. Raises NotRegular."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(open_regular(lambda: os.open(path, _APPEND, 0o600), path), "ab") as file:
        # First, because the file may exist and others may read it.
        os.fchmod(file.fileno(), 0o600)
        file.write(data)


def append_file(path: Path, data: bytes) -> None:
    """Append to a file of the user, which others may read. Creates it, but not its folder. Raises NotRegular."""
    with os.fdopen(open_regular(lambda: os.open(path, _APPEND, 0o666), path), "ab") as file:
        file.write(data)


@contextlib.contextmanager
def file_lock(folder: int, name: str) -> Iterator[None]:
    """Hold the lock of a file in an open folder, exclusive among all processes. Creates the file. Waits."""
    fd = open_regular(lambda: os.open(name, _LOCK, 0o600, dir_fd=folder), name)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
