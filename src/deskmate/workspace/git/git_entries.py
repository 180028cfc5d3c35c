"""Links, special files and locks in git's folder.

Git opens many of its files in place and follows links, so a link there makes the user's git write somewhere else.
Nothing here follows a link. `git_watch` decides which entries may stay.
"""

import contextlib
import errno
import os
import stat
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from deskmate.core.values import frozen
from deskmate.fs.safe_files import FOLDER, read_regular
from deskmate.workspace.paths import OURS, shown

_HOLD = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_TO_OWNER = 0o700
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM}
# Refs, nested submodules and their logs stay far below this. Each level keeps a descriptor open.
_MAX_DEPTH = 64
# A clock may be this coarse: a folder that changed later could change again and keep the same time.
_SETTLED_NANOSECONDS = 3_000_000_000
_MAX_CACHED = 20_000
# Emacs marks a file that it edits with such a link. Its target is a user and machine name. Git never opens one.
_EDITOR_LOCK = ".#"
_MAX_SHOWN = 5
# A scan reports at most this many. If there are more, they are removed in several rounds.
MAX_LOCKS, MAX_ENTRIES = 100, 100_000
_MAX_HEAD = 4096
# Where the merge queue moves the branches of teams, at any moment. It removes a lock that a killed git left there.
_OF_TEAMS = ("refs/heads/deskmate/", "refs/deskmate/")
_HOOKS, _REPOSITORY = "hooks", frozenset({"objects", "refs"})
# Git's own folders, and the files that it opens in place. The user's git would write through these at once.
_OPENED_FOLDERS = ("info", "logs", "logs/refs", "logs/refs/heads", "objects", "objects/info", "objects/pack", "refs")
# fmt: off
_OPENED = (
    "HEAD", "index", "config", "packed-refs", "shallow", "description", "COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD",
    "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD",
    "BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS", "TAG_EDITMSG", "NOTES_EDITMSG", "EDIT_DESCRIPTION",
    "ADD_EDIT.patch", "addp-hunk-edit.diff", "gc.log", "gc.pid", "index.lock", "HEAD.lock", "config.lock",
    "packed-refs.lock", "rebase-merge", "rebase-apply", "sequencer", "rr-cache", "modules", "lfs", "refs/heads",
    "refs/remotes", "refs/tags", "refs/stash", "logs/HEAD", "logs/refs/remotes", "logs/refs/stash", "info/exclude",
    "info/attributes", "info/refs", "info/sparse-checkout", "rebase-merge/git-rebase-todo", "rebase-merge/message",
    "sequencer/todo", *_OPENED_FOLDERS,
)
# fmt: on


class EntryKind(StrEnum):
    """The kind of an entry that is neither a folder nor a regular file. Lock files count too."""

    LINK = "symbolic link"
    PIPE = "named pipe"
    SOCKET = "socket"
    DEVICE = "device"
    LOCK = "lock file"
    DEEP = "folder too deep to look into"


class Entry(NamedTuple):
    """One such entry. `target`: the target of a link, as written in it."""

    kind: str
    target: str = ""


# By path, relative to git's folder. The empty path is that folder itself.
Entries: TypeAlias = dict[str, Entry]


@dataclass(slots=True)
class Size:
    """How much a scan looked at: folders, and the number of entries in them."""

    folders: int = 0
    entries: int = 0


@frozen
class _Listing:
    """The content of a folder at the time when it had this identity and change time."""

    stamp: tuple[int, int, int]
    entries: Mapping[str, Entry]
    folders: tuple[str, ...]
    count: int


_CACHE: dict[str, _Listing] = {}
_SIZES: dict[str, Size] = {}


@dataclass(slots=True)
class _Scan:
    """One scan of git's folder `top`. `settled`: a folder that changed before this time may be cached."""

    top: str
    settled: int
    found: Entries
    size: Size
    locks: int = 0

    def add(self, prefix: str, entries: Mapping[str, Entry]) -> None:
        for name, entry in entries.items():
            if entry.kind == EntryKind.LOCK:
                if prefix.startswith(_OF_TEAMS):
                    continue
                self.locks += 1
                if self.locks > MAX_LOCKS:
                    continue
            if len(self.found) < MAX_ENTRIES:
                self.found[f"{prefix}{name}"] = entry

    def is_passed_over(self, prefix: str, name: str, beside: Set[str]) -> bool:
        """Tell whether to skip a folder. Git writes no hooks, and users keep links to shared hooks there."""
        if name == _HOOKS and beside >= _REPOSITORY:
            return not prefix or prefix.startswith("modules/")
        # The records of a team that works in a bare repository. No command can reach them.
        return not prefix and name in OURS and os.path.basename(self.top) != ".git"


def size_of(folder: str) -> Size:
    """Return how much the last scan of git's folder looked at."""
    return _SIZES.get(folder, Size())


def scan(folder: str, now: int | None = None) -> Entries:
    """Return such entries of git's folder, at any depth. Raises OSError if it cannot be read.

    It stops at MAX_LOCKS lock files and MAX_ENTRIES in all.

    A folder that has not changed since the last scan is not listed again. Only the kernel sets the change time that
    this relies on. `now` is in nanoseconds.
    """
    if os.path.islink(folder):
        return {"": Entry(EntryKind.LINK, os.readlink(folder))}
    one = _Scan(folder, (now or time.time_ns()) - _SETTLED_NANOSECONDS, {}, Size())
    with _opened(folder) as fd:
        if fd is not None:
            _walk(fd, "", one)
    _SIZES[folder] = one.size
    return one.found


def glance(folder: str) -> Entries:
    """Return such entries among the fixed names that git opens in place. It is quick, however large the folder is."""
    found: Entries = {}
    for name in (*_OPENED, *_log_of_branch(folder)):
        path = f"{folder}/{name}"
        # A missing file is fine. What is behind a link is not in git's folder, and the link itself is found.
        with contextlib.suppress(OSError):
            mode = os.lstat(path).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                found[name] = _entry(path, None)
    above = {path for path, entry in found.items() if entry.kind == EntryKind.LINK}
    return {path: entry for path, entry in found.items() if not any(path.startswith(f"{one}/") for one in above)}


def _log_of_branch(folder: str) -> Iterator[str]:
    """Yield the log of the current branch, which git appends to in place, and the folders above it."""
    with contextlib.suppress(OSError, ValueError):
        head = os.fsdecode(read_regular(f"{folder}/HEAD", _MAX_HEAD)).strip()
        if head.startswith("ref: refs/") and ".." not in head:
            parts = head.removeprefix("ref: ").split("/")
            yield from ("/".join(["logs", *parts[:depth]]) for depth in range(2, len(parts) + 1))


def _walk(fd: int, prefix: str, one: _Scan) -> None:
    listing = _listed(fd, f"{one.top}/{prefix}", one.settled)
    one.size.folders += 1
    one.size.entries += listing.count
    one.add(prefix, listing.entries)
    beside = _REPOSITORY.intersection(listing.folders)
    for name in listing.folders:
        below = f"{prefix}{name}/"
        known = _CACHE.get(f"{one.top}/{below}")
        if known and not known.folders and _stamp_below(name, fd) == known.stamp:
            one.size.folders += 1
            one.size.entries += known.count
            one.add(below, known.entries)
        elif below.count("/") > _MAX_DEPTH:
            one.add(prefix, {name: Entry(EntryKind.DEEP)})
        elif not one.is_passed_over(prefix, name, beside):
            with _opened(name, fd) as inside:
                if inside is not None:
                    _walk(inside, below, one)


def _listed(fd: int, path: str, settled: int) -> _Listing:
    """Return the content of a folder. It is cached if the folder changed before the time `settled`."""
    stamp = _stamp(os.fstat(fd))
    known = _CACHE.get(path)
    if known and known.stamp == stamp:
        return known
    listing = _Listing(stamp, *_list(fd))
    if stamp[2] < settled and len(_CACHE) < _MAX_CACHED:
        _CACHE[path] = listing
    else:
        _CACHE.pop(path, None)
    return listing


def _list(fd: int) -> tuple[Entries, tuple[str, ...], int]:
    """Return the reportable entries of a folder, its subfolders, and the number of all its entries."""
    entries: Entries = {}
    folders = list[str]()
    count = locks = 0
    with os.scandir(fd) as listed:
        for entry in listed:
            name = entry.name
            count += 1
            if entry.is_file(follow_symlinks=False):
                if name.endswith(".lock") and locks <= MAX_LOCKS:
                    locks += 1
                    entries[name] = Entry(EntryKind.LOCK)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif len(entries) < MAX_ENTRIES:
                # It may be gone by now. Then there is nothing to report.
                with contextlib.suppress(OSError):
                    found = _entry(name, fd)
                    if not _is_editor_lock(name, found):
                        entries[name] = found
    return entries, tuple(folders), count


def _is_editor_lock(name: str, entry: Entry) -> bool:
    return name.startswith(_EDITOR_LOCK) and entry.kind == EntryKind.LINK and "/" not in entry.target


def _entry(name: str, fd: int | None) -> Entry:
    mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return Entry(EntryKind.LINK, os.readlink(name, dir_fd=fd))
    if stat.S_ISFIFO(mode):
        return Entry(EntryKind.PIPE)
    return Entry(EntryKind.SOCKET if stat.S_ISSOCK(mode) else EntryKind.DEVICE)


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _stamp_below(name: str, fd: int) -> tuple[int, int, int] | None:
    try:
        return _stamp(os.stat(name, dir_fd=fd, follow_symlinks=False))
    except OSError:
        return None


@contextlib.contextmanager
def _opened(name: str, above: int | None = None) -> Iterator[int | None]:
    """Yield an open folder, or None if there is none that this user can read. Raises OSError for anything else."""
    with contextlib.ExitStack() as stack:
        try:
            fd = _open(name, above, stack)
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                raise
            fd = None
        yield fd


def _open(name: str, above: int | None, stack: contextlib.ExitStack) -> int:
    try:
        fd = os.open(name, FOLDER, dir_fd=above)
    except PermissionError:
        # Git can open files in a folder that cannot be listed. If this user does not own it, nothing was put there.
        held = os.open(name, _HOLD, dir_fd=above)
        try:
            path, mode = f"/proc/self/fd/{held}", stat.S_IMODE(os.fstat(held).st_mode)
            os.chmod(path, mode | _OPEN_TO_OWNER)
            fd = os.open(path, FOLDER & ~os.O_NOFOLLOW)
        finally:
            os.close(held)
        stack.callback(os.close, fd)
        stack.callback(_set_mode, fd, mode)
        return fd
    stack.callback(os.close, fd)
    return fd


def _set_mode(fd: int, mode: int) -> None:
    with contextlib.suppress(OSError):
        os.fchmod(fd, mode)


def leads_out(folder: str, path: str) -> bool:
    """Tell whether a link in git's folder leads out of it."""
    real, top = os.path.realpath(os.path.join(folder, path)), os.path.realpath(folder)
    return real != top and not real.startswith(f"{top}/")


def remove(folder: str, path: str, entry: Entry) -> bool:
    """Remove an entry from git's folder. Return whether it is gone.

    Every folder on the way is opened by name in its parent, so that nothing outside is ever removed.
    """
    if not path:
        folder, path = os.path.split(folder)
    *above, name = path.split("/")
    with contextlib.ExitStack() as stack:
        fd = stack.enter_context(_opened(folder))
        for part in above:
            fd = stack.enter_context(_opened(part, fd)) if fd is not None else None
        if fd is None:
            return False
        return _remove_tree(name, fd) if entry.kind == EntryKind.DEEP else _unlink(name, fd)


def _remove_tree(name: str, fd: int) -> bool:
    # With programs, because Python fails in very deep folders. Neither follows links. rm needs readable folders.
    for words in (["/bin/chmod", "-R", "u+rwx"], ["/bin/rm", "-rf"]):
        place = f"/proc/self/fd/{fd}"
        subprocess.run([*words, "--", f"./{name}"], cwd=place, stderr=subprocess.DEVNULL, check=False)
    return _stamp_below(name, fd) is None


def _unlink(name: str, fd: int) -> bool:
    try:
        mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return False
        before = stat.S_IMODE(os.fstat(fd).st_mode)
        if before & _OPEN_TO_OWNER != _OPEN_TO_OWNER:
            os.fchmod(fd, before | _OPEN_TO_OWNER)
        os.unlink(name, dir_fd=fd)
        if before & _OPEN_TO_OWNER != _OPEN_TO_OWNER:
            os.fchmod(fd, before)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def told(folder: str, path: str, entry: Entry) -> str:
    """Return an entry as it is named in a sentence."""
    place = shown(os.path.join(folder, path).rstrip("/"))
    return f"the {entry.kind} {place}" + (f" to {shown(entry.target)}" if entry.target else "")


def together(sentences: Collection[str]) -> str:
    """Return the first few texts joined, and how many more there are."""
    more = len(sentences) - _MAX_SHOWN
    return ", ".join([*list(sentences)[:_MAX_SHOWN], *([f"and {more:,} more"] if more > 0 else [])])
