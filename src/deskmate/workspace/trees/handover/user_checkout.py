"""The files and the index of the user, changed only as a whole.

A copy of the index is prepared beside the user's own. Git compares files with that copy before it writes the first one,
so a refusal leaves everything as it was. While files are written, the lock that git itself uses keeps others out.

The order is files, index, HEAD, as git itself does it. After a kill in between, the work of the team looks like changes
of the user that are not committed, and the next hand-over finds that they are the same.
"""

import os
import secrets
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from deskmate.errors import Refused
from deskmate.fs.private_folder import wait_lock
from deskmate.fs.safe_files import create_file
from deskmate.workspace.trees.filters.git_filters import without_foreign
from deskmate.workspace.trees.git_program import GitFailed
from deskmate.workspace.trees.handover.half_written import HalfWritten
from deskmate.workspace.trees.handover.left_locks import COPY, LOCK, OLD, OWN_LOCK, remove_left_locks
from deskmate.workspace.trees.ref_locks import remove_left_on_head
from deskmate.workspace.trees.tree_places import TreePlaces

_SECONDS = 900.0
_INDEX = "index"
_ALL = ("--", ":/", ":(exclude,top).teams", ":(exclude,top).tasks")


class UserCheckout:
    """What the user has checked out. Use it inside `locked`."""

    def __init__(self, places: TreePlaces) -> None:
        self._folder, self._root, self._repository = places.checkout, places.workspace, places.repository
        self._git, self._copy = without_foreign(places.user_git), places.checkout / COPY

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other git commands from changing the index. Raises Refused if one is at work."""
        self.remove_left()
        own = self._folder / f"{OWN_LOCK}{secrets.token_hex(4)}"
        held = create_file(own)
        try:
            wait_lock(held)
            self._take_lock(own)
            try:
                self._copy_index()
                yield
            finally:
                for name in (LOCK, COPY, f"{COPY}.lock", OLD):
                    (self._folder / name).unlink(missing_ok=True)
        finally:
            own.unlink(missing_ok=True)
            os.close(held)

    def _take_lock(self, own: Path) -> None:
        lock = self._folder / LOCK
        try:
            try:
                os.link(own, lock)
            except FileExistsError:
                raise
            except OSError:
                # A disk without second names for files. If this process is killed, the user has to remove the lock.
                os.close(create_file(lock))
        except FileExistsError as error:
            raise Refused(
                f"Another git command is at work here: {lock} exists",
                "Wait until it ends. If none is running, delete that file. Then try again.",
            ) from error

    def remove_left(self) -> None:
        """Remove what a killed hand-over left."""
        remove_left_locks(self._folder)

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

    def staged(self, commit: str = "HEAD") -> Set[str]:
        """Return the files that are not in the index as in a commit."""
        return _names(self._run("diff", "--cached", "--name-only", "-z", "--no-renames", commit, *_ALL))

    def half_staged(self, commit: str) -> Set[str]:
        """Return the files that have one change in the index, and another one on disk.

        Without those that are in the index as in a commit: that is where a hand-over puts them.
        """
        on_disk = _names(self._run("diff", "--name-only", "-z", "--no-renames", *_ALL))
        return self.staged() & self.staged(commit) & on_disk

    def tree(self) -> str:
        """Return all files as they are on disk, as a tree of git. Ignored files are left out."""
        self._run("add", "-A", *_ALL)
        return self._run("write-tree").strip()

    def differences(self, one: str, other: str, kinds: str = "") -> Set[str]:
        """Return the files in which two commits or trees differ. `kinds`: only files that were, such as A, added."""
        only = (f"--diff-filter={kinds}",) if kinds else ()
        words = ("diff", "--name-only", "-z", "--no-renames", *only, one, other)
        return _names(os.fsdecode(self._git.data(*words)))

    def in_the_way(self, one: str, other: str) -> list[str]:
        """Return what is on disk, and in no commit, where files would be written. Git would overwrite ignored files.

        On a disk that takes names which differ only in case for one, a file that is removed is not in the way.
        """
        removed = self.differences(one, other, "D")
        found = set[str]()
        for name in self.differences(one, other, "A"):
            path = Path(name)
            above = [str(folder) for folder in path.parents if _is_file(self._root / folder)]
            found |= {*above, *([name] if os.path.lexists(self._root / path) else [])} - removed
        if found and removed and self._git.settings().is_on("core.ignoreCase"):
            gone = {name.casefold() for name in removed}
            found = {name for name in found if name.casefold() not in gone}
        return sorted(found)

    def write(self, files: tuple[str, str], head: tuple[str, str], why: str) -> None:
        """Change files from one tree to another, then the index, then HEAD from one commit to another.

        What is staged in other files stays so. `files`: the same as `head` if none of these files has changes that are
        not committed. `why`: for the log of HEAD. Raises GitFailed with everything as it was.
        """
        try:
            self._run("read-tree", "-m", "-u", *files)
        except GitFailed:
            # It compares all files before it writes the first one, but a folder may be read-only, or the disk full.
            HalfWritten(self._git, self._root, *files).undo()
            raise
        try:
            if files != head:
                self._copy_index()
                changed = self._git.data("diff-tree", "-r", "-z", "--raw", "--no-renames", *head)
                self._run("update-index", "-z", "--index-info", text=_index_lines(os.fsdecode(changed)))
                self._run("update-index", "-q", "--refresh", fails=(1,))
            with self._installed():
                if head[0] != head[1]:
                    self._move_head(*head, why)
        except GitFailed:
            self._run("read-tree", files[1])
            self._run("update-index", "-q", "--refresh", fails=(1,))
            self._run("read-tree", "-m", "-u", files[1], files[0])
            raise

    def _move_head(self, commit: str, to: str, why: str) -> None:
        words = ("update-ref", "-m", why, "HEAD", to, commit)
        try:
            self._git.run(*words)
        except GitFailed as error:
            branch = self._git.line("symbolic-ref", "HEAD")
            if not remove_left_on_head(self._folder, self._repository, branch, to, str(error)):
                raise
            self._git.run(*words)

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """Give the user the new index, and the old one again if what follows fails."""
        index, old = self._folder / _INDEX, self._folder / OLD
        with suppress(FileNotFoundError):
            shutil.copy2(index, old)
            shutil.copymode(index, self._copy)
        os.replace(self._copy, index)
        try:
            yield
        except GitFailed:
            if old.exists():
                os.replace(old, index)
            else:
                index.unlink()
            raise

    def finish(self, before: str, after: str) -> None:
        """Write the files that a git which was killed had begun to write, to get from one tree to another."""
        HalfWritten(self._git, self._root, before, after).finish()

    def again(self) -> None:
        """Begin again with the user's index as it is now."""
        self._copy_index()

    def _run(self, *words: str, fails: tuple[int, ...] = (), text: str | None = None) -> str:
        git = self._git.with_index(self._copy)
        where = ("-c", "core.bare=false", f"--work-tree={self._root}")
        given = None if text is None else os.fsencode(text)
        # Names may be in any encoding. If they were not exact, a file with such a name could be overwritten.
        return os.fsdecode(git.data(*where, *words, given=given, fails=fails, seconds=_SECONDS))


def _index_lines(changes: str) -> str:
    """Return what `update-index --index-info` reads, of what `diff-tree --raw -z` printed."""
    fields = changes.split("\0")
    lines = list[str]()
    for facts, name in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, _ = facts.split()
        lines.append(f"{mode} {blob}\t{name}\0")
    return "".join(lines)


def _names(printed: str) -> Set[str]:
    return {name for name in printed.split("\0") if name}


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())
