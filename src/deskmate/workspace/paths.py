"""Paths followed one descriptor at a time, never out of the root.

Every folder is opened by name in its parent folder, never through a symlink. Symlinks are read and followed here. The
descriptor that was checked is the one that is used.
"""

import errno
import hashlib
import os
import re
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from deskmate.errors import ToolError
from deskmate.fs.safe_files import FOLDER

OURS = frozenset({".teams", ".tasks"})
MAX_LINKS = 40
MAX_PATH = 4096
Identity: TypeAlias = tuple[int, int]
_NO_FOLDER = {errno.ENOTDIR, errno.ELOOP}


class Outside(ToolError):
    """A path that leads out of the workspace."""


def shown(path: str) -> str:
    """Return a path for a message: bounded, with unprintable characters replaced."""
    return "".join(char if char.isprintable() else "?" for char in path[:200])


def plain(name: str) -> str:
    """Return a name as a disk may read it that ignores case, spelling, dots at the end, and what follows a colon."""
    seen = (char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return "".join(seen).casefold().partition(":")[0].rstrip(". ")


def workspace_key(workspace: Path) -> str:
    """Return the name of a workspace in Deskmate's own folders."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", workspace.name)[:40] or "workspace"
    return f"{name}-{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:8]}"


def is_ours(name: str) -> bool:
    """Tell whether an entry of the root would be one of our folders, on any disk."""
    return plain(name) in OURS


class Place:
    """Where a path leads: its last existing folder, kept open, and the names that are left.

    `rest` is empty for a folder. One name is a file, something special, or does not exist yet. If there are more, the
    first is not a folder.
    """

    def __init__(self, root: Path, path: str) -> None:
        self.path = shown(path)
        self.rest: list[str] = []
        self.root = root
        self._names: list[str] = []
        self._folders = [os.open(root, FOLDER)]
        self._above = 0
        self._links = 0

    @property
    def folder(self) -> int:
        """The descriptor of the last existing folder."""
        return self._folders[-1]

    @property
    def parts(self) -> tuple[str, ...]:
        """The whole resolved path, relative to the root."""
        return (*self._names, *self.rest)

    @property
    def ours(self) -> bool:
        """Whether it is in one of our folders, by any name."""
        if self.parts and is_ours(self.parts[0]):
            return True
        return self.passes({_identity(name, self._folders[0]) for name in OURS})

    def passes(self, some: Collection[Identity | None]) -> bool:
        """Tell whether the path passes through one of these folders or files, by any name."""
        last = _identity(self.rest[0], self.folder) if self.rest else None
        way = {(found.st_dev, found.st_ino) for found in map(os.fstat, self._folders)}
        return not (way | ({last} - {None})).isdisjoint(some)

    def follow(self, path: str) -> None:
        """Follow a path. Raises Outside if it leaves the root, and ToolError if it cannot be followed."""
        if len(path) > MAX_PATH or "\0" in path:
            raise ToolError(f"{self.path} is not a path. Use at most {MAX_PATH:,} characters, and no zero byte.")
        todo = self._begin(path)
        while todo:
            match todo.pop():
                case "" | ".":
                    pass
                case "..":
                    self._up()
                case name if self._above:
                    self._back(name)
                case name if self.rest:
                    self.rest.append(name)
                case name:
                    todo += self._down(name)
        if self._above:
            raise self._outside()

    def descend(self, name: str) -> None:
        """Enter a subfolder. Raises OSError if it is not a folder."""
        self._folders.append(os.open(name, FOLDER, dir_fd=self.folder))
        self._names.append(name)

    def close(self) -> None:
        """Close every folder."""
        while self._folders:
            os.close(self._folders.pop())

    def _begin(self, path: str) -> list[str]:
        """Return the parts of a path in reverse. An absolute path starts at the top, above the root."""
        if path.startswith("/"):
            self._above = len(self.root.parts) - 1
            while self._names:
                self._leave()
        return path.split("/")[::-1]

    def _up(self) -> None:
        if self.rest:
            self.rest.pop()
        elif self._names:
            self._leave()
        else:
            self._above = min(self._above + 1, len(self.root.parts) - 1)

    def _leave(self) -> None:
        self._names.pop()
        os.close(self._folders.pop())

    def _back(self, name: str) -> None:
        """Go down towards the root again. Above it, only the names of its own path are known not to be symlinks."""
        if name != self.root.parts[-self._above]:
            raise self._outside()
        self._above -= 1

    def _down(self, name: str) -> list[str]:
        """Go one name down. If it is a symlink, return the parts to follow instead."""
        try:
            self.descend(name)
        except FileNotFoundError:
            self.rest.append(name)
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                raise
            return self._read_link(name)
        return []

    def _read_link(self, name: str) -> list[str]:
        try:
            target = os.readlink(name, dir_fd=self.folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise
            self.rest.append(name)
            return []
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolError(f"{self.path} leads through more than {MAX_LINKS} links. Name the file itself.")
        return self._begin(target)

    def _outside(self) -> Outside:
        return Outside(f"{self.path} is outside the workspace. Use a path inside {shown(str(self.root))}.")


def _identity(name: str, folder: int) -> Identity | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def resolved(root: Path, path: str) -> Iterator[Place]:
    """Yield where a path leads, with its folder open. Raises ToolError, naming the path, also for later disk errors."""
    with telling(path):
        place = Place(root, path)
        try:
            place.follow(path)
            yield place
        finally:
            place.close()


@contextmanager
def telling(path: str) -> Iterator[None]:
    """Turn disk errors into messages for the model."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolError(f"{shown(path)} does not exist. Look for it with glob.") from error
    except UnicodeEncodeError as error:
        raise ToolError(f"{shown(path)} is not a path: it has characters that no file name can have.") from error
    except OSError as error:
        raise ToolError(f"{shown(path)} cannot be used: {error.strerror}. Try another path.") from error
