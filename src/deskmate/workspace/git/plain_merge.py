"""The tree of a merge, file by file, for git before 2.38: such a git cannot compute it without a checkout.

The index and the files that this needs are in a temporary folder. Renames are not followed: if one side renames a file
and the other one changes it, that is a conflict. The owner of the work then merges with all that its git can do.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.workspace.trees.git_program import GitFailed, GitProgram

# What git calls the stages of a file that is not merged.
_BASE, _OURS, _THEIRS = 1, 2, 3
_REGULAR = ("100644", "100755")
# The exit status of `merge-file` is the number of conflicts up to 127, or 255 if it cannot merge the files at all.
_CONFLICTS, _NOT_TEXT = range(1, 128), 255


@frozen
class _Version:
    """One side's version of a file."""

    mode: str
    blob: str


class PlainMerge:
    """A merge of two commits. `tree`: the result, with conflict markers in the files `conflicts`.

    A file that one side deleted, and one that is not text, is not in the tree if it conflicts.
    """

    def __init__(self, git: GitProgram, ours: str, theirs: str) -> None:
        base = git.line("merge-base", ours, theirs)
        self._labels = ours, base, theirs
        self.conflicts: list[str] = []
        with tempfile.TemporaryDirectory(prefix="deskmate-merge-") as folder:
            self._folder = Path(folder)
            self._git = git.with_index(self._folder / "index")
            self._git.run("read-tree", "-i", "-m", "--aggressive", base, ours, theirs)
            changes = [line for name, sides in self._unmerged() for line in self._settled(name, sides)]
            self._git.run("update-index", "-z", "--index-info", text="".join(changes))
            self.tree = self._git.line("write-tree")

    def _unmerged(self) -> Iterator[tuple[str, Mapping[int, _Version]]]:
        """Yield the files that both sides changed, with the versions that there are."""
        found = dict[str, dict[int, _Version]]()
        for line in filter(None, self._git.run("ls-files", "--unmerged", "-z")[1].split("\0")):
            facts, _, name = line.partition("\t")
            mode, blob, stage = facts.split()
            if "\ufffd" in name:
                raise GitFailed(f"both sides changed {name!r}, and this name is not UTF-8")
            found.setdefault(name, {})[int(stage)] = _Version(mode, blob)
        yield from found.items()

    def _settled(self, name: str, sides: Mapping[int, _Version]) -> Iterator[str]:
        """Yield what the index is told about a file: to forget its versions, then which one it has now."""
        yield f"0 {'0' * len(next(iter(sides.values())).blob)}\t{name}\0"
        merged = self._merge(sides)
        if merged is None or merged[1]:
            self.conflicts.append(name)
        if merged is not None:
            yield f"{merged[0].mode} {merged[0].blob}\t{name}\0"

    def _merge(self, sides: Mapping[int, _Version]) -> tuple[_Version, bool] | None:
        """Return the merged version of a file, and whether it conflicts. None if there is nothing to show."""
        base, ours, theirs = sides.get(_BASE), sides.get(_OURS), sides.get(_THEIRS)
        if not (ours and theirs and all(side.mode in _REGULAR for side in sides.values())):
            return None
        text = self._merge_text(base, ours, theirs)
        if text is None:
            return None
        blob, conflicts = text
        mode = ours.mode if base is None or theirs.mode == base.mode else theirs.mode
        return _Version(mode, blob), conflicts or (base is None and ours.mode != theirs.mode)

    def _merge_text(self, base: _Version | None, ours: _Version, theirs: _Version) -> tuple[str, bool] | None:
        """Return the blob of the merged text, and whether it conflicts. None if a version is not text."""
        files = [self._unpack(version) for version in (ours, base, theirs)]
        labels = [word for label in self._labels for word in ("-L", label)]
        fails = (*_CONFLICTS, _NOT_TEXT)
        status, _ = self._git.run("merge-file", "-q", *labels, *files, fails=fails, cwd=self._folder)
        if status == _NOT_TEXT:
            return None
        hashed = self._git.run("hash-object", "-w", "--no-filters", files[0], cwd=self._folder)[1]
        return hashed.strip(), status != 0

    def _unpack(self, version: _Version | None) -> str:
        """Write a version into a file of its own, and return its name."""
        if version is None:
            (self._folder / "empty").touch()
            return "empty"
        return self._git.run("unpack-file", version.blob, cwd=self._folder)[1].strip()
