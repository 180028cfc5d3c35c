"""Creating, claiming, completing and releasing tasks.

Every change is decided on the same board that it is appended to. If two members want one task, one gets it and the
other is told who has it. The roster says who can be given work. Epochs are set here. A model never sees them.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import BOARD, LEAD
from deskmate.core.log.records import Decision, Record
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team import board_fold, tasks
from deskmate.core.team.board_rules import refusal
from deskmate.core.team.members import Member, recipient_refusal
from deskmate.core.team.task_fields import NewTask, TaskChange, values
from deskmate.core.team.tasks import (
    EMPTY,
    Assigned,
    BoardEvent,
    BoardLossAccepted,
    Claimed,
    Completed,
    Created,
    Deleted,
    Offered,
    OverlapsSeen,
    Receipt,
    Released,
    Returned,
    Task,
    TaskEdited,
)
from deskmate.errors import TaskRefused
from deskmate.runtime.streams.log_writer import Folded, LogWriter
from deskmate.runtime.streams.roster import Roster

F = TypeVar("F", NewTask, TaskChange)
_Make = Callable[[tasks.BoardState], BoardEvent | str | None]


class Board:
    """The shared tasks of a team, as all members of this process see them."""

    def __init__(self, writer: LogWriter, roster: Roster) -> None:
        self._writer, self._roster = writer, roster
        self._folded = Folded(writer.store, BOARD, EMPTY, board_fold.fold)

    @property
    def state(self) -> tasks.BoardState:
        """The board as last read."""
        return self._folded.state

    async def refresh(self) -> tasks.BoardState:
        """Read what is new and return the board."""
        return await self._folded.refresh()

    async def create(self, by: str, new: NewTask, *, cause: str | None = None) -> Task:
        """Put a task on the board under the next number. A repeated cause returns the task that it created.

        A task that a read-only member creates for itself stays its own: nobody else takes it, even if it is given back.
        Raises TaskRefused for an owner that is not on the team. An owner that leaves meanwhile does not get the task.
        Also for a `verify` that contains a secret, because only what is recorded can be run.
        """
        new = self._redacted(new)

        def event(board: tasks.BoardState) -> Created:
            wanted = replace(new, role=by) if self._is_private(by, new) else new
            return Created(by=by, at=self._now(), cause=cause, task=board.next_id, **values(wanted))

        made = await (self._give(new.owner, event, cause) if new.owner else self._change(event, cause))
        assert isinstance(made, Created)
        return self.state.tasks[made.task]

    async def edit(self, by: str, task: int, change: TaskChange, *, cause: str | None = None) -> Task:
        """Change the given texts and dependencies.

        Raises TaskRefused unless creator, owner, lead or user asks for it. Blocking a task counts as editing it.
        Also for a `verify` that contains a secret, because only what is recorded can be run.
        """
        edited = TaskEdited(by=by, at=self._now(), cause=cause, task=task, **values(self._redacted(change)))
        return await self._on(task, lambda _: edited, cause)

    def _is_private(self, by: str, new: NewTask) -> bool:
        """Return whether a read-only member creates a task for itself."""
        if new.owner != by or not self._reads_only(by):
            return False
        return not new.role or new.role == self._roster.state.members[by].role

    def _redacted(self, wanted: F) -> F:
        """Return a new task or a change with the secrets in its command replaced, so that the rules refuse it."""
        return replace(wanted, verify=wanted.verify and self._writer.redaction.text(wanted.verify))

    async def claim(self, member: Member, task: int, *, cause: str | None = None) -> Task:
        """Take a task for a member and start it. Raises TaskRefused with who has it or what it waits for."""
        by = member.name

        def event(found: Task) -> Claimed | str:
            # A task that the lead or the user assigned belongs to its owner, whatever its role says.
            if found.owner is None and not tasks.fits(found, name=by, role=member.role, reads_only=False):
                return _does_not_fit(found, by)
            return Claimed(by=by, at=self._now(), cause=cause, task=task, epoch=found.epoch)

        return await self._on(task, event, cause)

    async def claim_next(self, member: Member) -> Task | None:
        """Take the lowest task that is free, not blocked and fits a member. Return None if there is none."""

        def event(board: tasks.BoardState) -> Claimed | None:
            free = tasks.next_claimable(board, name=member.name, role=member.role, reads_only=not member.takes_any_task)
            return Claimed(by=member.name, at=self._now(), task=free.id, epoch=free.epoch) if free else None

        made = await self._change(event, None)
        return self.state.tasks[made.task] if isinstance(made, Claimed) else None

    async def assign(self, by: str, task: int, owner: str, *, cause: str | None = None) -> Task:
        """Give a task to a member of the team. Raises TaskRefused unless the lead or the user does it."""

        def event(board: tasks.BoardState) -> Assigned:
            epoch = _found(board, task).epoch
            return Assigned(by=by, at=self._now(), cause=cause, task=task, owner=owner, epoch=epoch)

        await self._give(owner, event, cause)
        return self.state.tasks[task]

    async def release(self, by: str, task: int, epoch: int, *, note: str = "", cause: str | None = None) -> Task:
        """Give a task back to the board. Raises TaskRefused if this epoch of the task has ended."""
        return await self._on(
            task, lambda _: Released(by=by, at=self._now(), cause=cause, task=task, epoch=epoch, note=note), cause
        )

    async def give_back(self, owner: str, *, note: str) -> list[Task]:
        """Release and return every unfinished task of a member that cannot continue."""
        mine = [task for task in (await self.refresh()).tasks.values() if task.owner == owner and task.is_open]
        released = []
        for task in mine:
            # Refused: the task got another owner or ended meanwhile, so there is nothing to give back.
            with suppress(TaskRefused):
                released.append(await self.release(owner, task.id, task.epoch, note=note))
        return released

    async def offer(
        self, by: str, task: int, epoch: int, commit: str, *, receipt: Receipt | None = None, cause: str | None = None
    ) -> Task:
        """Offer the work on a task for merging. Raises TaskRefused if this epoch of the task has ended."""
        offered = Offered(by=by, at=self._now(), cause=cause, task=task, epoch=epoch, commit=commit, receipt=receipt)
        return await self._on(task, lambda _: offered, cause)

    async def return_offer(self, by: str, task: int, offer: int, reason: str) -> Task:
        """Record why offered work was not merged. Raises TaskRefused if the task no longer has that offer."""
        return await self._on(
            task, lambda _: Returned(by=by, at=self._now(), task=task, offer=offer, reason=reason), None
        )

    async def settled(self, task: int, offer: int) -> Task:
        """Return a task once it no longer has that offer: its work was merged or returned, or it changed hands."""
        while True:
            board = await self.refresh()
            now = board.tasks[task].offer
            if now is None or now.number != offer:
                return board.tasks[task]
            await self._writer.store.changed({BOARD: board.number})

    async def complete(
        self,
        by: str,
        task: int,
        epoch: int,
        *,
        receipt: Receipt | None = None,
        merged: str | None = None,
        cause: str | None = None,
    ) -> Task:
        """Mark a task as done. Raises TaskRefused if this epoch of it has ended or its verification failed."""
        done = Completed(by=by, at=self._now(), cause=cause, task=task, epoch=epoch, receipt=receipt, merged=merged)
        return await self._on(task, lambda _: done, cause)

    async def delete(self, by: str, task: int, *, cause: str | None = None) -> Task:
        """Delete a task and every dependency to and from it.

        Raises TaskRefused unless its creator, the lead or the user asks for it. Its creator cannot after another member
        owns it.
        """
        return await self._on(task, lambda _: Deleted(by=by, at=self._now(), cause=cause, task=task), cause)

    async def accept(self, by: str, number: int) -> None:
        """Record that a person accepts the loss of a damaged record, so that work can be taken again."""
        await self._change(lambda _: BoardLossAccepted(by=by, at=self._now(), number=number), None)

    async def see_overlaps(self, overlaps: tuple[Overlap, ...]) -> None:
        """Record where the work of members meets, unless the board says the same."""

        def event(board: tasks.BoardState) -> OverlapsSeen | None:
            known = {*overlaps} == board.overlaps.keys()
            return None if known else OverlapsSeen(by=LEAD, at=self._now(), overlaps=overlaps)

        await self._change(event, None)

    # -- compare and set --------------------------------------------------------------------------

    async def _on(self, task: int, event: Callable[[Task], BoardEvent | str], cause: str | None) -> Task:
        """Change one task and return it. A repeated cause changes nothing."""

        await self._change(lambda board: event(_found(board, task)), cause)
        return self.state.tasks[task]

    async def _give(self, owner: str, make: _Make, cause: str | None) -> BoardEvent | None:
        """Make a change that gives a task to an owner. Raises TaskRefused, with who is here, if the owner is not."""
        roster = await self._roster.refresh()
        unknown = recipient_refusal(roster, owner)
        try:
            made = await self._change(lambda board: unknown or make(board), cause)
        except TaskRefused as error:
            error.roster = roster.number if unknown else None
            raise
        # A leaving member first records that it left, then looks for tasks. So it finds this one, or we see it left.
        if not (await self._roster.refresh()).here(owner):
            await self.give_back(owner, note=f"{owner} left before it could start")
        return made

    async def _change(self, make: _Make, cause: str | None) -> BoardEvent | None:
        """Append the event that `make` returns for the board it is appended to. Return the event, or None."""
        if not self._roster.state.members:
            await self._roster.refresh()

        def decided(board: tasks.BoardState) -> Decision[BoardEvent | str | int | None]:
            if done := board.causes.get(cause) if cause else None:
                return Decision(None, done)
            wanted = make(board)
            if wanted is None or isinstance(wanted, str):
                return Decision(None, wanted)
            why = refusal(board, wanted, reads_only=self._reads_only(wanted.by))
            return Decision(None, why) if why else Decision(wanted.body(), wanted)

        match await self._folded.decide(self._writer, decided):
            case int(done):
                return await self._event(done)
            case str(why):
                raise TaskRefused(why)
            case made:
                return made

    def _reads_only(self, name: str) -> bool:
        """Return whether a member is of a read-only type. The last read roster is enough: a type never changes."""
        member = self._roster.state.members.get(name)
        return member is not None and member.agent_type is not AgentType.GENERAL

    async def _event(self, number: int) -> BoardEvent:
        """Return the event with this number."""
        items = await self._writer.store.read(BOARD, number - 1)
        event = tasks.read_event(next(item.body for item in items if isinstance(item, Record)))
        assert not isinstance(event, Foreign)
        return event

    def _now(self) -> float:
        return self._writer.clock.timestamp()


def _does_not_fit(task: Task, name: str) -> str:
    return f"Task #{task.id} is for another member or role, not for '{name}'. Choose another task."


def _found(board: tasks.BoardState, task: int) -> Task:
    """Return a task, or an empty one that the rules will refuse."""
    return board.tasks.get(task, Task(task, ""))
