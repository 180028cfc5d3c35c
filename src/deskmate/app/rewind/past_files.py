"""The files of a workspace as they were at a checkpoint of a team, or as they are now, to look at."""

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from anyio import to_thread

from deskmate.app.rewind.rewinding import stopped_rewinder
from deskmate.config import Settings
from deskmate.core.policy.redaction import Redaction
from deskmate.core.values import frozen
from deskmate.errors import Refused, ToolError
from deskmate.queries.user_messages import words_by_entry
from deskmate.trust.known_secrets import redaction_of
from deskmate.workspace.checkpoints.points import Checkpoints, Point

# Of a large workspace, so many files are listed.
MOST_FILES = 5000
_MOST_BYTES = 400_000


@frozen
class PastPoint:
    """A checkpoint. `words`: the message of the user that it was made before, or what else followed."""

    number: int
    at: float
    words: str


@frozen
class PastFile:
    """A file at a checkpoint. `change`: how it differs from the first checkpoint, empty if it does not."""

    path: str
    change: str


@frozen
class PastContent:
    """A file at a checkpoint. `text`: None if it is binary or was deleted. `cut`: there is more of it."""

    text: str | None
    diff: str
    cut: bool = False


@dataclass
class PastFiles:
    """Looks at checkpoints of one team. Nothing here changes a file."""

    place: Path
    team: str
    checkpoints: Checkpoints
    redaction: Redaction

    async def points(self) -> tuple[PastPoint, ...]:
        """Return all checkpoints, oldest first."""
        return await to_thread.run_sync(self._points)

    def _points(self) -> tuple[PastPoint, ...]:
        words = words_by_entry(self.place, self.team)
        return tuple(
            PastPoint(one.number, one.at, one.before or words.get(one.entry or 0, "")) for one in self._known()
        )

    async def files(self, number: int | None) -> tuple[tuple[PastFile, ...], bool]:
        """Return the files of a checkpoint, changed ones first, and whether there are more. Raises Refused.

        Without a number, these are the files as they are now.
        """
        trees = await self._trees(number)
        return await to_thread.run_sync(self._files, *trees)

    def _files(self, first: str, tree: str) -> tuple[tuple[PastFile, ...], bool]:
        changed = {one.path: one.kind.value for one in self.checkpoints.changes(first, tree)}
        paths = self.checkpoints.paths(tree)
        listed = [*sorted(changed), *(path for path in paths if path not in changed)]
        files = tuple(PastFile(path, changed.get(path, "")) for path in listed[:MOST_FILES])
        return files, len(listed) > MOST_FILES

    async def content(self, number: int | None, path: str) -> PastContent:
        """Return a file at a checkpoint or now, and how it differs from the first one. Raises Refused."""
        trees = await self._trees(number)
        return await to_thread.run_sync(self._content, *trees, path)

    def _content(self, first: str, tree: str, path: str) -> PastContent:
        before, now = (self.checkpoints.content(one, path) for one in (first, tree))
        if before is None and now is None:
            raise Refused(f"There is no file {path[:200]!r} at this point")
        if any(b"\0" in data for data in (before, now) if data):
            return PastContent(None, "")
        old, new = (self._text(data or b"") for data in (before, now))
        diff = "" if old == new else "\n".join(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=5))
        cut = len(now or b"") > _MOST_BYTES
        return PastContent(None if now is None else new, diff, cut)

    async def diff(self) -> str:
        """Return what has changed since the first checkpoint, as a patch. Raises Refused."""
        first, tree = await self._trees(None)
        return self.redaction.text(await to_thread.run_sync(self.checkpoints.diff, first, tree))

    def _text(self, data: bytes) -> str:
        return self.redaction.text(data[:_MOST_BYTES].decode(errors="replace"))

    async def _trees(self, number: int | None) -> tuple[str, str]:
        """Return the first saved tree, and that of a checkpoint or the files as they are now."""
        points = await to_thread.run_sync(self._known)
        if not points:
            raise Refused(f"Team '{self.team}' has no checkpoint, so its files are not known")
        if number is None:
            return points[0].saved.tree, await self._now()
        point = next((point for point in points if point.number == number), None)
        if point is None:
            raise Refused(f"Team '{self.team}' has no point {number}")
        return points[0].saved.tree, point.saved.tree

    async def _now(self) -> str:
        try:
            return (await self.checkpoints.save()).tree
        except ToolError as error:
            raise Refused(f"The files here cannot be read: {error}") from error

    def _known(self) -> tuple[Point, ...]:
        try:
            return self.checkpoints.points()
        except ToolError as error:
            raise Refused(f"The checkpoints cannot be read: {error}") from error


def past_files_of(folder: Path | None, team: str | None, settings: Settings) -> PastFiles:
    """Return what looks at the checkpoints of a team, by default the one that was used last. Raises Refused."""
    rewinder = stopped_rewinder(folder, team, settings)
    return PastFiles(rewinder.place, rewinder.team, rewinder.checkpoints, redaction_of(settings))
