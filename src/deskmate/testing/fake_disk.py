"""Files that lose what was not synced at a power loss.

Give one `LosingFiles` to all stores that share a machine. `lose` then cuts the power for all of them.
"""

import errno
import os
import random
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deskmate.fs.disk_calls import Files


@dataclass(slots=True)
class _Kept:
    """What the disk has of one file, and which pages in memory differ from it.

    `dirty` pages are written with the next sync. `dropped` pages are not: their sync failed, and the system counts
    them as written.
    """

    image: bytearray = field(default_factory=bytearray)
    dirty: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Rename:
    """A rename that is not yet synced in its folder, and what the disk had under the new name."""

    folder: int
    old: str
    new: str
    replaced: bytes | None


class LosingFiles(Files):
    """Write below `root`, remember what was synced, and sometimes fail writes and syncs.

    Files that exist at the start count as synced. After the power loss every call fails, because no process is left.
    """

    def __init__(
        self, root: Path, chance: random.Random, *, page: int = 64, short_writes: float = 0, failed_syncs: float = 0
    ) -> None:
        self._root, self._chance, self._page = root, chance, page
        self._short_writes, self._failed_syncs = short_writes, failed_syncs
        self._mutex = threading.Lock()
        self._powered = True
        self._files: dict[int, _Kept] = {}
        self._entries: dict[int, set[str]] = {}
        self._renames: list[_Rename] = []
        for folder, entries in _folders(root):
            self._entries[os.stat(folder).st_ino] = {entry.name for entry in entries}
            for path in _files(entries):
                self._files[os.stat(path).st_ino] = _Kept(bytearray(Path(path).read_bytes()))

    # -- what a store calls -----------------------------------------------------------------------

    def open(self, name: str, flags: int, folder: int) -> int:
        """Open the real file."""
        self._need_power()
        return super().open(name, flags, folder)

    def write(self, fd: int, data: bytes) -> int:
        """Append to the real file, sometimes only a part."""
        with self._mutex:
            self._need_power()
            short = self._chance.random() < self._short_writes
            taken = super().write(fd, data[: self._chance.randrange(len(data))] if short else data)
            end = os.fstat(fd).st_size
            self._touch(fd, end - taken, end)
            return taken

    def rewrite(self, fd: int, data: bytes, offset: int) -> int:
        """Write in place in the real file."""
        with self._mutex:
            self._need_power()
            taken = super().rewrite(fd, data, offset)
            self._touch(fd, offset, offset + taken)
            return taken

    def sync(self, fd: int) -> None:
        """Write the dirty pages to the disk, or fail and drop them."""
        with self._mutex:
            self._need_power()
            kept = self._kept(fd)
            if self._chance.random() < self._failed_syncs:
                kept.dropped |= kept.dirty
                kept.dirty = set()
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self._put_down(fd, kept)

    def sync_folder(self, folder: int) -> None:
        """Write the folder's entries to the disk, or fail."""
        with self._mutex:
            self._need_power()
            if self._chance.random() < self._failed_syncs:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            inode = os.fstat(folder).st_ino
            self._entries[inode] = set(os.listdir(folder))
            self._renames = [rename for rename in self._renames if rename.folder != inode]

    def rename(self, old: str, new: str, folder: int) -> None:
        """Rename the real file."""
        with self._mutex:
            self._need_power()
            replaced = self._image_of(new, folder)
            super().rename(old, new, folder)
            self._renames.append(_Rename(os.fstat(folder).st_ino, old, new, replaced))

    def _need_power(self) -> None:
        if not self._powered:
            raise OSError(errno.EIO, "the power is gone")

    def _kept(self, fd: int) -> _Kept:
        return self._files.setdefault(os.fstat(fd).st_ino, _Kept())

    def _touch(self, fd: int, begin: int, end: int) -> None:
        kept = self._kept(fd)
        pages = range(begin // self._page, -(-end // self._page))
        kept.dirty.update(pages)
        kept.dropped.difference_update(pages)

    def _put_down(self, fd: int, kept: _Kept) -> None:
        size = os.fstat(fd).st_size
        del kept.image[size:]
        kept.image.extend(bytes(size - len(kept.image)))
        for page in kept.dirty:
            begin = page * self._page
            data = os.pread(fd, self._page, begin)
            kept.image[begin : begin + len(data)] = data
        kept.dirty = set()

    def _image_of(self, name: str, folder: int) -> bytes | None:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return bytes(self._files.setdefault(found.st_ino, _Kept()).image)

    # -- the power --------------------------------------------------------------------------------

    def lose(self) -> "LosingFiles":
        """Lose power, and leave below `root` what a disk might have. Return the files of the restarted machine."""
        with self._mutex:
            self._need_power()
            self._powered = False
            self._undo_renames()
            found = list(_folders(self._root))
            for _, entries in found:
                for path in _files(entries):
                    self._spoil(Path(path))
            for folder, _ in found:
                self._forget_entries(Path(folder))
        return type(self)(
            self._root,
            self._chance,
            page=self._page,
            short_writes=self._short_writes,
            failed_syncs=self._failed_syncs,
        )

    def _undo_renames(self) -> None:
        if not self._renames:
            return
        folders = {os.stat(folder).st_ino: Path(folder) for folder, _ in _folders(self._root)}
        # Undo a rename only together with those after it: a journal keeps their order.
        while self._renames and self._chance.random() < 0.5:
            rename = self._renames.pop()
            old, new = (folders[rename.folder] / name for name in (rename.old, rename.new))
            os.rename(new, old)
            if rename.replaced is not None:
                new.write_bytes(rename.replaced)
                self._files[new.stat().st_ino] = _Kept(bytearray(rename.replaced))

    def _spoil(self, path: Path) -> None:
        """Keep what was synced of a file, and replace the rest with anything."""
        data = path.read_bytes()
        kept = self._files.get(path.stat().st_ino, _Kept())
        size = self._chance.randint(min(len(kept.image), len(data)), len(data))
        left = bytearray(data[:size])
        for page in kept.dirty | kept.dropped:
            begin, end = page * self._page, (page + 1) * self._page
            left[begin:end] = self._spoiled(bytes(kept.image[begin:end]), bytes(left[begin:end]))
        with path.open("r+b") as file:
            file.write(left)
            file.truncate()

    def _spoiled(self, old: bytes, new: bytes) -> bytes:
        """Return a page as it was, as it should be, or a mix of both."""
        before = old[: len(new)].ljust(len(new), b"\0")
        cut = self._chance.randint(0, len(new))
        garbage = old[: len(new)] + self._chance.randbytes(max(0, len(new) - len(old)))
        return self._chance.choice([new, before, new[:cut] + before[cut:], garbage])

    def _forget_entries(self, folder: Path) -> None:
        if not folder.exists():
            return
        known = self._entries.get(folder.stat().st_ino, set())
        for name in sorted(set(os.listdir(folder)) - known):
            if self._chance.random() < 0.5:
                path = folder / name
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _folders(root: str | Path) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield `root` and every folder below it, each with its entries by name. Symlinks are not followed."""
    with os.scandir(root) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    yield str(root), entries
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _folders(entry.path)


def _files(entries: list[os.DirEntry[str]]) -> list[str]:
    return [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
