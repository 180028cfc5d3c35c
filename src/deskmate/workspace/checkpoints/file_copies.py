"""The files of a folder, read and written by descriptor. No symlink is followed."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.fs.safe_files import FOLDER, NotRegular, new_file, read_up_to, regular_file
from deskmate.workspace.checkpoints.points import MOST_FILE_BYTES
from deskmate.workspace.paths import is_ours

# What programs make again by themselves. There is no git here to say what to ignore.
IGNORED = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".cache"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
MOST_FILES, MOST_BYTES = 20_000, 500_000_000
# Files that a restore has not finished. They are never saved.
_UNFINISHED = ".deskmate-"


@frozen
class FoundFile:
    """A regular file or symlink. `folder`: the open folder that it is in, while it is being looked at."""

    path: str
    folder: int
    status: os.stat_result

    @property
    def name(self) -> str:
        """Its name in the folder."""
        return os.path.basename(self.path)

    @property
    def is_link(self) -> bool:
        """Whether it is a symlink."""
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be saved."""
        return not self.is_link and self.status.st_size > MOST_FILE_BYTES

    def read(self) -> bytes | None:
        """Return its content, for a symlink its target. None if it cannot be read, is gone or has grown too large."""
        try:
            if self.is_link:
                return os.fsencode(os.readlink(self.name, dir_fd=self.folder))
            with regular_file(self.name, self.folder) as fd:
                data = read_up_to(fd, MOST_FILE_BYTES + 1)
        except (OSError, NotRegular):
            return None
        return data if len(data) <= MOST_FILE_BYTES else None


def read_file(root: Path, path: str) -> bytes | None:
    """Return the content of a file, for a symlink its target. None if it cannot be read or is too large."""
    above, _, name = path.rpartition("/")
    try:
        with _folder(root, above) as fd:
            found = FoundFile(path, fd, os.lstat(name, dir_fd=fd))
            return None if found.is_large else found.read()
    except OSError:
        return None


def has_file(root: Path, path: str) -> bool:
    """Tell whether there is anything but a folder at a path. No symlink is followed."""
    above, _, name = path.rpartition("/")
    try:
        with _folder(root, above) as fd:
            return not stat.S_ISDIR(os.lstat(name, dir_fd=fd).st_mode)
    except OSError:
        return False


def files_below(root: Path, state: Path) -> Iterator[FoundFile]:
    """Yield the files of a workspace in no order, without those in IGNORED and Deskmate's own.

    `state`: the folder of Deskmate's own data, which is below the root if somebody works in their home folder. Raises
    ToolError before the first file if there are too many to copy.
    """
    _refuse_too_many(root, state)
    yield from _walk(root, state)


def _refuse_too_many(root: Path, state: Path) -> None:
    count = size = 0
    for found in _walk(root, state):
        count, size = count + 1, size + (0 if found.is_large else found.status.st_size)
        if count > MOST_FILES or size > MOST_BYTES:
            raise ToolError(
                f"{root} has more than {MOST_FILES:,} files or {MOST_BYTES // 1_000_000} MB and is not a git "
                "repository. Run: git init"
            )


def _walk(root: Path, state: Path) -> Iterator[FoundFile]:
    todo, ours = [""], os.path.relpath(os.path.realpath(state), root)
    while todo:
        prefix = todo.pop()
        # A folder that is gone by now, or that nobody may read, has nothing to save.
        with contextlib.suppress(OSError), _folder(root, prefix) as fd:
            for name in os.listdir(fd):
                if name in IGNORED or name.startswith(_UNFINISHED) or (not prefix and is_ours(name)):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    status = os.lstat(name, dir_fd=fd)
                    if stat.S_ISDIR(status.st_mode) and f"{prefix}{name}" != ours:
                        todo.append(f"{prefix}{name}/")
                    elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                        yield FoundFile(f"{prefix}{name}", fd, status)


@contextlib.contextmanager
def _folder(root: Path, path: str, *, create: bool = False) -> Iterator[int]:
    """Open a folder below the root by its path, and create it if wanted. Raises OSError for a symlink."""
    fd = os.open(root, FOLDER)
    try:
        for part in filter(None, path.split("/")):
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            below = os.open(part, FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def write_file(root: Path, path: str, data: bytes, mode: int, *, is_link: bool) -> None:
    """Replace a file or symlink as a whole.

    Raises OSError if that is not possible, for example because a folder has this name, or a file that of its folder.
    """
    above, _, name = path.rpartition("/")
    # The same name each time: if this is killed, the next try removes what is left.
    unfinished = f"{_UNFINISHED}{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    with _folder(root, above, create=True) as folder:
        if is_link:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished, dir_fd=folder)
            os.symlink(os.fsdecode(data), unfinished, dir_fd=folder)
        else:
            with os.fdopen(new_file(folder, unfinished), "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
        try:
            os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(unfinished, dir_fd=folder)
            raise


def remove_file(root: Path, path: str) -> None:
    """Remove a file, and the folders that are empty after that. Raises OSError if it cannot be removed."""
    above, _, name = path.rpartition("/")
    with contextlib.suppress(FileNotFoundError), _folder(root, above) as fd:
        os.unlink(name, dir_fd=fd)
    parts = above.split("/") if above else []
    # Folders that still have something stay.
    with contextlib.suppress(OSError):
        while parts:
            with _folder(root, "/".join(parts[:-1])) as fd:
                os.rmdir(parts.pop(), dir_fd=fd)
