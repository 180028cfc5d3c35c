"""Checkpoints outside git: copies in Deskmate's own folder, each content once.

    <state>/checkpoints/<workspace>/objects/<first two letters>/<the rest of the SHA-256>
    <state>/checkpoints/<workspace>/points/<team>/<number>.json
    <state>/checkpoints/<workspace>/seen.json

No command can reach them. A tree is an object too: the path of each file with its mode and its content. A file with a
secret is not copied.
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
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from anyio import to_thread

from deskmate.core.policy.redaction import Redaction
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.fs.safe_files import file_lock, private_folder, replace_file
from deskmate.workspace.checkpoints.file_copies import FoundFile, files_below, remove_file, write_file
from deskmate.workspace.checkpoints.file_secrets import secrets_of
from deskmate.workspace.checkpoints.points import Change, ChangeKind, Point, Saved, outdated
from deskmate.workspace.paths import workspace_key

FOLDER, OBJECTS, POINTS, _SEEN, _LOCK = "checkpoints", "objects", "points", "seen.json", ".lock"
# A clock may be this coarse: a file that changed later could change again and keep the same times.
_SETTLED_NANOSECONDS = 3_000_000_000
_Stamp: TypeAlias = list[int]
MOST_KEPT_BYTES = 2_000_000_000
# In the place of the name of a content: there is no copy.
_SECRET = "secret"


@frozen
class _Entry:
    """A file in a tree. `key`: the name of its content."""

    mode: int
    key: str


class CopyCheckpoints:
    """The checkpoints of one team. `state`: the folder of Deskmate's own data. `redaction`: finds secrets.

    `most_bytes`: how much room the copies of all teams of the workspace may take.
    """

    def __init__(
        self, workspace: Path, state: Path, team: str, redaction: Redaction, most_bytes: int = MOST_KEPT_BYTES
    ) -> None:
        self._workspace, self._state, self._team, self._redaction = workspace, state, team, redaction
        self._most_bytes = most_bytes
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
            tree, now_seen = dict[str, list[object]](), dict[str, tuple[_Stamp, str]]()
            left_out, secret = list[str](), list[str]()
            settled = time.time_ns() - _SETTLED_NANOSECONDS
            for found in files_below(self._workspace, self._state):
                key = self._kept(found, seen)
                if key is None or key == _SECRET:
                    # The name of a file may be a secret, too.
                    (secret if key else left_out).append(self._redaction.text(found.path))
                    continue
                tree[found.path] = [found.status.st_mode, key]
                if found.status.st_ctime_ns < settled:
                    now_seen[found.path] = _stamp(found.status), key
            self._replace(json.dumps(now_seen).encode(), _SEEN)
            kept = self._keep(json.dumps(dict(sorted(tree.items()))).encode())
            return Saved(kept, tuple(sorted(left_out)), tuple(sorted(secret)))

    def _kept(self, found: FoundFile, seen: dict[str, Any]) -> str | None:
        """Keep the content of a file. Return its name, _SECRET, or None for a file that is too large or unreadable."""
        known = seen.get(found.path)
        if known and known[0] == _stamp(found.status) and self._object(known[1]).exists():
            return str(known[1])
        data = None if found.is_large else found.read()
        if data is None:
            return None
        return _SECRET if secrets_of(self._redaction, found.path, data) else self._keep(data)

    def add(self, saved: Saved, *, entry: int | None = None, undoes: int | None = None, before: str = "") -> Point:
        """Make a checkpoint of saved files."""
        with self._locked():
            number = max((point.number for point in self.points()), default=0) + 1
            point = Point(number, time.time(), saved, entry, undoes, before)
            facts = {"at": point.at, **asdict(saved), "entry": entry, "undoes": undoes, "before": before}
            self._replace(json.dumps(facts).encode(), POINTS, self._team, f"{number}.json")
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
        lines, trees = list[str](), (self._tree(before), self._tree(after))
        for change in self.changes(before, after):
            old, new = (self._content(tree.get(change.path)) or b"" for tree in trees)
            if b"\0" in old + new:
                lines.append(f"Binary files a/{change.path} and b/{change.path} differ\n")
                continue
            a, b = (data.decode(errors="replace").splitlines(keepends=True) for data in (old, new))
            patch = difflib.unified_diff(a, b, f"a/{change.path}", f"b/{change.path}")
            lines += (line if line.endswith("\n") else f"{line}\n" for line in patch)
        return "".join(lines)

    def paths(self, tree: str) -> tuple[str, ...]:
        """Return the files of a tree."""
        return tuple(sorted(self._tree(tree)))

    def content(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a regular file in a tree, or None if there is none."""
        return self._content(self._tree(tree).get(path))

    def _content(self, entry: _Entry | None) -> bytes | None:
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

    def prune(self, most: int, days: float) -> None:
        """Remove checkpoints that are too many or too old, and the oldest of any team if all take too much room."""
        self.drop(outdated(self.points(), most, days, time.time()))
        with self._locked():
            if excess := self._excess():
                for file in excess:
                    file.unlink(missing_ok=True)
                self._sweep()

    def _excess(self) -> list[Path]:
        """Return the files of the oldest checkpoints of any team that do not fit. The last one of a team stays."""
        objects = (self._folder / OBJECTS).glob("*/*")
        sizes = {f"{file.parent.name}{file.name}": file.stat().st_size for file in objects}
        if sum(sizes.values()) <= self._most_bytes:
            return []
        teams = [folder for folder in (self._folder / POINTS).iterdir() if folder.is_dir()]
        points = [(point, folder) for folder in teams for point in _points_in(folder)]
        last = {folder: max(point.number for point, at in points if at == folder) for _, folder in points}
        counted, size, excess = set[str](), 0, list[Path]()
        for point, folder in sorted(points, key=lambda one: -one[0].at):
            keys = {point.saved.tree, *(entry.key for entry in self._tree(point.saved.tree).values())}
            size += sum(sizes.get(key, 0) for key in keys - counted)
            counted |= keys
            if size > self._most_bytes and point.number != last[folder]:
                excess.append(folder / f"{point.number}.json")
        return excess

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
            self._replace(data, OBJECTS, place.parent.name, place.name)
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

    def _replace(self, data: bytes, *path: str) -> None:
        try:
            with self._private(*path[:-1]) as fd:
                replace_file(fd, path[-1], data)
        except OSError as error:
            raise ToolError(
                f"The files could not be saved: {self._folder.joinpath(*path)}: {error.strerror}"
            ) from error

    def _private(self, *parts: str) -> AbstractContextManager[int]:
        """Keep a folder of the checkpoints open that only the user can read."""
        return private_folder(self._state, FOLDER, self._folder.name, *parts)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from deleting what is not part of a checkpoint yet."""
        try:
            self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._private() as fd, file_lock(fd, _LOCK):
                yield
        except OSError as error:
            raise ToolError(f"{self._folder} cannot be used: {error.strerror}") from error


def _points_in(folder: Path) -> Iterator[Point]:
    for file in folder.glob("*.json"):
        # Another process may just have dropped it.
        with contextlib.suppress(FileNotFoundError):
            facts = json.loads(file.read_bytes())
            saved = Saved(facts["tree"], tuple(facts["left_out"]), tuple(facts["secret"]))
            yield Point(int(file.stem), facts["at"], saved, facts["entry"], facts["undoes"], facts.get("before", ""))


def _kind(old: _Entry | None, new: _Entry | None) -> ChangeKind:
    if old is None:
        return ChangeKind.CREATED
    return ChangeKind.DELETED if new is None else ChangeKind.CHANGED


def _stamp(status: os.stat_result) -> _Stamp:
    return [status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns]
