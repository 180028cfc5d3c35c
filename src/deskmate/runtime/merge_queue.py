"""Merges the work of members into the branch of their team, in the order of their offers.

If the team has a check, tasks that wait together are merged one on top of the other, and the check runs once on the
result. If it fails, bisection finds the task that it belongs to.

The queue is the offers on the board, so the next process continues where a killed one was. No model takes part. The
work of a task is merged once: before anything else, the branch is asked whether it has that work.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, assert_never

from deskmate.core.agent.merge_texts import MergeConflict, check_failed, conflict_text, git_failed, hook_refused
from deskmate.core.log.names import BOARD
from deskmate.core.merge_batches import MAX_BATCH, next_limit, next_prefix
from deskmate.core.team.tasks import Receipt, Task, merge_queue
from deskmate.core.values import frozen
from deskmate.errors import TaskRefused, ToolError
from deskmate.ports import Ran
from deskmate.runtime.team_state import TeamState


class MergeTarget(Protocol):
    """The branch of a team."""

    @property
    def name(self) -> str:
        """Its name."""

    async def tip(self) -> str:
        """Return the commit that it is at. Raises ToolError if it is gone."""

    async def contains(self, commit: str, tip: str) -> bool:
        """Tell whether the work of a commit is in the branch."""

    async def merge_of(self, commit: str, tip: str) -> str | None:
        """Return the commit of the branch that merged another one, or None."""

    async def merge(self, tip: str, commit: str, subject: str, task: int) -> str | MergeConflict:
        """Return a commit that merges another one, or where they conflict. The branch does not move."""

    async def is_same(self, commit: str, other: str) -> bool:
        """Tell whether two commits have the same files."""

    async def folder_at(self, commit: str) -> str:
        """Return a folder with exactly the files of a commit, in a tree that no member can write to."""

    async def check(self, commit: str, command: str) -> Ran:
        """Run a command on the files of a commit, in a tree that no member can write to."""

    async def advance(self, tip: str, to: str) -> bool:
        """Move the branch. Return False if it has moved meanwhile."""


class CompletionHooks(Protocol):
    """The hooks that hear of tasks before they are completed."""

    async def refusal(self, task: Task, branch: str, folder: str) -> str:
        """Run them in a folder with the merged files. Return why they refuse the task, empty if they do not."""


class CodeCarrier(Protocol):
    """Brings work from other machines, and the branch to them."""

    async def bring(self, member: str, commit: str) -> None:
        """Bring the work that a member offers into the repository. Raises ToolError if that is not possible."""

    async def publish(self, tip: str) -> None:
        """Show the branch to members on other machines."""


@frozen
class BatchEntry:
    """A task of a batch. `merged`: the commit that merges its work on top of the entry before.

    `changed`: its files are not those that its owner verified and hooks heard of.
    """

    task: Task
    merged: str
    receipt: Receipt | None
    changed: bool


@frozen
class AlreadyMerged:
    """The branch has the work of a task. `merged`: the commit that brought it."""

    merged: str


@frozen
class NotMerged:
    """The work of a task does not merge, or its own command fails on the result."""

    reason: str


class MergeQueue:
    """The queue of one team. `check`: the command that must succeed on every merged result, besides the task's own.

    `hooks`: asked about each result whose files merging changed. Before, they were asked as the owner's call began.
    `carrier`: for members on other machines, if there can be any. They see the branch before their task is completed.
    """

    def __init__(
        self,
        team_state: TeamState,
        target: MergeTarget,
        check: str = "",
        hooks: CompletionHooks | None = None,
        carrier: CodeCarrier | None = None,
    ) -> None:
        self._team_state, self._target, self._check, self._hooks = team_state, target, check, hooks
        self._carrier = carrier
        # Without a check, a batch saves nothing.
        self._limit = MAX_BATCH if check else 1

    async def keep(self) -> None:
        """Merge what is offered, until cancelled."""
        board = self._team_state.board
        while True:
            state = await board.refresh()
            if queue := merge_queue(state):
                await self._settle(queue[: self._limit])
            else:
                await self._team_state.writer.store.changed({BOARD: state.number})

    async def _settle(self, tasks: Sequence[Task]) -> None:
        """Merge the work of tasks or return it. If the branch moves meanwhile, the offers stay for the next try."""
        try:
            tip = await self._target.tip()
            await self._publish(tip)
            if batch := await self._batch(tip, tasks):
                await self._accept(tip, batch)
        except ToolError as error:
            if len(tasks) > 1:
                # One by one, the task that it belongs to gets the reason.
                self._limit = 1
            else:
                await self._return(tasks[0], git_failed(str(error)))

    async def _batch(self, tip: str, tasks: Sequence[Task]) -> list[BatchEntry]:
        """Merge tasks one on top of the other, as many as need only the check. The branch does not move.

        If the first one needs something else, it is completed or returned, and there is no batch. A later one is left
        for the next batch, because the tasks before it may not be accepted.
        """
        batch = list[BatchEntry]()
        for task in tasks:
            found = await self._merge(batch[-1].merged if batch else tip, task)
            match found:
                case BatchEntry():
                    batch.append(found)
                    continue
                case AlreadyMerged(merged=merged) if not batch:
                    assert task.offer is not None, "it is in the queue"
                    await self._complete(task, task.offer.receipt, merged)
                case NotMerged(reason=reason) if not batch:
                    await self._return(task, reason)
                case AlreadyMerged() | NotMerged():
                    pass
                case unreachable:
                    assert_never(unreachable)
            break
        return batch

    async def _merge(self, tip: str, task: Task) -> BatchEntry | AlreadyMerged | NotMerged:
        """Merge a task's work on top of a commit, and run its own command on the result if its owner did not."""
        assert task.offer is not None, "it is in the queue"
        commit, receipt, target = task.offer.commit, task.offer.receipt, self._target
        if self._carrier and task.owner:
            await self._carrier.bring(task.owner, commit)
        if await target.contains(commit, tip):
            return AlreadyMerged(await target.merge_of(commit, tip) or tip)
        merged = await target.merge(tip, commit, task.subject, task.id)
        if isinstance(merged, MergeConflict):
            return NotMerged(conflict_text(target.name, merged))
        changed = bool(task.verify or self._hooks) and not await target.is_same(merged, commit)
        if not task.verify or not changed:
            return BatchEntry(task, merged, receipt, changed)
        ran = await target.check(merged, task.verify)
        if ran.exit != 0:
            return NotMerged(self._failed(ran, own=True))
        if receipt is not None:
            receipt = receipt.model_copy(update={"commit": merged, "clean": True, "output": ran.output[-4096:]})
        return BatchEntry(task, merged, receipt, changed)

    async def _accept(self, tip: str, batch: Sequence[BatchEntry]) -> None:
        """Move the branch over the tasks of a batch before the first bad one, and return that one."""
        accepted, failure = await self._bisect(batch) if self._check else (len(batch), None)
        why = self._failed(failure, own=False) if failure is not None else ""
        if refused := await self._refused(batch[:accepted]):
            accepted, why = refused
        if accepted and not await self._target.advance(tip, batch[accepted - 1].merged):
            return
        if accepted:
            await self._publish(batch[accepted - 1].merged)
        for entry in batch[:accepted]:
            await self._complete(entry.task, entry.receipt, entry.merged)
        if why:
            await self._return(batch[accepted].task, why)

    async def _refused(self, batch: Sequence[BatchEntry]) -> tuple[int, str] | None:
        """Return which task of a batch hooks refuse first, and why. None if they refuse none."""
        for number, entry in enumerate(batch) if self._hooks else ():
            if not entry.changed:
                continue
            folder = await self._target.folder_at(entry.merged)
            if self._hooks and (why := await self._hooks.refusal(entry.task, self._target.name, folder)):
                return number, hook_refused(self._target.name, why)
        return None

    async def _bisect(self, batch: Sequence[BatchEntry]) -> tuple[int, Ran | None]:
        """Return how many tasks of a batch the check accepts, and how it failed with the next one."""
        passed, failed, failure = 0, None, None
        while prefix := next_prefix(len(batch), passed, failed):
            ran = await self._target.check(batch[prefix - 1].merged, self._check)
            if ran.exit == 0:
                passed = prefix
            else:
                failed, failure = prefix, ran
        self._limit = next_limit(self._limit, len(batch), passed, failed=failed is not None)
        return passed, failure

    async def _publish(self, tip: str) -> None:
        if self._carrier:
            await self._carrier.publish(tip)

    def _failed(self, ran: Ran, *, own: bool) -> str:
        return check_failed(self._target.name, ran.ended or f"exit status {ran.exit}", ran.output, own=own)

    async def _complete(self, task: Task, receipt: Receipt | None, merged: str) -> None:
        assert task.owner is not None, "only an owner offers work"
        # Refused: the task changed hands while its work was merged. The work is in the branch all the same.
        with suppress(TaskRefused):
            await self._team_state.board.complete(task.owner, task.id, task.epoch, receipt=receipt, merged=merged)

    async def _return(self, task: Task, reason: str) -> None:
        assert task.owner is not None, "only an owner offers work"
        assert task.offer is not None, "it is in the queue"
        with suppress(TaskRefused):
            await self._team_state.board.return_offer(task.owner, task.id, task.offer.number, reason)
