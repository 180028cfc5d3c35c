"""The board folded from its records.

A fold never raises. A record that breaks a rule, is damaged or is unknown changes no task and is listed as such.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, assert_never

from deskmate.core.log.facts import Foreign
from deskmate.core.log.records import Damaged, Item
from deskmate.core.team.board_rules import breach, edges_after
from deskmate.core.team.task_fields import TEXTS
from deskmate.core.team.tasks import (
    Assigned,
    BoardEvent,
    BoardLossAccepted,
    BoardState,
    Claimed,
    Completed,
    Created,
    Deleted,
    Note,
    Offer,
    Offered,
    OverlapsSeen,
    Released,
    Returned,
    Task,
    TaskEdited,
    TaskStatus,
    blocks,
    read_event,
)

NOTES_KEPT = 20


def fold(board: BoardState, items: Iterable[Item]) -> BoardState:
    """Return the board after `items`; the given board is unchanged.

    Folding a part first and then the rest gives the same board as folding all at once.
    """
    # Copied once and then changed in place: a copy per record would cost quadratic time.
    tasks, working, damaged = dict(board.tasks), dict(board.working), set(board.damaged)
    board, number = replace(board, tasks=tasks, working=working, damaged=damaged), board.number
    for item in items:
        board, changed = _step(board, damaged, item, number)
        number = item.number
        for task in changed:
            _put(tasks, working, task)
    return replace(board, number=number, damaged=frozenset(damaged))


def _put(tasks: dict[int, Task], working: dict[str, int], task: Task) -> None:
    before = tasks.get(task.id)
    if before and before.owner and before.status is TaskStatus.IN_PROGRESS:
        del working[before.owner]
    if task.owner and task.status is TaskStatus.IN_PROGRESS:
        working[task.owner] = task.id
    tasks[task.id] = task


def _step(board: BoardState, damaged: set[int], item: Item, before: int) -> tuple[BoardState, list[Task]]:
    """Return the board after one item, except for its number, and the tasks it changes; update `damaged`."""
    number = item.number
    if isinstance(item, Damaged):
        if item.kind == "torn":
            return board, []
        damaged.add(number)
        return _keep_clear(board, number, before), []
    event = read_event(item.body)
    if isinstance(event, Foreign):
        return _skip(board, number, event.reason), []
    if event.cause is not None and event.cause in board.causes:
        return board, []
    changed = (
        []
        if (why := breach(board, event))
        else [_signed(task, event, number) for task in _changes(board, event, number)]
    )
    if isinstance(event, Created):
        # Even if it is skipped: its writer may have known more, and has used that number.
        board = replace(board, next_id=max(board.next_id, event.task + 1))
    if isinstance(event, BoardLossAccepted) and not why:
        damaged.discard(event.number)
    if isinstance(event, OverlapsSeen) and not why:
        seen = {overlap: board.overlaps.get(overlap, number) for overlap in event.overlaps}
        board = replace(board, overlaps=seen)
    return (_skip(board, number, why) if why else _note_cause(board, number, event)), changed


def _signed(task: Task, event: BoardEvent, number: int) -> Task:
    """Return a task that names who changed it last, and in which record."""
    # If a task that is over loses an edge to a deleted task, that is not news.
    is_news = task.is_open or (not isinstance(event, BoardLossAccepted | OverlapsSeen) and event.task == task.id)
    return replace(task, changed_by=event.by, changed_in=number) if is_news else task


def _keep_clear(board: BoardState, number: int, before: int) -> BoardState:
    """Skip the numbers that lost records may have given to tasks."""
    may_be_tasks = max(1, number - before)
    return replace(board, next_id=board.next_id + may_be_tasks)


def _skip(board: BoardState, number: int, why: str) -> BoardState:
    note = f"record {number} was skipped: {why}"
    return replace(board, skipped=(*board.skipped, note)[-NOTES_KEPT:])


def _note_cause(board: BoardState, number: int, event: BoardEvent) -> BoardState:
    if event.cause is None:
        return board
    return replace(board, causes=board.causes.put(event.cause, number))


def _changes(board: BoardState, event: BoardEvent, number: int) -> Iterator[Task]:
    """Yield each task that a valid event with this record number changes, in its new state."""
    match event:
        case Created():
            yield _created(event)
        case TaskEdited():
            yield from _edited(board, event, number)
        case Claimed(task=id, by=by, at=at):
            yield replace(_given(board.tasks[id], by, at), status=TaskStatus.IN_PROGRESS, began=at)
        case Assigned(task=id, owner=owner, at=at):
            yield _given(board.tasks[id], owner, at)
        case Released(task=id, note=note, by=by, at=at):
            task = _given(board.tasks[id], None, at)
            yield replace(task, notes=(*task.notes, Note(by, note))) if note else task
        case Offered(task=id, commit=commit, receipt=receipt, at=at):
            yield replace(board.tasks[id], offer=Offer(number, commit, receipt), returned="", updated=at)
        case Returned(task=id, reason=reason, at=at):
            yield replace(board.tasks[id], offer=None, returned=reason, updated=at)
        case Completed(task=id, receipt=receipt, merged=merged, at=at):
            done = replace(board.tasks[id], status=TaskStatus.COMPLETED, receipt=receipt, merged=merged, updated=at)
            yield replace(done, offer=None, returned="", ended=at)
        case Deleted(task=id, by=by, at=at):
            task = replace(board.tasks[id], status=TaskStatus.DELETED, blocked_by=frozenset(), updated=at)
            yield replace(task, offer=None, deleted_by=by, deleted_in=number)
            yield from (_unblocked(board.tasks[other], id, at) for other in sorted(blocks(board, id)))
        case BoardLossAccepted() | OverlapsSeen():
            return
        case unreachable:
            assert_never(unreachable)


def _created(event: Created) -> Task:
    return Task(
        id=event.task,
        **_given_texts(event),
        owner=event.owner,
        blocked_by=event.blocked_by,
        created=event.at,
        updated=event.at,
        created_by=event.by,
    )


def _given_texts(event: Created | TaskEdited) -> dict[str, Any]:
    """Return the texts that a record has. An empty role or command is none."""
    texts = {name: text for name in TEXTS if (text := getattr(event, name)) is not None}
    return texts | {name: texts[name] or None for name in ("role", "verify") if name in texts}


def _edited(board: BoardState, event: TaskEdited, number: int) -> Iterator[Task]:
    for id, blocked_by in edges_after(board, event).items():
        before = board.tasks[id]
        changed = [] if blocked_by == before.blocked_by else ["blocked_by"]
        task = _attributed(replace(before, blocked_by=blocked_by, updated=event.at), changed, event.by, number)
        yield _reworded(task, event, number) if id == event.task else task


def _attributed(task: Task, changed: Iterable[str], by: str, number: int) -> Task:
    """Return a task in which these fields are attributed to `by` from now on."""
    edits = {**task.edits, **dict.fromkeys(changed, by)}
    return replace(task, edits=edits, edited_in={**task.edited_in, **dict.fromkeys(changed, number)})


def _reworded(task: Task, event: TaskEdited, number: int) -> Task:
    """Return a task with its new text. The member that changed a field is its author from now on."""
    after = replace(task, **_given_texts(event))
    # Sending the same text again does not change its author: an edit without effect must not hide who wrote it.
    changed = [name for name in TEXTS if getattr(after, name) != getattr(task, name)]
    return _attributed(after, changed, event.by, number)


def _given(task: Task, owner: str | None, at: float) -> Task:
    """Return a pending task with another owner, or none. Only a change of owner starts a new epoch."""
    epoch = task.epoch if task.owner == owner else task.epoch + 1
    given = replace(task, status=TaskStatus.PENDING, owner=owner, epoch=epoch, updated=at, began=0.0, ended=0.0)
    return replace(given, offer=None, returned="")


def _unblocked(task: Task, blocker: int, at: float) -> Task:
    return replace(task, blocked_by=task.blocked_by - {blocker}, updated=at)
