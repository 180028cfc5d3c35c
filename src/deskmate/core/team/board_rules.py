"""Who may do what to which task, and when.

The same functions apply to everybody. The lead and the user may do more, but the rules for a valid board are the same
for all. `board_fold` folds by the same rules.
"""

from collections import deque
from collections.abc import Iterable
from typing import assert_never

from deskmate.core.log.names import IN_CHARGE, LEAD, USER
from deskmate.core.policy.secret_placeholders import refusal_to_run
from deskmate.core.prompt.task_lines import ids
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
    Offered,
    OverlapsSeen,
    Released,
    Returned,
    Task,
    TaskEdited,
    TaskStatus,
    blockers,
    in_progress_of,
)

_PATH_SHOWN = 12


def refusal(board: BoardState, event: BoardEvent, *, reads_only: bool = False) -> str | None:
    """Return why `event` may not be appended to the stream in the state `board`; None if it may.

    `reads_only`: whether its author is a read-only member. The caller must check two more things that the board does
    not know: that members are on the roster, and that a claimed task `fits` its claimer.
    """
    return (
        breach(board, event)
        or _not_theirs(board, event, reads_only)
        or _not_now(board, event)
        or _redacted(board, event)
    )


def breach(board: BoardState, event: BoardEvent) -> str | None:
    """Return which rule of the board `event` breaks, or None.

    Unlike `refusal`, it ignores the state of the stream and who may change whose task. The fold uses it, so that a
    claim made before a record was damaged stays a claim, and an edit that an earlier version allowed stays an edit.
    """
    if isinstance(event, Created):
        return _creating(board, event)
    if isinstance(event, BoardLossAccepted):
        return _accepting(board, event)
    if isinstance(event, OverlapsSeen):
        return None if event.by == LEAD else "Only the process that runs the team looks for conflicts."
    task = board.tasks.get(event.task)
    if task is None:
        return _unknown(board, event.task)
    if not task.is_open and not isinstance(event, Deleted):
        return _over(task)
    match event:
        case TaskEdited():
            return _editing(board, event)
        case Claimed():
            return _claiming(board, task, event)
        case Assigned():
            return _assigning(task, event)
        case Released():
            return _releasing(task, event)
        case Offered():
            return _offering(task, event)
        case Returned():
            return _returning(task, event)
        case Completed():
            return _completing(board, task, event)
        case Deleted():
            return _deleting(task, event)
        case unreachable:
            assert_never(unreachable)


def _redacted(board: BoardState, event: BoardEvent) -> str | None:
    """Return why a verify command is neither recorded nor run: a secret in it was replaced by a placeholder."""
    match event:
        case Created(verify=command) | TaskEdited(verify=command):
            advice = "Let it read the secret from a file or a variable"
        case Completed(task=task) | Offered(task=task):
            command, advice = board.tasks[task].verify, "Delete the task and create it again with another command"
        case _:
            return None
    why = refusal_to_run(command or "")
    return f"The verify command of task #{event.task} cannot run: {why}. {advice}." if why else None


def edges_after(board: BoardState, event: TaskEdited) -> dict[int, frozenset[int]]:
    """Return the blockers after an edit of each task whose edges it changes."""
    changed = {id: board.tasks[id].blocked_by | {event.task} for id in event.add_blocks}
    # Edges are removed before others are added, so that one edit can reverse an edge.
    own = board.tasks[event.task].blocked_by
    changed[event.task] = (own - event.remove_blocked_by) | event.add_blocked_by
    return changed


# -- one rule for each kind of event --------------------------------------------------------------


def _creating(board: BoardState, event: Created) -> str | None:
    # `next_id` is above all existing numbers, so the tasks are searched only if a number looks old.
    if event.task < board.next_id and event.task <= max(board.tasks, default=0):
        return f"Task #{event.task} already exists, and no number is used twice. The next one is #{board.next_id}."
    if event.owner not in (None, event.by) and event.by not in IN_CHARGE:
        return f"Only the lead and the user can give work to '{event.owner}'. Leave owner out, or ask the lead."
    return _subject(event.subject) or _itself(event.task, event.blocked_by) or _ends(board, event.blocked_by)


def _editing(board: BoardState, event: TaskEdited) -> str | None:
    return (
        _subject(event.subject)
        or _itself(event.task, event.add_blocked_by | event.add_blocks)
        or _ends(board, event.add_blocked_by | event.add_blocks)
        or next((_unknown(board, id) for id in sorted(event.remove_blocked_by - board.tasks.keys())), None)
        or next((_over(board.tasks[id]) for id in sorted(event.add_blocks) if not board.tasks[id].is_open), None)
        or _circle(board, event)
    )


def _claiming(board: BoardState, task: Task, event: Claimed) -> str | None:
    if task.owner not in (None, event.by):
        return _owned(task)
    if task.status is TaskStatus.IN_PROGRESS:
        return f"Task #{task.id} is already yours and in progress. Continue with it."
    if event.epoch != task.epoch:
        return f"Task #{task.id} changed hands since you looked. Look again, then take it."
    if waits := blockers(board, task):
        return f"Task #{task.id} is blocked by {ids(waits)}. Wait until it is unblocked, or choose another task."
    if mine := in_progress_of(board, event.by):
        return f"'{event.by}' has #{mine[0].id} in progress. Complete it or give it back before you take #{task.id}."
    return None


def _assigning(task: Task, event: Assigned) -> str | None:
    if event.by not in IN_CHARGE:
        if event.owner == event.by:
            return f"Only the lead and the user can assign tasks. To take #{task.id}, set its status to in_progress."
        return f"Only the lead and the user can assign tasks. Ask the lead to give #{task.id} to '{event.owner}'."
    if event.owner == task.owner:
        return f"Task #{task.id} already belongs to '{task.owner}'. There is nothing to assign."
    return _stale(task, event)


def _releasing(task: Task, event: Released) -> str | None:
    if stale := _stale(task, event):
        return stale
    if task.owner is None:
        return f"Task #{task.id} has no owner. There is nothing to give back."
    return _not_yours(task, event.by)


def _offering(task: Task, event: Offered) -> str | None:
    if trouble := _stale(task, event) or _not_yours(task, event.by):
        return trouble
    if task.status is not TaskStatus.IN_PROGRESS:
        return f"Task #{task.id} is {task.status}. Take it first, with status in_progress."
    return _unverified(task, event)


def _returning(task: Task, event: Returned) -> str | None:
    if task.offer is None or task.offer.number != event.offer:
        return f"Task #{task.id} does not wait to be merged under record {event.offer}. There is nothing to return."
    return None


def _completing(board: BoardState, task: Task, event: Completed) -> str | None:
    if trouble := _stale(task, event) or _not_yours(task, event.by):
        return trouble
    if task.status is TaskStatus.PENDING and (waits := blockers(board, task)):
        return f"Task #{task.id} is blocked by {ids(waits)}. Complete the blocking tasks first."
    return _unverified(task, event)


def _unverified(task: Task, event: Completed | Offered) -> str | None:
    if task.verify is None:
        return None
    # A member wrote the command, but a refusal is read as our text. TaskGet shows the command in its frame.
    if event.receipt is None or event.receipt.command != task.verify:
        return f"Task #{task.id} has a verify command. Complete it with the receipt of that command."
    if event.receipt.exit != 0:
        return f"Task #{task.id} is not done: its verify command ended with {event.receipt.exit}. Fix that first."
    return None


def _deleting(task: Task, event: Deleted) -> str | None:
    if task.status is TaskStatus.DELETED:
        return f"Task #{task.id} is already deleted. There is nothing to delete."
    if task.status is TaskStatus.COMPLETED and event.by not in IN_CHARGE:
        return f"Task #{task.id} is completed, so only the lead and the user can delete it. Ask the lead."
    return None if task.owner is None else _not_yours(task, event.by)


def _accepting(board: BoardState, event: BoardLossAccepted) -> str | None:
    if event.by != USER:
        return f"Only a person can accept the damage at record {event.number}. Ask the user."
    if event.number not in board.damaged:
        return f"Record {event.number} is not damaged, or was accepted before. There is nothing to accept."
    return None


def _not_theirs(board: BoardState, event: BoardEvent, reads_only: bool) -> str | None:
    """Return why the author of `event` may not create, edit or delete these tasks; None if it may."""
    match event:
        case Created(by=by, role=role):
            return _read_only(by) if reads_only and role != by else None
        case TaskEdited(by=by, role=role):
            changed = _changed(board, event)
            is_private = role in (None, by) and all(_is_private(task, by) for task in changed)
            if reads_only and not is_private and not _is_report(board.tasks[event.task], event):
                return _read_only(by)
            return next((why for task in changed if (why := _may_not_edit(by, task))), None)
        case Deleted(by=by, task=id):
            task = board.tasks[id]
            return _read_only(by) if reads_only and not _is_private(task, by) else _may_not_delete(by, task)
        case Claimed() | Assigned() | Released() | Offered() | Returned() | Completed():
            return None
        case BoardLossAccepted() | OverlapsSeen():
            return None
        case unreachable:
            assert_never(unreachable)


def _changed(board: BoardState, event: TaskEdited) -> list[Task]:
    """Return the tasks that an edit changes. A new edge changes the task that has to wait."""
    others = [board.tasks[id] for id in sorted(event.add_blocks)]
    words = any(getattr(event, name) is not None for name in TEXTS)
    own = event.add_blocked_by or event.remove_blocked_by or words
    return [board.tasks[event.task], *others] if own or not others else others


def _is_private(task: Task, name: str) -> bool:
    """Tell whether a member created a task for itself, so that nobody else takes it unasked."""
    return task.created_by == task.role == name


def may_edit(task: Task, name: str) -> bool:
    """Tell whether `name` may edit a task: owner, lead and user may, and its creator until another works on it."""
    return _may_not_edit(name, task) is None


def _is_report(task: Task, event: TaskEdited) -> bool:
    """Tell whether a task's owner only reports progress and changes neither what it is nor what it waits for."""
    edges = event.add_blocked_by | event.remove_blocked_by | event.add_blocks
    return task.owner == event.by and not edges and event.subject is event.role is event.verify is None


def _may_not(by: str, verb: str, task: Task, *others: str | None) -> str | None:
    allowed = [name for name in dict.fromkeys((task.created_by, *others)) if name and name not in IN_CHARGE]
    if by in IN_CHARGE or by in allowed:
        return None
    return f"Only {', '.join([*allowed, 'the lead'])} and the user can {verb} task #{task.id}."


def _may_not_edit(by: str, task: Task) -> str | None:
    works_on = task.owner if task.status is TaskStatus.IN_PROGRESS else None
    if works_on and by == task.created_by and by not in (works_on, *IN_CHARGE):
        return f"Task #{task.id} is in progress, and '{works_on}' works on it. Ask {works_on} or the lead."
    return _advised(_may_not(by, "edit", task, task.owner))


def _may_not_delete(by: str, task: Task) -> str | None:
    """Return why a member may not delete a task. Owning it is not enough, since anybody can claim a free one."""
    why = _may_not(by, "delete", task)
    if why is None or by != task.owner:
        return _advised(why)
    return f"{why} Give it back with status pending, and tell the lead why with SendMessage."


def _advised(why: str | None) -> str | None:
    # The board does not know who has left the team. The lead can always be asked.
    return f"{why} Ask the lead with SendMessage." if why else None


def _read_only(name: str) -> str:
    return (
        f"You are read-only. Create and change tasks only for yourself (owner '{name}'), "
        "or ask the lead with SendMessage."
    )


def _not_now(board: BoardState, event: BoardEvent) -> str | None:
    """Return what stops an event that breaks no rule: a wrong number, or damage that may hide an owner."""
    if isinstance(event, Created) and event.task != board.next_id:
        return f"Task #{event.task} cannot be created. The next one is #{board.next_id}."
    gives = isinstance(event, Claimed | Assigned) or (isinstance(event, Created) and event.owner is not None)
    if gives and board.damaged:
        # Not all are listed by number: a board may have thousands, and each claim is checked.
        many = len(board.damaged)
        where = f"record {next(iter(board.damaged))}" if many == 1 else f"{many} records"
        return (
            f"No task can be taken while the board is damaged ({where}). "
            "The user must accept the loss: deskmate doctor --accept"
        )
    return None


# -- what several of them say ---------------------------------------------------------------------


def _unknown(board: BoardState, id: int) -> str:
    if not board.tasks:
        return f"There is no task #{id}: the board is empty. Create a task first."
    return f"There is no task #{id}. The highest number on the board is #{max(board.tasks)}."


def _over(task: Task) -> str:
    return f"Task #{task.id} is {task.status} and can no longer change. Create a new task instead."


def _owned(task: Task) -> str:
    return f"Task #{task.id} belongs to '{task.owner}'. Ask {task.owner}, or choose another task."


def _not_yours(task: Task, name: str) -> str | None:
    if name == task.owner or name in IN_CHARGE:
        return None
    return _owned(task) if task.owner else f"Task #{task.id} is not yours. Take it first, with status in_progress."


def _stale(task: Task, event: Assigned | Released | Completed | Offered) -> str | None:
    if event.epoch == task.epoch:
        return None
    now = f"it now belongs to '{task.owner}'" if task.owner else "it now has no owner"
    if event.by in IN_CHARGE:
        return f"Task #{task.id} changed hands since you looked: {now}. Look again."
    return f"Task #{task.id} is no longer yours: {now}. Leave it, and choose another task."


def _subject(subject: str | None) -> str | None:
    if subject is None or subject.strip():
        return None
    return "The subject is blank. Say in a few words what to do."


def _itself(task: int, others: Iterable[int]) -> str | None:
    return f"Task #{task} cannot block itself. Leave #{task} out." if task in others else None


def _ends(board: BoardState, others: Iterable[int]) -> str | None:
    for id in sorted(others):
        if id not in board.tasks:
            return _unknown(board, id)
        if board.tasks[id].status is TaskStatus.DELETED:
            return f"Task #{id} is deleted, so it cannot block or be blocked. Leave #{id} out."
    return None


def _circle(board: BoardState, event: TaskEdited) -> str | None:
    path = _way_back(board, event) if event.add_blocked_by or event.add_blocks else []
    if not path:
        return None
    steps = [f"#{id}" for id in path]
    if len(steps) > _PATH_SHOWN:
        steps[_PATH_SHOWN // 2 : -_PATH_SHOWN // 2] = ["…"]
    return f"Task #{event.task} would wait for itself: {' -> '.join(steps)}. Remove one of these dependencies first."


def _way_back(board: BoardState, event: TaskEdited) -> list[int]:
    """Return the shortest path by which the edited task would wait for itself; empty if there is none.

    Every edge an edit adds touches the edited task, so any new cycle passes through it.
    """
    changed = edges_after(board, event)
    came_from: dict[int, int] = {}
    open_ends = deque([event.task])
    while open_ends:
        here = open_ends.popleft()
        for blocker in sorted(changed.get(here, board.tasks[here].blocked_by)):
            if blocker == event.task:
                return _path(came_from, here, event.task)
            if blocker not in came_from:
                came_from[blocker] = here
                open_ends.append(blocker)
    return []


def _path(came_from: dict[int, int], last: int, start: int) -> list[int]:
    path = [start, last]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
