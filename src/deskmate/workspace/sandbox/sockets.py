"""Sockets of others on this machine.

A command that can talk to one may get a password from it, or make it do something outside. Mounting it read-only does
not prevent that. The kernel lists the sockets of its own network. Others, and pipes, are found by searching below home.
"""

import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

_LISTED = Path("/proc/net/unix")
_MOUNTS = Path("/proc/self/mountinfo")
_PATH_FIELD, _MOUNT_FIELD = 7, 4
_WRITTEN = re.compile(rb"\\([0-7]{3})")
# Large folders in which nobody listens.
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", ".git", "_cacache", "pkgs"})
_MAX_DEPTH = 8
_MAX_ENTRIES = 100_000
_MAX_IN_FOLDER = 2_000
_WALK_SECONDS = 0.1
_STALE_SECONDS = 60.0
_NEW_SECONDS = 5.0


class Sockets:
    """The sockets of this machine. Those found below a home are cached, and searched again after a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[Path, tuple[str, ...]] = {}
        self._looked: dict[Path, float] = {}

    def paths(self, homes: Iterable[Path], own: Sequence[str]) -> Iterator[str]:
        """Yield where sockets are, or were a minute ago, some twice. The first call searches below each home.

        `own`: folders that it does not enter, because the agents that write there could keep it busy.
        """
        yield from _listed()
        for home in homes:
            with self._lock:
                known = self._found.get(home)
                stale = time.monotonic() - self._looked.get(home, -_STALE_SECONDS) >= _STALE_SECONDS
                if stale:
                    self._looked[home] = time.monotonic()
            if known is None:
                self._look(home, own)
            elif stale:
                threading.Thread(target=self._look, args=(home, own), daemon=True).start()
            yield from self._found.get(home, ())

    def _look(self, home: Path, own: Sequence[str]) -> None:
        self._found[home] = tuple(_below(home, own))


def _listed() -> Iterator[str]:
    """Yield the paths of all sockets that processes in this network have bound."""
    with suppress(OSError):
        for line in _LISTED.read_bytes().splitlines()[1:]:
            fields = line.split(maxsplit=_PATH_FIELD)
            if len(fields) > _PATH_FIELD and fields[_PATH_FIELD].startswith(b"/"):
                yield os.fsdecode(fields[_PATH_FIELD])


def _below(top: Path, own: Sequence[str]) -> Iterator[str]:
    """Yield the sockets and pipes below a folder, those near the top first, until a limit is reached.

    It follows no symlinks and enters no mounts, because a network drive that does not answer would block it forever.
    """
    closed, left, deadline = {*_mount_points(), *own}, _MAX_ENTRIES, time.monotonic() + _WALK_SECONDS
    folders = deque([(str(top), 0)])
    while folders and left > 0 and time.monotonic() < deadline:
        folder, depth = folders.popleft()
        # The folder may be unreadable or gone.
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in islice(entries, _MAX_IN_FOLDER):
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    if depth < _MAX_DEPTH and entry.name not in _SKIPPED and entry.path not in closed:
                        folders.append((entry.path, depth + 1))
                elif not entry.is_symlink() and not entry.is_file(follow_symlinks=False) and is_channel(entry.path):
                    yield entry.path


def _mount_points() -> frozenset[str]:
    """Return all mount points."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return frozenset()
    # Blanks and other special characters are escaped as octal numbers.
    points = (_WRITTEN.sub(lambda byte: bytes([int(byte[1], 8)]), line.split()[_MOUNT_FIELD]) for line in lines)
    return frozenset(map(os.fsdecode, points))


def is_new(path: str) -> bool:
    """Tell whether something was created or changed seconds ago, or is gone."""
    try:
        return time.time() - os.stat(path).st_ctime < _NEW_SECONDS
    except OSError:
        return True


def is_channel(path: str) -> bool:
    """Tell whether a path, or its target, is a socket or a named pipe."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)
