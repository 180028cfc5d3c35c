"""Git entries: links, special files and lock files in git's own folder, found and removed.

Git opens many of its files in place and follows links, so a link there makes the user's git write somewhere else.
`git_watch` and `placeholders` above decide which of them may stay. Nothing here follows a link.
"""

import contextlib
import errno
import os
import stat
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from deskmate.workspaces.paths import FOLDER, OURS, shown

_HOLD = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_TO_OWNER = 0o700
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM}
# Refs, submodules of submodules and their logs stay far below this; each level keeps a descriptor open.
_MAX_DEPTH = 64
# A clock may be that coarse: a folder that changed later could change again without a new time.
_SETTLED_NANOSECONDS = 3_000_000_000
_MAX_CACHED = 20_000
# Emacs marks a file that it edits by such a link to the name of its user and machine. Git never opens one.
_EDITOR_LOCK = ".#"
_MAX_SHOWN = 5


class Kind(StrEnum):
    """What an entry is that is neither a folder nor an ordinary file."""

    LINK = "symbolic link"
    PIPE = "named pipe"
    SOCKET = "socket"
    DEVICE = "device"
    LOCK = "lock file"
    DEEP = "folder too deep to look into"


class Entry(NamedTuple):
    """One such entry; `target` is where a link leads, as it is written in it."""

    kind: str
    target: str = ""


# By path, relative to git's folder; the empty path is that folder itself.
Entries: TypeAlias = dict[str, Entry]


@dataclass(frozen=True, slots=True)
class _Listing:
    """What was in a folder when it had this identity and time of change."""

    stamp: tuple[int, int, int]
    entries: Mapping[str, Entry]
    folders: tuple[str, ...]


_CACHE: dict[str, _Listing] = {}


def scan(folder: str, now: int | None = None) -> Entries:
    """Return all such entries of git's folder, at any depth; raise OSError if the folder cannot be read.

    A folder that has not changed since it was last listed is not listed again: the kernel sets the time of its last
    change, and no program can. `now` is in nanoseconds.
    """
    found: Entries = {}
    if os.path.islink(folder):
        return {"": Entry(Kind.LINK, os.readlink(folder))}
    with _opened(folder) as fd:
        if fd is not None:
            _walk(fd, folder, "", found, (now or time.time_ns()) - _SETTLED_NANOSECONDS)
    return found


def _walk(fd: int, top: str, prefix: str, found: Entries, settled: int) -> None:
    listing = _listed(fd, f"{top}/{prefix}", settled)
    found.update((f"{prefix}{name}", entry) for name, entry in listing.entries.items())
    for name in listing.folders:
        below = f"{prefix}{name}/"
        known = _CACHE.get(f"{top}/{below}")
        if known and not known.folders and _stamp_below(name, fd) == known.stamp:
            found.update((f"{below}{inner}", entry) for inner, entry in known.entries.items())
        elif below.count("/") > _MAX_DEPTH:
            found[below.rstrip("/")] = Entry(Kind.DEEP)
        elif not prefix and name in OURS:
            # Of a bare repository that is the workspace itself: our own records, which no command can reach.
            continue
        else:
            with _opened(name, fd) as inside:
                if inside is not None:
                    _walk(inside, top, below, found, settled)


def _listed(fd: int, path: str, settled: int) -> _Listing:
    """Return what is in a folder; one that changed before the time `settled` is remembered."""
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


def _list(fd: int) -> tuple[Entries, tuple[str, ...]]:
    entries: Entries = {}
    folders = list[str]()
    with os.scandir(fd) as listed:
        for entry in listed:
            name = entry.name
            if entry.is_file(follow_symlinks=False):
                if name.endswith(".lock"):
                    entries[name] = Entry(Kind.LOCK)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            else:
                # It may be gone by now: then there is nothing to find.
                with contextlib.suppress(OSError):
                    found = _entry(name, fd)
                    if not _is_editor_lock(name, found):
                        entries[name] = found
    return entries, tuple(folders)


def _is_editor_lock(name: str, entry: Entry) -> bool:
    return name.startswith(_EDITOR_LOCK) and entry.kind == Kind.LINK and "/" not in entry.target


def _entry(name: str, fd: int) -> Entry:
    mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return Entry(Kind.LINK, os.readlink(name, dir_fd=fd))
    if stat.S_ISFIFO(mode):
        return Entry(Kind.PIPE)
    return Entry(Kind.SOCKET if stat.S_ISSOCK(mode) else Kind.DEVICE)


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _stamp_below(name: str, fd: int) -> tuple[int, int, int] | None:
    try:
        return _stamp(os.stat(name, dir_fd=fd, follow_symlinks=False))
    except OSError:
        return None


@contextlib.contextmanager
def _opened(name: str, above: int | None = None) -> Iterator[int | None]:
    """Hold a folder open; None if this user has none to look into. Raises OSError for other failures."""
    try:
        fd = _open(name, above)
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _open(name: str, above: int | None) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except PermissionError:
        # Git can open what is in a folder that cannot be listed. The owner is this user, or nothing was put there.
        held = os.open(name, _HOLD, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{held}", _OPEN_TO_OWNER)
        finally:
            os.close(held)
        return os.open(name, FOLDER, dir_fd=above)


def leads_out(folder: str, path: str) -> bool:
    """Tell whether a link in git's folder leads out of it."""
    real, top = os.path.realpath(os.path.join(folder, path)), os.path.realpath(folder)
    return real != top and not real.startswith(f"{top}/")


def remove(folder: str, path: str, entry: Entry) -> bool:
    """Remove an entry from git's folder; tell whether it is gone.

    Every folder on the way is opened by its name in the one before it, so that nothing outside is ever removed.
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
        return _remove_tree(name, fd) if entry.kind == Kind.DEEP else _unlink(name, fd)


def _remove_tree(name: str, fd: int) -> bool:
    # By a program: Python follows folders only so deep. It never follows a link either.
    words = ["/bin/rm", "-rf", "--", f"./{name}"]
    return subprocess.run(words, cwd=f"/proc/self/fd/{fd}", stderr=subprocess.DEVNULL, check=False).returncode == 0


def _unlink(name: str, fd: int) -> bool:
    try:
        mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return False
        os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) | _OPEN_TO_OWNER)
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def told(folder: str, path: str, entry: Entry) -> str:
    """Return an entry as a sentence names it."""
    place = shown(os.path.join(folder, path).rstrip("/"))
    return f"the {entry.kind} {place}" + (f" to {shown(entry.target)}" if entry.target else "")


def together(sentences: Collection[str]) -> str:
    """Return some sentences as one, and how many more there are."""
    more = len(sentences) - _MAX_SHOWN
    return ", ".join([*list(sentences)[:_MAX_SHOWN], *([f"and {more:,} more"] if more > 0 else [])])
