"""What a checkpoint is, how they are kept, and what a restore does with each file."""

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from deskmate.core.values import frozen

# Larger files are left out, unless git tracks them and they did not change.
MOST_FILE_BYTES = 10_000_000
_DAY_SECONDS = 86400


@frozen
class Saved:
    """The files of a workspace at one time. `tree`: the name of their saved copy.

    `left_out`: files that are not in it as they were, because they are too large or cannot be read. `secret`: files
    that are not in it, because they have a secret.
    """

    tree: str
    left_out: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()


@frozen
class Point:
    """A checkpoint. `entry`: the lead's entry with the message of the user that it was made before.

    `undoes`: it was made before the files of that checkpoint were restored. `before`: what else it was made before,
    such as a task, in words.
    """

    number: int
    at: float
    saved: Saved
    entry: int | None = None
    undoes: int | None = None
    before: str = ""


class ChangeKind(StrEnum):
    """What happened to a file between two checkpoints."""

    CHANGED = "changed"
    CREATED = "created"
    DELETED = "deleted"


@frozen
class Change:
    """A file that differs between two checkpoints."""

    path: str
    kind: ChangeKind


@frozen
class RestorePlan:
    """What a restore does. `write`: files to bring back. `remove`: files that the team created since, unchanged.

    `doubtful`: files created since, perhaps by the user. `kept`: files that differ and are not touched, because one of
    the two checkpoints does not have them.
    """

    write: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.write or self.remove or self.doubtful or self.kept)


def restore_plan(
    changes: Iterable[Change], left_out: Collection[str], is_of_team: Callable[[str], bool]
) -> RestorePlan:
    """Return what a restore does with the files that changed since a checkpoint.

    `left_out`: files that are not in both checkpoints as they were. `is_of_team`: whether a file is as the team wrote
    it.
    """
    write, remove, doubtful, kept = list[str](), list[str](), list[str](), list[str]()
    for change in changes:
        if change.path in left_out:
            kept.append(change.path)
        elif change.kind is not ChangeKind.CREATED:
            write.append(change.path)
        else:
            (remove if is_of_team(change.path) else doubtful).append(change.path)
    return RestorePlan(tuple(write), tuple(remove), tuple(doubtful), tuple(kept))


def outdated(points: Sequence[Point], most: int, days: float, now: float) -> list[int]:
    """Return the numbers of checkpoints to drop: all but the last `most`, and those older than this many days.

    The last one always stays, so that its number is never given again.
    """
    ordered = sorted(points, key=lambda point: point.number)
    older = ordered[: -max(most, 1)]
    aged = [point for point in ordered[:-1] if point.at < now - days * _DAY_SECONDS]
    return sorted({point.number for point in (*older, *aged)})


class Checkpoints(Protocol):
    """The checkpoints of one team. Every method but `save` and `restore` blocks. All raise ToolError."""

    def points(self) -> tuple[Point, ...]:
        """Return all checkpoints, oldest first."""

    async def save(self) -> Saved:
        """Save the files of the workspace as they are now. They are a checkpoint only after `add`."""

    def add(self, saved: Saved, *, entry: int | None = None, undoes: int | None = None, before: str = "") -> Point:
        """Make a checkpoint of saved files."""

    def changes(self, before: str, after: str) -> tuple[Change, ...]:
        """Return the files that differ between two trees."""

    def diff(self, before: str, after: str) -> str:
        """Return the differences between two trees as a patch."""

    def paths(self, tree: str) -> tuple[str, ...]:
        """Return the files of a tree."""

    def content(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a regular file in a tree, or None if there is none."""

    async def restore(self, tree: str, write: Sequence[str], remove: Sequence[str]) -> None:
        """Write some files as they are in a tree, and remove others. Nothing else is touched.

        A kill in between leaves the rest as it was, and repeating it finishes it. In git, one file may be missing or
        unfinished then. A file that cannot be written is left as it is: the caller compares.
        """

    def drop(self, numbers: Collection[int]) -> None:
        """Remove checkpoints."""

    def prune(self, most: int, days: float) -> None:
        """Remove checkpoints that are too many or too old, and outside git the oldest if all take too much room."""

    def drop_all(self) -> None:
        """Remove all checkpoints of the team, also unreadable ones."""
