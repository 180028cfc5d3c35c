"""Trees that nobody uses, kept for the next member, and what waits to be deleted.

On some disks, deleting many files makes the next ones slow to create. So trees are used again, and what must go is
first moved out of the way. Every step is one rename: after a kill, a tree is either free, in use, or waits.
"""

import logging
import os
import secrets
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

_LOG = logging.getLogger(__name__)
_FREE, _WAITING = ".free", ".deleted"
MOST = 8
_MOST_SECONDS = 14 * 86_400


class TreePool:
    """The free trees below a folder. No team can have the names of its folders."""

    def __init__(self, folder: Path) -> None:
        self._free, self._waiting = folder / _FREE, folder / _WAITING

    @staticmethod
    def owns(folder: Path) -> bool:
        """Tell whether a folder is one of a pool, not of a team."""
        return folder.name in (_FREE, _WAITING)

    def give(self, tree: Path) -> None:
        """Keep a tree for the next member. The oldest ones go if there are too many or they are too old."""
        self._move(tree, self._free)
        oldest = time.time_ns() - _MOST_SECONDS * 1_000_000_000
        for number, one in enumerate(reversed(self.free())):
            if number >= MOST or int(one.name.partition("-")[0]) < oldest:
                with suppress(FileNotFoundError):
                    self.discard(one)

    def take(self, place: Path) -> bool:
        """Move a free tree to a place, with all that its last member left in it. Return whether there was one."""
        for one in reversed(self.free()):
            # Another process may be faster.
            with suppress(FileNotFoundError):
                os.rename(one, place)
                return True
        return False

    def free(self) -> list[Path]:
        """Return the free trees, the oldest first."""
        return _sorted(self._free)

    def waiting(self) -> list[Path]:
        """Return what waits to be deleted."""
        return _sorted(self._waiting)

    def discard(self, path: Path | bytes) -> None:
        """Move a file or folder to where it waits to be deleted. Links are not followed."""
        self._move(path, self._waiting)

    def delete_waiting(self) -> None:
        """Delete what waits. This can take seconds for each tree, and may be interrupted."""
        for path in self.waiting():
            try:
                _delete(path)
            except FileNotFoundError:
                # Another process deletes it too.
                continue
            except OSError as error:
                _LOG.warning("%s cannot be deleted: %s", path, error)

    def clear(self) -> None:
        """Delete all free trees, and what waits."""
        for one in self.free():
            with suppress(FileNotFoundError):
                self.discard(one)
        self.delete_waiting()

    def _move(self, path: Path | bytes, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        to = os.fsencode(folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}")
        try:
            os.rename(path, to)
        except PermissionError:
            # A folder that cannot be written cannot be moved either.
            if os.path.islink(path):
                raise
            os.chmod(path, 0o700)
            os.rename(path, to)


def _sorted(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return sorted(path for path in folder.iterdir() if path.name[:20].isdigit())
    return []


def _delete(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    try:
        shutil.rmtree(path)
    except (PermissionError, RecursionError):
        # Package managers make folders that cannot be written, and a member can make very deep ones.
        for words in (("chmod", "-R", "u+rwx", "--", str(path)), ("rm", "-rf", "--", str(path))):
            subprocess.run(words, check=False, capture_output=True)
