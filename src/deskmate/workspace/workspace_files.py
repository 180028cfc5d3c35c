"""Reading and replacing one file.

A file is checked after it is opened, on the same descriptor: it must be regular, no symlink, and not too large.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from deskmate.core.log.fingerprints import fingerprint
from deskmate.errors import ToolError
from deskmate.fs.safe_files import NotRegular, create_file, read_up_to, regular_file
from deskmate.workspace.paths import Place, resolved

MAX_READ = 16_000_000
# Errors of disks without hard links.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
Listing: TypeAlias = Callable[[str], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def resolved_within(folders: Sequence[Path], root: Path, path: str) -> Iterator[Place]:
    """Yield where a path leads for reading: inside one of these folders if it is the path of a file there, or the root.

    A link in such a folder that leads out of it is not followed. Raises ToolError.
    """
    folder = next((one for one in folders if Path(path).is_relative_to(one) and ".." not in Path(path).parts), None)
    # A link that has replaced the folder since could lead anywhere.
    is_whole = folder is not None and os.path.realpath(folder) == str(folder)
    with (
        resolved(folder, str(Path(path).relative_to(folder))) if folder and is_whole else resolved(root, path) as place
    ):
        yield place


@contextlib.contextmanager
def opened(place: Place) -> Iterator[int]:
    """Keep a regular file open for reading. Raises ToolError for anything else."""
    if not place.rest:
        raise ToolError(f"{place.path} is a folder. Name a file in it: glob lists them.")
    if len(place.rest) > 1:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    with contextlib.ExitStack() as stack:
        try:
            fd = stack.enter_context(regular_file(place.rest[0], place.folder))
        except NotRegular as error:
            if error.errno == errno.ELOOP:
                raise ToolError(f"{place.path} changed while it was opened. Try again.") from error
            raise _special(place) from error
        yield fd


def content(place: Place, most: int = MAX_READ) -> bytes:
    """Return the bytes of a file. Raises ToolError if there are more than `most`."""
    with opened(place) as fd:
        size = os.fstat(fd).st_size
        data = b"" if size > most else read_up_to(fd, most + 1)
    if max(size, len(data)) > most:
        raise ToolError(
            f"{place.path} has {max(size, len(data)):,} bytes, more than the {most:,} that can be read at once. "
            "Use grep, or bash with head or sed, to see a part of it."
        )
    return data


def put(place: Place, data: bytes, known: str | None, listing: Listing) -> None:
    """Replace a file that has the fingerprint `known`, or create one if there is none. Raises ToolError otherwise.

    `listing` keeps the path of the unfinished file on a list until it is finished.
    """
    if not place.rest:
        raise ToolError(f"{place.path} is a folder. Name a file in it.")
    if known is not None and len(place.rest) > 1:
        raise _gone(place)
    while len(place.rest) > 1:
        _make_folder(place)
    temporary = f".deskmate-{secrets.token_hex(8)}"
    with listing("/".join((*place.parts[:-1], temporary))):
        _put(place, data, known, temporary)


def _put(place: Place, data: bytes, known: str | None, temporary: str) -> None:
    try:
        # A user who may not read the old file must not read the new one either, not even for a moment.
        fd = create_file(temporary, 0o666 if known is None else 0o600, place.folder)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if known is None:
                _make(place, temporary)
            else:
                _replace(place, temporary, file.fileno(), known)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=place.folder)


def _make_folder(place: Place) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(place.rest[0], dir_fd=place.folder)
    place.descend(place.rest[0])
    place.rest.pop(0)


def _make(place: Place, temporary: str) -> None:
    """Give a new file its name, unless something has it already."""
    name, folder = place.rest[0], place.folder
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise _unread(place) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with contextlib.suppress(FileNotFoundError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            raise _unread(place) from error
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _replace(place: Place, temporary: str, fd: int, known: str) -> None:
    """Replace the known file by the new one, with the same mode and, if permitted, the same owner."""
    try:
        with opened(place) as standing:
            old = os.fstat(standing)
            same = old.st_size <= MAX_READ and fingerprint(read_up_to(standing, MAX_READ + 1)) == known
    except FileNotFoundError as error:
        raise _gone(place) from error
    if not same:
        raise ToolError(f"{place.path} changed since you read it. Read it again, then make your change.")
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, old.st_mode & 0o777)
    os.rename(temporary, place.rest[0], src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _special(place: Place) -> ToolError:
    return ToolError(f"{place.path} is not a regular file. Only regular files can be read and written.")


def _unread(place: Place) -> ToolError:
    return ToolError(f"{place.path} already exists and you have not read it. Read it first.")


def _gone(place: Place) -> ToolError:
    return ToolError(f"{place.path} no longer exists. Look for it with glob, or write it as a new file.")
