"""Files that git was writing from one tree to another when it failed or was killed.

Git removes a file before it writes the new one. So each file is as before, as after, missing, or the beginning of what
it should become. Anything else was changed by the user since, and is left alone.
"""

import os
import tempfile
from collections.abc import Collection, Set
from functools import cached_property
from pathlib import Path

from deskmate.workspace.trees.git_program import GitFailed, GitProgram

_SECONDS = 900.0


class HalfWritten:
    """The files in which two trees differ. `git`: on the repository. `root`: where the files are."""

    def __init__(self, git: GitProgram, root: Path, before: str, after: str) -> None:
        self._git, self._root, self._before, self._after = git, root, before, after

    def finish(self) -> None:
        """Write the files that git has begun to write."""
        self._write(self._after, self._torn & self._names_of(self._after))

    def undo(self) -> None:
        """Write the files as they were that git has written or begun to write. Files that it has made are removed."""
        old = self._names_of(self._before)
        written = (self._names - self._changed_since(self._after)) | self._torn
        for name in written - old:
            (self._root / name).unlink(missing_ok=True)
        self._write(self._before, written & old)

    @cached_property
    def _names(self) -> Set[str]:
        words = ("diff", "--name-only", "-z", "--no-renames", self._before, self._after)
        return _split(self._git.data(*words))

    @cached_property
    def _torn(self) -> Set[str]:
        neither = self._names & self._changed_since(self._before) & self._changed_since(self._after)
        return {name for name in neither if self._is_torn(name)}

    def _is_torn(self, name: str) -> bool:
        path = self._root / name
        if not os.path.lexists(path):
            return True
        try:
            whole = self._git.data("cat-file", "--filters", f"{self._after}:{name}")
            return path.is_file() and not path.is_symlink() and whole.startswith(path.read_bytes())
        except (GitFailed, OSError):
            return False

    def _names_of(self, tree: str) -> Set[str]:
        return _split(self._git.data("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)) & self._names

    def _changed_since(self, tree: str) -> Set[str]:
        """Return the files that are not as in a tree."""
        with tempfile.TemporaryDirectory(prefix="deskmate-handover-") as folder:
            git = self._git.with_index(Path(folder, "index"))
            git.run("read-tree", tree)
            self._run(git, "update-index", "-q", "--refresh", fails=(1,))
            changed = _split(self._run(git, "diff-files", "--name-only", "-z"))
            there = {name for name in self._names - self._names_of(tree) if os.path.lexists(self._root / name)}
        return changed & self._names | there

    def _write(self, tree: str, names: Collection[str]) -> None:
        if not names:
            return
        with tempfile.TemporaryDirectory(prefix="deskmate-handover-") as folder:
            git = self._git.with_index(Path(folder, "index"))
            git.run("read-tree", tree)
            given = b"".join(os.fsencode(name) + b"\0" for name in sorted(names))
            self._run(git, "checkout-index", "-f", "-q", "-z", "--stdin", given=given)

    def _run(self, git: GitProgram, *words: str, fails: tuple[int, ...] = (), given: bytes | None = None) -> bytes:
        where = ("-c", "core.bare=false", f"--work-tree={self._root}")
        return git.data(*where, *words, fails=fails, given=given, seconds=_SECONDS, cwd=self._root)


def _split(printed: bytes) -> Set[str]:
    return {os.fsdecode(name) for name in printed.split(b"\0") if name}
