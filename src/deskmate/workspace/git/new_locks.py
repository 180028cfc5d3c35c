"""Which lock files in git's folder a command has left, and which a running git holds.

Git holds most locks for milliseconds, and nothing in a lock says who made it. So a lock counts as left only if it is
the same file for a while during which no other command runs in the repository.
"""

import os
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path

# As long as the commands of Deskmate itself hold a lock, with time to spare for a busy machine.
_SECONDS, _LOOK_SECONDS = 1.0, 0.05


class GitFolderUser:
    """A command of this process that runs in the repository of a git folder until it has `ended`.

    It is forgotten if its caller forgets it, so one that never started keeps no lock from being told.
    """

    def __init__(self, git: Path | None) -> None:
        self.ended = False
        self._git = git
        _RUNNING.add(self)

    @property
    def is_alone(self) -> bool:
        """Whether no other command of this process runs there."""
        return all(one is self or one.ended or one._git != self._git for one in list(_RUNNING))


_RUNNING: "weakref.WeakSet[GitFolderUser]" = weakref.WeakSet()


def left_locks(places: list[str], is_last: Callable[[], bool]) -> list[str]:
    """Return the lock files that are left. This takes a second if there are any.

    `is_last`: tells whether no other command runs in the repository.
    """
    deadline, left = time.monotonic() + _SECONDS, _files(places)
    while left and is_last():
        if time.monotonic() >= deadline:
            return list(left)
        time.sleep(_LOOK_SECONDS)
        now = _files(left)
        left = {place: file for place, file in now.items() if file == left[place]}
    return []


def _files(places: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the files that are at these places now. A file that was written to since counts as another one."""
    files = {}
    for place in places:
        try:
            found = os.lstat(place)
        except OSError:
            continue
        files[place] = found.st_ino, found.st_ctime_ns
    return files
