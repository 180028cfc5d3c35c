"""Unsafe names in the lists that git writes.

These are the index, and `MERGE_RR`, the list of conflicts whose resolution git should remember. If one names a path
outside the checkout, or in git's own folder, the index is set aside and the list of conflicts is removed.
"""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from deskmate.core.values import frozen
from deskmate.fs.safe_files import open_folder, read_regular
from deskmate.workspace.git.git_index import Contents, contents, hash_size, is_unsafe, read_index
from deskmate.workspace.git.repositories import GIT, GitFolder, submodules
from deskmate.workspace.paths import is_ours, shown

INDEX, CONFLICTS, ASIDE = "index", "MERGE_RR", "deskmate-removed"
_MAX_INDEX, _MAX_SMALL, _MAX_WORKTREES, _MAX_CACHED = 100_000_000, 1_000_000, 100, 200
# A clock may be this coarse: an index that changed later could change again and keep the same time.
_SETTLED_NANOSECONDS = 3_000_000_000
_WORKTREE = re.compile(rb"^\s*worktree\s*=\s*([^\0\n]+?)\s*$", re.MULTILINE | re.IGNORECASE)
_Stamp: TypeAlias = tuple[int, ...]
_CACHE: dict[str, tuple[_Stamp, Contents]] = {}


@frozen
class _Place:
    """A folder with an index. `common`: where the settings of its repository are. `top`: its checkout, if known."""

    folder: Path
    common: Path
    top: Path | None


class Lists:
    """The lists of one repository while one command runs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._unread = dict[Path, _Stamp]()

    def before(self, git: GitFolder) -> list[str]:
        """Remove unsafe lists, and remember which cannot be read. Return a sentence for each that was removed."""
        told = list[str]()
        for place in _places(self._root, git):
            try:
                told += _without_conflicts(place)
                told += _without_index(place)
            except OSError:
                self._unread[place.folder] = _stamp(place.folder / INDEX)
        return told

    def during(self, git: GitFolder) -> list[str]:
        """Remove unsafe lists of this checkout and its repository. Return a sentence for each."""
        told = list[str]()
        for place in _own_places(self._root, git):
            # What cannot be read is reported at the end.
            with contextlib.suppress(OSError):
                told += _without_conflicts(place)
                told += _without_index(place)
        return told

    def after(self, git: GitFolder) -> list[str]:
        """Remove unsafe lists, and those that can no longer be read. Return a sentence for each."""
        told = list[str]()
        for place in _places(self._root, git):
            try:
                told += _without_conflicts(place)
                told += _without_index(place)
            except OSError as error:
                index = place.folder / INDEX
                if place.folder not in self._unread:
                    told.append(_set_aside(index, f"cannot be checked: {error.strerror}"))
                elif self._unread[place.folder] != _stamp(index):
                    told.append(
                        f"{shown(str(index))} was changed and cannot be checked: {error.strerror}. "
                        "Before you use git here, write it again with: git read-tree HEAD"
                    )
        return told


def linked(git: GitFolder) -> frozenset[str]:
    """Return the repositories that the index of a checkout names, or none if it cannot be read."""
    try:
        parts = _parts(_Place(git.checkout, git.path, None))
    except OSError:
        return frozenset()
    return frozenset(os.fsdecode(name) or "an entry of a split index" for part in parts for name in part.gitlinks)


def _places(root: Path, git: GitFolder) -> Iterator[_Place]:
    """Yield every folder of a repository that may have an index: of checkouts and of submodules."""
    yield from _own_places(root, git)
    with contextlib.suppress(OSError), os.scandir(git.path / "worktrees") as entries:
        for entry in islice(entries, _MAX_WORKTREES):
            folder = Path(entry.path)
            if entry.is_dir(follow_symlinks=False) and folder != git.checkout:
                yield _Place(folder, git.path, _top_of(folder))
    for module in submodules(git.path) or ():
        yield _Place(module, module, _top_of(module))


def _own_places(root: Path, git: GitFolder) -> list[_Place]:
    own = _Place(git.checkout, git.path, root)
    return [own] if git.path == git.checkout else [own, _Place(git.path, git.path, _top_of(git.path))]


def _top_of(folder: Path) -> Path | None:
    """Return the checkout of a git folder, according to its own files, or None."""
    if folder.name == GIT:
        return folder.parent
    with contextlib.suppress(OSError):
        if folder.parent.name == "worktrees":
            named = read_regular(folder / "gitdir", _MAX_SMALL).partition(b"\0")[0]
            return (folder / os.fsdecode(named).strip()).parent
        if found := _WORKTREE.search(read_regular(folder / "config", _MAX_SMALL)):
            return folder / os.fsdecode(found[1])
    return None


def _without_conflicts(place: _Place) -> list[str]:
    """Remove a list of conflicts that has an unsafe path. Return a sentence about it."""
    if (path := _unsafe_conflict(place)) is None:
        return []
    conflicts = place.folder / CONFLICTS
    what = f"{shown(str(conflicts))}, which named {shown(path)}: git would have copied that file into its folder"
    return [f"removed {what}." if _remove(conflicts) else f"could not remove {what}. Remove it before you use git."]


def _without_index(place: _Place) -> list[str]:
    """Set aside an index with an unsafe name. Return a sentence about it. Raises OSError if it cannot be read."""
    for part in _parts(place):
        if part.unsafe is not None:
            name = shown(os.fsdecode(part.unsafe)) or "a file without a name"
            return [_set_aside(place.folder / INDEX, f"names {name}")]
    return []


def _parts(place: _Place) -> list[Contents]:
    """Return the contents of an index, and of the files it continues in."""
    first = _contents(place, INDEX)
    return [first, *(_contents(place, name) for name in sorted(first.shared))]


def _contents(place: _Place, name: str) -> Contents:
    """Return the contents of an index. It is read again only if it has changed."""
    file = place.folder / name
    stamp = _stamp(file)
    known = _CACHE.get(str(file))
    if known and known[0] == stamp:
        return known[1]
    found = contents(read_index(place.folder, name, _MAX_INDEX), hash_size(place.common))
    if stamp and stamp[-1] < time.time_ns() - _SETTLED_NANOSECONDS and len(_CACHE) < _MAX_CACHED:
        _CACHE[str(file)] = stamp, found
    else:
        _CACHE.pop(str(file), None)
    return found


def _stamp(file: Path) -> _Stamp:
    """Return what shows that a file is unchanged. Only the kernel can set the last value."""
    try:
        found = os.lstat(file)
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _set_aside(index: Path, why: str) -> str:
    """Rename an index, so that git does not read it. Return a sentence about it."""
    aside = f"{index.name}.{ASIDE}"
    try:
        with open_folder(index.parent) as folder:
            if os.path.lexists(index.with_name(aside)):
                aside += f"-{secrets.token_hex(4)}"
            os.rename(index.name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        return f"{shown(str(index))} {why}, and could not be renamed: {error.strerror}. Remove it before you use git."
    return (
        f"{shown(str(index))} {why}, and git could write or delete files there. It was renamed to {aside}. "
        "Make a new one with: git reset"
    )


def _unsafe_conflict(place: _Place) -> str | None:
    """Return the first path in a list of conflicts that is not a file of the checkout, or None."""
    try:
        listed = read_regular(place.folder / CONFLICTS, _MAX_SMALL)
    except FileNotFoundError:
        return None
    except OSError:
        return "what cannot be read"
    paths = (line.partition(b"\t")[2] for line in listed.split(b"\0") if line)
    return next((os.fsdecode(path) for path in paths if not _is_file_of(place.top, path)), None)


def _is_file_of(top: Path | None, path: bytes) -> bool:
    text = os.fsdecode(path)
    if top is None or is_unsafe(path) or is_ours(text.partition("/")[0]):
        return False
    # Git never has a conflict in a symlink or behind one.
    whole = os.path.realpath(top)
    return os.path.realpath(f"{whole}/{text}") == f"{whole}/{text}"


def _remove(file: Path) -> bool:
    try:
        with open_folder(file.parent) as folder:
            os.unlink(file.name, dir_fd=folder)
    except OSError:
        return False
    return True
