"""Restores files as they were before a message of the user. What is overwritten is saved first."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from deskmate.app.rewind.checkpointing import team_checkpoints
from deskmate.config import Settings
from deskmate.core.log.fingerprints import fingerprint
from deskmate.core.log.names import LEAD
from deskmate.core.policy.redaction import Redaction
from deskmate.core.values import frozen
from deskmate.errors import Held, Refused, TeamRunning, ToolError
from deskmate.queries.stream_reader import team_at, workspace_at
from deskmate.queries.user_messages import words_by_entry, written_files
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import home_of
from deskmate.trust.known_secrets import redaction_of
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.trust.team_signature import Signing
from deskmate.workspace.checkpoints.file_copies import has_file
from deskmate.workspace.checkpoints.points import (
    Change,
    ChangeKind,
    Checkpoints,
    Point,
    RestorePlan,
    Saved,
    restore_plan,
)
from deskmate.workspace.sandbox.mounts import Sandbox


@frozen
class RewindPoint:
    """A checkpoint as it is listed. `words`: the message of the user, or what else followed.

    `changed`: how many files differ. `undoes`: it was made before the files of that checkpoint were restored.
    `left_out`: files that are not in it, because they are too large or cannot be read. `secret`: files that are not in
    it, because they have a secret.
    """

    number: int
    at: float
    words: str
    changed: int
    undoes: int | None
    left_out: tuple[str, ...]
    secret: tuple[str, ...] = ()


@frozen
class Preview:
    """What restoring a checkpoint would do. `diff`: what changed since then.

    `secret`: files that stay as they are, because they have or had a secret.
    """

    number: int
    plan: RestorePlan
    diff: str
    secret: tuple[str, ...] = ()


@frozen
class Restored:
    """What was restored. `undo`: the checkpoint with everything as it was before, None if nothing differed.

    `kept`: files created since, perhaps by the user. `failed`: files that could not be written or removed. `left_out`:
    files that stayed as they are, because they are or were too large or unreadable, or are ignored now. `secret`:
    because they have or had a secret.
    """

    number: int
    undo: int | None
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()


@dataclass
class Rewinder:
    """Goes back to checkpoints of one team, the first one of its lead."""

    place: Path
    team: str
    checkpoints: Checkpoints

    async def points(self) -> tuple[RewindPoint, ...]:
        """Return all checkpoints, oldest first."""
        now = await self._save()
        return await to_thread.run_sync(self._points, now)

    def _points(self, now: Saved) -> tuple[RewindPoint, ...]:
        words = words_by_entry(self.place, self.team)
        return tuple(self._listed(point, words, now) for point in self.checkpoints.points())

    def _listed(self, point: Point, words: dict[int, str], now: Saved) -> RewindPoint:
        changed = len(self.checkpoints.changes(point.saved.tree, now.tree))
        message, saved = point.before or words.get(point.entry or 0, ""), point.saved
        return RewindPoint(point.number, point.at, message, changed, point.undoes, saved.left_out, saved.secret)

    async def preview(self, number: int) -> Preview:
        """Return what restoring a checkpoint would do. Raises Refused if there is none of this number."""
        point, now = await self.point(number), await self._save()
        plan = await to_thread.run_sync(self._plan, point, now)
        diff = await to_thread.run_sync(self.checkpoints.diff, point.saved.tree, now.tree)
        return Preview(number, plan, diff, _secret(point, now))

    async def restore(self, number: int, *, force: bool = False) -> Restored:
        """Restore the files of a checkpoint. Raises Refused if there is none of this number.

        `force`: also remove files that were created since, perhaps by the user. If this is interrupted, repeat it.
        """
        point, now = await self.point(number), await self._save()
        plan = await to_thread.run_sync(self._plan, point, now)
        remove = (*plan.remove, *(plan.doubtful if force else ()))
        secret = _secret(point, now)
        kept, left_out = () if force else plan.doubtful, tuple(path for path in plan.kept if path not in secret)
        if not plan.write and not remove:
            return Restored(number, None, kept=kept, left_out=left_out, secret=secret)
        # Before anything is changed, so that it can be undone.
        undo = await to_thread.run_sync(self._undo, point, now)
        await self.checkpoints.restore(point.saved.tree, plan.write, remove)
        after = await self._save()
        changes = await to_thread.run_sync(self.checkpoints.changes, point.saved.tree, after.tree)
        failed = {change.path for change in changes}.intersection((*plan.write, *remove))
        written, removed = (tuple(path for path in paths if path not in failed) for paths in (plan.write, remove))
        return Restored(number, undo.number, written, removed, kept, tuple(sorted(failed)), left_out, secret)

    def _undo(self, point: Point, now: Saved) -> Point:
        """Return the checkpoint that undoes a restore. If that was begun before, it is the one made then."""
        last, changes = self.checkpoints.points()[-1], self.checkpoints.changes
        if last.undoes == point.number:
            left = {change.path for change in changes(point.saved.tree, now.tree)}
            neither = [change for change in changes(last.saved.tree, now.tree) if change.path in left]
            if all(self._is_torn(change, point, now) for change in neither):
                return last
        return self.checkpoints.add(now, undoes=point.number)

    def _is_torn(self, change: Change, point: Point, now: Saved) -> bool:
        """Tell whether a file is missing or ends too early, as if git had been killed while it wrote the file."""
        whole, part = (self.checkpoints.content(saved.tree, change.path) for saved in (point.saved, now))
        is_part = whole is not None and part is not None and whole.startswith(part)
        return is_part or change.kind is ChangeKind.DELETED

    async def point(self, number: int) -> Point:
        """Return a checkpoint. Raises Refused if there is none of this number."""
        points = await to_thread.run_sync(self.checkpoints.points)
        found = next((point for point in points if point.number == number), None)
        if found is None:
            raise Refused(
                f"Team '{self.team}' has no point {number}",
                f"To list the points, run: deskmate rewind {self.team}. In a conversation, type: /rewind",
            )
        return found

    def _plan(self, point: Point, now: Saved) -> RestorePlan:
        written = written_files(self.place, self.team)
        paths = {path for path, _ in written}

        def is_of_team(path: str) -> bool:
            data = self.checkpoints.content(now.tree, path) if path in paths else None
            return data is not None and (path, fingerprint(data)) in written

        changes = self.checkpoints.changes(point.saved.tree, now.tree)
        workspace = Path(os.path.realpath(self.place))
        deleted = [change.path for change in changes if change.kind is ChangeKind.DELETED]
        # Git ignores these now, or they are in another repository. They are not saved, so nothing could undo this.
        hidden = [path for path in deleted if has_file(workspace, path)]
        left_out = {*point.saved.left_out, *now.left_out, *_secret(point, now), *hidden}
        return restore_plan(changes, left_out, is_of_team)

    async def _save(self) -> Saved:
        try:
            return await self.checkpoints.save()
        except ToolError as error:
            raise Refused(f"The files here cannot be compared: {error}") from error


def _secret(point: Point, now: Saved) -> tuple[str, ...]:
    return tuple(sorted({*point.saved.secret, *now.secret}))


def rewinder_of(place: Path, team: str, settings: Settings, sandbox: Sandbox, redaction: Redaction) -> Rewinder:
    """Return what goes back to checkpoints of a team. Raises Refused if there can be none here."""
    try:
        return Rewinder(place, team, team_checkpoints(place, team, settings, sandbox, redaction))
    except ToolError as error:
        raise Refused(f"There are no checkpoints here: {error}") from error


def stopped_rewinder(folder: Path | None, team: str | None, settings: Settings) -> Rewinder:
    """Return what goes back to checkpoints of a team, by default the one that was used last. Raises Refused."""
    place = workspace_at(folder)
    name = home_of(place, team_at(place, team))
    Signing(settings.state, place).check(name)
    return rewinder_of(place, name, settings, sandbox_of(settings), redaction_of(settings))


@asynccontextmanager
async def kept_stopped(place: Path, team: str) -> AsyncIterator[None]:
    """Keep everybody from running a team meanwhile. Raises TeamRunning if a process runs it now."""
    with closing(engine_at(place).open(team)) as store:
        try:
            async with store.hold(LEAD, f"process {os.getpid()}, which restores files"):
                yield
        except Held as error:
            raise TeamRunning(team, error.note) from error


async def compared(one: Rewinder, other: Rewinder) -> str:
    """Return how the files of two teams differ, as a patch. Raises Refused if one has no checkpoint.

    Of each team, its last checkpoint counts. Of the one that was used last, the files count as they are now.
    """
    trees = list[str]()
    latest = max((one, other), key=lambda rewinder: engine_at(rewinder.place).written(rewinder.team))
    for rewinder in (one, other):
        points = await to_thread.run_sync(rewinder.checkpoints.points)
        if rewinder is latest:
            trees.append((await rewinder.checkpoints.save()).tree)
        elif points:
            trees.append(points[-1].saved.tree)
        else:
            raise Refused(f"Team '{rewinder.team}' has no checkpoint, so its files are not known")
    return await to_thread.run_sync(lambda: one.checkpoints.diff(*trees))
