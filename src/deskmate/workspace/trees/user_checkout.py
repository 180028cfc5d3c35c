"""The files and the index of the user, changed only as a whole.

A copy of the index is prepared beside the user's own. Git compares files with that copy before it writes the first one,
so a refusal leaves everything as it was. While files are written, the lock that git itself uses keeps others out.
"""

import os
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from deskmate.errors import Refused
from deskmate.fs.safe_files import create_file
from deskmate.workspace.trees.git_program import GitFailed
from deskmate.workspace.trees.tree_places import TreePlaces

_SECONDS = 900.0
_INDEX, _LOCK, _COPY = "index", "index.lock", "deskmate-handover-index"
_ALL = ("--", ":/", ":(exclude,top).teams", ":(exclude,top).tasks")


class UserCheckout:
    """What the user has checked out. Use it inside `locked`."""

    def __init__(self, places: TreePlaces) -> None:
        self._folder, self._root = places.checkout, places.workspace
        self._git, self._copy = places.user_git, places.checkout / _COPY
        self._lock: int | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other git commands from changing the index. Raises Refused if one is at work."""
        lock = self._folder / _LOCK
        try:
            self._lock = create_file(lock)
        except FileExistsError as error:
            raise Refused(
                f"Another git command is at work here: {lock} exists",
                "Wait until it ends. If none is running, delete that file. Then try again.",
            ) from error
        try:
            self._copy_index()
            yield
        finally:
            # After `_install` there is no lock left, and a new one would be that of somebody else.
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
                os.unlink(lock)
            self._copy.unlink(missing_ok=True)

    def _copy_index(self) -> None:
        self._copy.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copy2(self._folder / _INDEX, self._copy)
        # Exit status 1: some files differ from the index.
        self._run("update-index", "-q", "--refresh", fails=(1,))

    def changed(self) -> Set[str]:
        """Return the files that are not as in the last commit, without those that git ignores."""
        printed = self._run("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", *_ALL)
        return {entry[3:] for entry in printed.split("\0") if entry}

    def half_staged(self) -> Set[str]:
        """Return the files that have one change in the index, and another one on disk."""
        staged = self._run("diff", "--cached", "--name-only", "-z", "--no-renames", *_ALL)
        return _names(staged) & _names(self._run("diff", "--name-only", "-z", "--no-renames", *_ALL))

    def tree(self) -> str:
        """Return all files as they are on disk, as a tree of git. Ignored files are left out."""
        self._run("add", "-A", *_ALL)
        return self._run("write-tree").strip()

    def differences(self, one: str, other: str, kinds: str = "") -> Set[str]:
        """Return the files in which two commits or trees differ. `kinds`: only files that were, such as A, added."""
        only = (f"--diff-filter={kinds}",) if kinds else ()
        return _names(self._git.run("diff", "--name-only", "-z", "--no-renames", *only, one, other)[1])

    def in_the_way(self, one: str, other: str) -> list[str]:
        """Return what is on disk, and in no commit, where files would be written. Git would overwrite ignored files."""
        removed = self.differences(one, other, "D")
        found = set[str]()
        for name in self.differences(one, other, "A"):
            path = Path(name)
            above = [str(folder) for folder in path.parents if _is_file(self._root / folder)]
            found |= {*above, *([name] if os.path.lexists(self._root / path) else [])} - removed
        return sorted(found)

    def write(self, files: tuple[str, str], head: tuple[str, str], index: str | None, why: str) -> None:
        """Change files from one tree to another, then HEAD from one commit to another.

        `index`: the commit that the index is set to. None keeps what is staged in other files. `why`: for the log of
        HEAD. Raises GitFailed with everything as it was.
        """
        self._run("read-tree", "-m", "-u", *files)
        try:
            if index is not None:
                self._run("read-tree", "-m", index)
            self._git.run("update-ref", "-m", why, "HEAD", head[1], head[0])
        except GitFailed:
            self._run("read-tree", files[1])
            self._run("update-index", "-q", "--refresh", fails=(1,))
            self._run("read-tree", "-m", "-u", files[1], files[0])
            raise
        self._install()

    def _install(self) -> None:
        assert self._lock is not None, "inside `locked`"
        with open(self._copy, "rb") as made, open(self._lock, "wb") as lock:
            self._lock = None
            shutil.copyfileobj(made, lock)
        with suppress(FileNotFoundError):
            shutil.copymode(self._folder / _INDEX, self._folder / _LOCK)
        os.rename(self._folder / _LOCK, self._folder / _INDEX)

    def _run(self, *words: str, fails: tuple[int, ...] = ()) -> str:
        git = self._git.with_index(self._copy)
        where = ("-c", "core.bare=false", f"--work-tree={self._root}")
        return git.run(*where, *words, fails=fails, seconds=_SECONDS)[1]


def _names(printed: str) -> Set[str]:
    return {name for name in printed.split("\0") if name}


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())
