"""Merges the work of members into the branch of their team, one offer after the other.

The queue is the offers on the board, so the next process continues where a killed one was. No model takes part. The
work of a task is merged once: before anything else, the branch is asked whether it has that work.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from deskmate.core.agent.merge_texts import MergeConflict, check_failed, conflict_text, git_failed
from deskmate.core.log.names import BOARD
from deskmate.core.team.tasks import Receipt, Task, merge_queue
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

    async def merge(self, tip: str, commit: str, subject: str, task: int) -> str | MergeConflict:
        """Return a commit that merges another one, or where they conflict. The branch does not move."""

    async def is_same(self, commit: str, other: str) -> bool:
        """Tell whether two commits have the same files."""

    async def check(self, commit: str, command: str) -> Ran:
        """Run a command on the files of a commit, in a tree that no member can write to."""

    async def advance(self, tip: str, to: str) -> bool:
        """Move the branch. Return False if it has moved meanwhile."""


class MergeQueue:
    """The queue of one team. `check`: the command that must succeed on every merged result, besides the task's own."""

    def __init__(self, team_state: TeamState, target: MergeTarget, check: str = "") -> None:
        self._team_state, self._target, self._check = team_state, target, check

    async def keep(self) -> None:
        """Merge what is offered, until cancelled."""
        board = self._team_state.board
        while True:
            state = await board.refresh()
            if queue := merge_queue(state):
                await self._settle(queue[0])
            else:
                await self._team_state.writer.store.changed({BOARD: state.number})

    async def _settle(self, task: Task) -> None:
        """Merge the work of a task or return it. If the branch moves meanwhile, the offer stays for the next try."""
        try:
            await self._merge(task)
        except ToolError as error:
            await self._return(task, git_failed(str(error)))

    async def _merge(self, task: Task) -> None:
        assert task.offer is not None, "it is in the queue"
        commit, target = task.offer.commit, self._target
        tip = await target.tip()
        if await target.contains(commit, tip):
            await self._complete(task, task.offer.receipt, tip)
            return
        merged = await target.merge(tip, commit, task.subject, task.id)
        if isinstance(merged, MergeConflict):
            await self._return(task, conflict_text(target.name, merged))
            return
        receipt = task.offer.receipt
        for command in await self._commands(task, merged):
            ran = await target.check(merged, command)
            if ran.exit != 0:
                own = command == task.verify
                await self._return(
                    task, check_failed(target.name, ran.ended or f"exit status {ran.exit}", ran.output, own=own)
                )
                return
            if command == task.verify and receipt is not None:
                receipt = receipt.model_copy(update={"commit": merged, "clean": True, "output": ran.output[-4096:]})
        if await target.advance(tip, merged):
            await self._complete(task, receipt, merged)

    async def _commands(self, task: Task, merged: str) -> Sequence[str]:
        """Return what must succeed on the merged files. The task's own command has, if these are the owner's files."""
        assert task.offer is not None, "it is in the queue"
        again = task.verify and not await self._target.is_same(merged, task.offer.commit)
        return [command for command in (task.verify if again else "", self._check) if command]

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
