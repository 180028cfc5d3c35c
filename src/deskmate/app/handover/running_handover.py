"""The hand-over while the team runs: before the lead thinks, so that it sees the finished work of its teammates."""

from collections.abc import Callable, Coroutine
from typing import Any

from anyio import to_thread

from deskmate.core.agent.entries import Noticed
from deskmate.core.agent.merge_texts import handed_over, listed, not_handed_over
from deskmate.core.team.tasks import BoardState
from deskmate.errors import DeskmateError
from deskmate.workspace.trees.handover.branch_handover import HandedOver, Handover
from deskmate.workspace.trees.tree_places import TreePlaces


class RunningHandover:
    """Hands the work of a lead's teams over if there is new work, or if it was not possible and the user spoke since.

    `checkpoint`: saves the files of the user first.
    """

    def __init__(self, places: TreePlaces, checkpoint: Callable[[int, str], Coroutine[Any, Any, None]] | None) -> None:
        self._places, self._checkpoint = places, checkpoint
        self._handed = dict[str, frozenset[int]]()
        self._tried = dict[str, tuple[frozenset[int], int]]()

    async def look(self, team: str, board: BoardState, asked_at: int, writers: str) -> Noticed | None:
        """Hand over what is new in a team. Return what the lead is told, if anything.

        `writers`: who may change files of the user at this moment. While somebody may, nothing is handed over.
        """
        merged = frozenset(task.id for task in board.tasks.values() if task.merged)
        if not merged or self._tried.get(team) == (merged, asked_at):
            return None
        handover = Handover(self._places, team, self._places.workspace)
        pending = await to_thread.run_sync(handover.pending)
        if pending is None:
            self._tried[team] = (merged, asked_at)
            return None
        if writers:
            return not_handed_over(pending.branch, f"{writers}, so its files cannot be changed now")
        self._tried[team] = (merged, asked_at)
        if self._checkpoint:
            tasks = listed([f"#{task}" for task in merged - self._handed.get(team, frozenset())])
            await self._checkpoint(max(merged), f"(finished work of {tasks or pending.branch} comes in)")
        try:
            end = await to_thread.run_sync(handover.run)
        except DeskmateError as error:
            return not_handed_over(pending.branch, str(error))
        if isinstance(end, HandedOver):
            self._handed[team] = merged
            return handed_over(end.branch, end.into, end.commit, end.files, end.uncommitted) if end.files else None
        return not_handed_over(end.branch, end.reason)
