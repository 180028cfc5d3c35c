"""Our own folders below `.teams`: blobs and the list of process groups.

They are private: only this user can read them, and no symlink is followed on the way.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from deskmate.errors import BadName
from deskmate.workspace.paths import FOLDER

TEAMS, TASKS, BLOBS = ".teams", ".tasks", "blobs"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What follows the member's name: the numbers of a call, a background id, or a word with a suffix.
_BLOB = re.compile(r"(?:(?:-[0-9]{1,16}-[0-9]{1,6}){1,9}|-[a-z][0-9a-f]{6}|-[a-z]{1,32}(?=\.))(?:\.[a-z]{1,9})?")


def own_blob(name: str, member: str) -> str:
    """Return the name of a blob that `member` may keep and read. Raises BadName for any other name."""
    if not is_own_blob(name, member):
        raise BadName(f"{ascii(name)[:80]} is not a blob of '{member}'", f"Name it like {member}-12-0.txt.")
    return name


def is_own_blob(name: str, member: str) -> bool:
    """Tell whether a blob belongs to a member. A blob of `bob-x` does not belong to `bob`."""
    return name.startswith(member) and _BLOB.fullmatch(name, len(member)) is not None


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


def read_regular(path: str | Path, most: int, folder: int | None = None) -> bytes:
    """Return the content of a regular file of at most `most` bytes, by its path or by its name in an open folder.

    Raises OSError, with a message for the user, for a link, a pipe, a device, a folder or a larger file. Never blocks.
    """
    try:
        fd = os.open(path, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise OSError(errno.EINVAL, "it is a link or a socket, not an ordinary file", str(path)) from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
        data = _read(fd, most + 1) if found.st_size <= most else b""
    finally:
        os.close(fd)
    if max(found.st_size, len(data)) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data


def _read(fd: int, most: int) -> bytes:
    with open(fd, "rb", closefd=False) as file:
        return file.read(most)


def new_file(folder: int, name: str) -> int:
    """Open an empty file for writing. It replaces anything with the same name."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    return os.open(name, _NEW, 0o600, dir_fd=folder)


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
