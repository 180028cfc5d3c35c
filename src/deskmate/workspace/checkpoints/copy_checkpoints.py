"""Checkpoints outside git: copies in Deskmate's own folder, each content once.

    <state>/checkpoints/<workspace>/objects/<first two letters>/<the rest of the SHA-256>
    <state>/checkpoints/<workspace>/points/<team>/<number>.json
    <state>/checkpoints/<workspace>/seen.json

No command can reach them. A tree is an object too: the path of each file with its mode and its content.
"""

import contextlib
import difflib
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from anyio import to_thread

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.fs.safe_files import file_lock, open_folder, replace_file
from deskmate.workspace.checkpoints.file_copies import FoundFile, files_below, remove_file, write_file
from deskmate.workspace.checkpoints.points import Change, ChangeKind, Point, Saved
from deskmate.workspace.trees.tree_places import workspace_key

FOLDER, OBJECTS, POINTS, _SEEN, _LOCK = "checkpoints", "objects", "points", "seen.json", ".lock"
# A clock may be this coarse: a file that changed later could change again and keep the same times.
_SETTLED_NANOSECONDS = 3_000_000_000
_Stamp: TypeAlias = list[int]


@frozen
class _Entry:
    """A file in a tree. `key`: the name of its content."""

    mode: int
    key: str


class CopyCheckpoints:
    """The checkpoints of one team. `state`: the folder of Deskmate's own data."""

    def __init__(self, workspace: Path, state: Path, team: str) -> None:
        self._workspace, self._state, self._team = workspace, state, team
        self._folder = state / FOLDER / workspace_key(workspace)

    def points(self) -> tuple[Point, ...]:
        """Return all checkpoints, oldest first."""
        return tuple(sorted(_points_in(self._folder / POINTS / self._team), key=lambda point: point.number))

    async def save(self) -> Saved:
        """Save the files of the workspace as they are now."""
        return await to_thread.run_sync(self._save)

    def _save(self) -> Saved:
        with self._locked():
            seen = self._seen()
            tree, left_out, now_seen = dict[str, list[object]](), list[str](), dict[str, tuple[_Stamp, str]]()
            settled = time.time_ns() - _SETTLED_NANOSECONDS
            for found in files_below(self._workspace, self._state):
                key = self._kept(found, seen)
                if key is None:
                    left_out.append(found.path)
                    continue
                tree[found.path] = [found.status.st_mode, key]
                if found.status.st_ctime_ns < settled:
                    now_seen[found.path] = _stamp(found.status), key
            self._replace(self._folder, _SEEN, json.dumps(now_seen).encode())
            return Saved(self._keep(json.dumps(dict(sorted(tree.items()))).encode()), tuple(sorted(left_out)))

    def _kept(self, found: FoundFile, seen: dict[str, Any]) -> str | None:
        """Keep the content of a file. Return its name, or None for a file that is too large or unreadable."""
        known = seen.get(found.path)
        if known and known[0] == _stamp(found.status) and self._object(known[1]).exists():
            return str(known[1])
        data = None if found.is_large else found.read()
        return None if data is None else self._keep(data)

    def add(self, saved: Saved, *, entry: int | None = None, undoes: int | None = None) -> Point:
        """Make a checkpoint of saved files."""
        with self._locked():
            number = max((point.number for point in self.points()), default=0) + 1
            point = Point(number, time.time(), saved, entry, undoes)
            facts = {"at": point.at, "tree": saved.tree, "left_out": saved.left_out, "entry": entry, "undoes": undoes}
            folder = self._folder / POINTS / self._team
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._replace(folder, f"{number}.json", json.dumps(facts).encode())
        return point

    def changes(self, before: str, after: str) -> tuple[Change, ...]:
        """Return the files that differ between two trees."""
        old, new = self._tree(before), self._tree(after)
        return tuple(
            Change(path, _kind(old.get(path), new.get(path)))
            for path in sorted({*old, *new})
            if old.get(path) != new.get(path)
        )

    def diff(self, before: str, after: str) -> str:
        """Return the differences between two trees as a patch."""
        lines = list[str]()
        for change in self.changes(before, after):
            old, new = (self.content(tree, change.path) or b"" for tree in (before, after))
            if b"\0" in old + new:
                lines.append(f"Binary files a/{change.path} and b/{change.path} differ\n")
                continue
            a, b = (data.decode(errors="replace").splitlines(keepends=True) for data in (old, new))
            patch = difflib.unified_diff(a, b, f"a/{change.path}", f"b/{change.path}")
            lines += (line if line.endswith("\n") else f"{line}\n" for line in patch)
        return "".join(lines)

    def content(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a regular file in a tree, or None if there is none."""
        entry = self._tree(tree).get(path)
        return self._read(entry.key) if entry and stat.S_ISREG(entry.mode) else None

    async def restore(self, tree: str, write: Sequence[str], remove: Sequence[str]) -> None:
        """Write some files as they are in a tree, and remove others. Nothing else is touched."""
        await to_thread.run_sync(self._restore, tree, write, remove)

    def _restore(self, tree: str, write: Sequence[str], remove: Sequence[str]) -> None:
        entries = self._tree(tree)
        for path in remove:
            # What cannot be restored is still different afterwards. The caller compares and tells.
            with contextlib.suppress(OSError):
                remove_file(self._workspace, path)
        for path in write:
            entry = entries[path]
            with contextlib.suppress(OSError):
                is_link, mode = stat.S_ISLNK(entry.mode), stat.S_IMODE(entry.mode)
                write_file(self._workspace, path, self._read(entry.key), mode, is_link=is_link)

    def drop(self, numbers: Collection[int]) -> None:
        """Remove checkpoints, and what no other checkpoint has."""
        if not numbers:
            return
        with self._locked():
            for number in numbers:
                (self._folder / POINTS / self._team / f"{number}.json").unlink(missing_ok=True)
            self._sweep()

    def drop_all(self) -> None:
        """Remove all checkpoints of the team."""
        if self._folder.is_dir():
            with self._locked():
                shutil.rmtree(self._folder / POINTS / self._team, ignore_errors=True)
                self._sweep()

    def _sweep(self) -> None:
        """Delete the objects that no checkpoint of any team has."""
        teams = (self._folder / POINTS).iterdir() if (self._folder / POINTS).is_dir() else ()
        trees = {point.saved.tree for team in teams for point in _points_in(team)}
        used = trees | {entry.key for tree in trees for entry in self._tree(tree).values()}
        for file in (self._folder / OBJECTS).glob("*/*"):
            if f"{file.parent.name}{file.name}" not in used:
                file.unlink(missing_ok=True)

    # -- objects ----------------------------------------------------------------------------------

    def _object(self, key: str) -> Path:
        return self._folder / OBJECTS / key[:2] / key[2:]

    def _keep(self, data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()
        place = self._object(key)
        if not place.exists():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._replace(place.parent, place.name, data)
        return key

    def _read(self, key: str) -> bytes:
        try:
            return self._object(key).read_bytes()
        except OSError as error:
            raise ToolError(f"A saved file cannot be read: {error.filename}: {error.strerror}") from error

    def _tree(self, key: str) -> dict[str, _Entry]:
        return {path: _Entry(int(mode), str(kept)) for path, (mode, kept) in json.loads(self._read(key)).items()}

    def _seen(self) -> dict[str, Any]:
        """Return the files as last seen. They only save time, so without them everything is read again."""
        try:
            seen = json.loads((self._folder / _SEEN).read_bytes())
        except (OSError, ValueError):
            return {}
        return seen if isinstance(seen, dict) else {}

    def _replace(self, folder: Path, name: str, data: bytes) -> None:
        try:
            with open_folder(folder) as fd:
                replace_file(fd, name, data)
        except OSError as error:
            raise ToolError(f"The files could not be saved: {folder / name}: {error.strerror}") from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from deleting what is not part of a checkpoint yet."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open_folder(self._folder) as fd, file_lock(fd, _LOCK):
                yield
        except OSError as error:
            raise ToolError(f"{self._folder} cannot be used: {error.strerror}") from error


def _points_in(folder: Path) -> Iterator[Point]:
    for file in folder.glob("*.json"):
        # Another process may just have dropped it.
        with contextlib.suppress(FileNotFoundError):
            facts = json.loads(file.read_bytes())
            saved = Saved(facts["tree"], tuple(facts["left_out"]))
            yield Point(int(file.stem), facts["at"], saved, facts["entry"], facts["undoes"])


def _kind(old: _Entry | None, new: _Entry | None) -> ChangeKind:
    if old is None:
        return ChangeKind.CREATED
    return ChangeKind.DELETED if new is None else ChangeKind.CHANGED


def _stamp(status: os.stat_result) -> _Stamp:
    return [status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns]
