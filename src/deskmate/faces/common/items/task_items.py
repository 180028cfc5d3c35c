"""Tasks as items."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import assert_never

from deskmate.core.log.names import IN_CHARGE
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.tasks import BoardState, Task, TaskStatus, blockers
from deskmate.core.values import frozen
from deskmate.faces.common.items.conflict_items import short_words


class TaskState(StrEnum):
    """How far the work on a task has got, in the words that people see."""

    FREE = "free"
    GIVEN = "given"
    BLOCKED = "blocked"
    IN_PROGRESS = "in progress"
    DONE = "done"
    DROPPED = "dropped"


@frozen
class TaskItem:
    """A task. `waits_for`: the tasks that it is blocked by and that are not completed.

    `overlaps`: where the work of its owner meets that of others, while the task is in progress.
    """

    task: Task
    waits_for: tuple[int, ...] = ()
    overlaps: tuple[Overlap, ...] = ()

    @property
    def state(self) -> TaskState:
        """How far it is."""
        if self.waits_for:
            return TaskState.BLOCKED
        match self.task.status:
            case TaskStatus.PENDING:
                return TaskState.GIVEN if self.task.owner else TaskState.FREE
            case TaskStatus.IN_PROGRESS:
                return TaskState.IN_PROGRESS
            case TaskStatus.COMPLETED:
                return TaskState.DONE
            case TaskStatus.DELETED:
                return TaskState.DROPPED
            case unreachable:
                assert_never(unreachable)

    @property
    def blocked(self) -> str:
        """What it waits for: `blocked by #1, #2`; empty if nothing."""
        return f"blocked by {numbers(self.waits_for)}" if self.waits_for else ""

    @property
    def meets(self) -> str:
        """How its work meets that of others: `conflicts with bob`; empty if it does not."""
        return short_words(self.task.owner or "", self.overlaps)

    @property
    def role(self) -> str:
        """Whom it is for; empty if for anybody."""
        return f"for {self.task.role}" if self.task.role else ""

    @property
    def verified(self) -> str:
        """Whether its command has verified it; empty if it has none."""
        receipt = self.task.receipt
        if receipt is None:
            return "" if self.task.verify is None else "to verify"
        return f"exit status {receipt.exit}" if receipt.exit else "verified"

    @property
    def proof(self) -> str:
        """Whether its command has verified it, and the command; empty if it has none."""
        command = self.task.receipt.command if self.task.receipt else self.task.verify
        return f"{self.verified}: {command}" if self.verified else ""


def task_items(board: BoardState) -> tuple[TaskItem, ...]:
    """Return the tasks of a board by number, without deleted ones."""
    return tuple(task_item(board, task) for task in board.current)


def task_item(board: BoardState, task: Task) -> TaskItem:
    """Return one task of a board."""
    return TaskItem(task, tuple(blockers(board, task)), _overlaps(board, task))


def _overlaps(board: BoardState, task: Task) -> tuple[Overlap, ...]:
    if task.status is not TaskStatus.IN_PROGRESS:
        return ()
    return tuple(overlap for overlap in board.overlaps if task.owner in overlap.members)


def teammates_in(created_by: str | None, editors: Iterable[str]) -> str:
    """Return which teammates wrote a task. Lead and user are not named, because they may give any order."""
    created = f"by {created_by}" if created_by and created_by not in IN_CHARGE else ""
    edited = [name for name in editors if name not in IN_CHARGE]
    return ", ".join(filter(None, [created, f"edited by {', '.join(edited)}" if edited else ""]))


def numbers(ids: Sequence[int]) -> str:
    """Return task numbers as they are written everywhere."""
    return ", ".join(f"#{id_}" for id_ in ids)
