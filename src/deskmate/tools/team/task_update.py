"""What a TaskUpdate changes, step by step.

Models often repeat what is already true, so that is not an error. The rules are in `core.team.board_rules`.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import assert_never

from deskmate.core.agent.merge_texts import returned_text
from deskmate.core.agent.notices import taken
from deskmate.core.agent.rules.task_fit import untaken_text
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import IN_CHARGE, blob_name
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.prompt.frames import unframed
from deskmate.core.prompt.rendering import told_texts
from deskmate.core.prompt.task_lines import ids, line, one_line
from deskmate.core.team.board_rules import may_edit, refusal
from deskmate.core.team.task_fields import TaskChange
from deskmate.core.team.tasks import BoardState, Completed, Receipt, Revision, Task, TaskStatus, freed_by
from deskmate.core.values import frozen
from deskmate.errors import Refused, ToolError
from deskmate.ports import MemberTree, Ran, ToolContext

VERIFY_SECONDS = 600.0
_OUTPUT_BYTES = 4 * 1024


@frozen
class Update:
    """The changes to make to a task."""

    task: int
    change: TaskChange
    owner: str | None
    status: TaskStatus | None


_Step = Callable[[ToolContext, Update], Awaitable[str]]


async def update(context: ToolContext, wanted: Update) -> Result:
    """Make all changes that the rules allow, and return the new state of the task.

    Raises ToolError or Refused if nothing was changed.
    """
    found(await context.board.refresh(), wanted.task)
    done = ""
    try:
        for step in _steps(context, wanted):
            done = ", ".join(filter(None, (done, await step(context, wanted))))
    except (ToolError, Refused) as error:
        if not done:
            raise
        # Report what was done: a model that only reads the refusal would do it again.
        return _result(context, wanted, f"{done}. The rest was refused: {error}", ok=False)
    return _result(context, wanted, done or "Nothing changed: it was like this before", ok=True)


def _steps(context: ToolContext, wanted: Update) -> tuple[_Step, ...]:
    """Return the steps in their order.

    Edits come first, so that a task they block is not started. An agent that may edit a task only as its owner takes
    it first. Then it cannot block the task in the same call.
    """
    if wanted.status is TaskStatus.DELETED:
        # Do not change the owner first: claiming a task must not be a way to delete it.
        return _edit, _set_status
    if may_edit(_task(context, wanted), context.me.name) or wanted.change.add_blocked_by:
        return _edit, _hand_over, _set_status
    if wanted.owner == context.me.name:
        return _hand_over, _edit, _set_status
    if wanted.owner is None and wanted.status is TaskStatus.IN_PROGRESS:
        return _set_status, _edit
    return _edit, _hand_over, _set_status


def found(board: BoardState, id_: int) -> Task:
    """Return a task. Raises ToolError if there is none with this number."""
    if id_ not in board.tasks:
        raise ToolError(f"There is no task #{id_}. TaskList shows all tasks.")
    return board.tasks[id_]


def _result(context: ToolContext, wanted: Update, said: str, *, ok: bool) -> Result:
    """Return the task as it is now. The agent remembers it as its own only while it has it in progress."""
    task, board = _task(context, wanted), context.board.state
    text = f"{line(board, task)}\n{said}"
    if not _is_under_way(context, task):
        tasks: dict[int, int | None] = {task.id: None} if wanted.owner is not None or wanted.status is not None else {}
        return Result("\n".join(filter(None, [text, untaken(context, task)])), ok=ok, tasks=tasks)
    if context.memory.tasks.get(task.id) == task.epoch:
        return Result(text, ok=ok, tasks={task.id: task.epoch})
    # The agent has just taken the task, so show all of it and not only a line.
    text = "\n".join([unframed(text), *told_texts(taken(task))])
    return Result(text, ok=ok, tasks={task.id: task.epoch}, board=board.number, framed=True)


def untaken(context: ToolContext, task: Task) -> str:
    """Return a warning if nobody on the team would take the task, with what to do. Empty if somebody would."""
    if not (why := untaken_text(context.roster, task)):
        return ""
    return f"{why} {_way_to_a_taker(context)} with TaskUpdate."


def _way_to_a_taker(context: ToolContext) -> str:
    if context.me.kind is not AgentKind.LEAD:
        return "Tell the lead, or change the task"
    # A lead spawns teammates only on the team that it leads now.
    leads_it = context.memory.away in ("", context.roster.away)
    return "Spawn a teammate with that role, or change the task" if leads_it else "Change the task"


def _task(context: ToolContext, wanted: Update) -> Task:
    return context.board.state.tasks[wanted.task]


def _is_under_way(context: ToolContext, task: Task) -> bool:
    return task.owner == context.me.name and task.status is TaskStatus.IN_PROGRESS


async def _edit(context: ToolContext, wanted: Update) -> str:
    if wanted.change == TaskChange():
        return ""
    await context.board.edit(context.me.name, wanted.task, wanted.change, cause=f"{context.call}/edit")
    return "edited"


async def _hand_over(context: ToolContext, wanted: Update) -> str:
    """Give the task to its new owner. A teammate that names itself claims the task."""
    task, owner, me, cause = _task(context, wanted), wanted.owner, context.me.name, f"{context.call}/owner"
    if owner is None:
        return ""
    if owner == me and me not in IN_CHARGE:
        return await _claim(context, task, cause)
    if owner == task.owner:
        return ""
    await context.board.assign(me, task.id, owner, cause=cause)
    return f"given to '{owner}'"


async def _claim(context: ToolContext, task: Task, cause: str) -> str:
    if _is_under_way(context, task):
        return ""
    await context.board.claim(context.me, task.id, cause=cause)
    if context.tree:
        await context.tree.update()
    return "claimed"


async def _set_status(context: ToolContext, wanted: Update) -> str:
    cause = f"{context.call}/status"
    match wanted.status:
        case None:
            return ""
        case TaskStatus.PENDING:
            return await _release(context, wanted, cause)
        case TaskStatus.IN_PROGRESS:
            return await _begin(context, wanted, cause)
        case TaskStatus.COMPLETED:
            return await _complete(context, wanted, cause)
        case TaskStatus.DELETED:
            freed = freed_by(context.board.state, wanted.task)
            await context.board.delete(context.me.name, wanted.task, cause=cause)
            return _ended("deleted", freed)
        case unreachable:
            assert_never(unreachable)


async def _begin(context: ToolContext, wanted: Update, cause: str) -> str:
    if wanted.owner not in (None, context.me.name):
        return f"'{wanted.owner}' will start it"
    return await _claim(context, _task(context, wanted), cause)


async def _release(context: ToolContext, wanted: Update, cause: str) -> str:
    task = _task(context, wanted)
    # If this call has just assigned the task, releasing it would undo that.
    if task.status is TaskStatus.PENDING and (wanted.owner is not None or task.owner is None):
        return ""
    await context.board.release(context.me.name, task.id, _epoch(context, wanted), cause=cause)
    return "given back"


async def _complete(context: ToolContext, wanted: Update, cause: str) -> str:
    if cause in context.board.state.causes:
        return "completed"
    epoch = _epoch(context, wanted)
    freed = freed_by(context.board.state, wanted.task)
    offered = context.board.state.causes.get(f"{cause}/offer")
    if context.tree and (offered or _is_under_way(context, _task(context, wanted))):
        number = offered or await _offer(context, context.tree, wanted.task, epoch, cause)
        return _ended(await _merged(context, context.tree, wanted.task, number), freed)
    receipt = await _verify(context, _task(context, wanted), epoch)
    freed = freed_by(await context.board.refresh(), wanted.task)
    await context.board.complete(context.me.name, wanted.task, epoch, receipt=receipt, cause=cause)
    return _ended("completed", freed)


async def _offer(context: ToolContext, tree: MemberTree, id_: int, epoch: int, cause: str) -> int:
    """Verify and commit the work in the agent's tree, and offer it for merging. Return the number of the offer."""
    task = context.board.state.tasks[id_]
    receipt = await _verify(context, task, epoch)
    trailers = f"Deskmate-Task: #{id_}\nDeskmate-Member: {context.me.name}"
    commit = await tree.offer(f"{one_line(task.subject)}\n\n{trailers}\n")
    made = await context.board.offer(context.me.name, id_, epoch, commit, receipt=receipt, cause=f"{cause}/offer")
    assert made.offer is not None, "it was offered"
    return made.offer.number


async def _merged(context: ToolContext, tree: MemberTree, id_: int, offer: int) -> str:
    """Wait until offered work is merged. Raises ToolError if it is returned. The tree then has the branch, too."""
    task = await context.board.settled(id_, offer)
    if task.status is TaskStatus.COMPLETED:
        await tree.update()
        return f"completed, merged into {tree.branch}"
    if not task.returned:
        raise ToolError(f"Task #{id_} is no longer yours, and your work on it was not merged.")
    await tree.merge_branch()
    raise ToolError(returned_text(id_, tree.branch, task.returned))


def _epoch(context: ToolContext, wanted: Update) -> int:
    """Return the epoch the caller means: the one it last saw, or the board's if this call changed the owner."""
    epoch = _task(context, wanted).epoch
    return epoch if wanted.owner is not None else context.memory.tasks.get(wanted.task, epoch)


def _ended(word: str, freed: Iterable[Task]) -> str:
    unblocked = ids(task.id for task in freed)
    return f"{word}, which unblocked {unblocked}" if unblocked else word


# -- verifying ------------------------------------------------------------------------------------


async def _verify(context: ToolContext, task: Task, epoch: int) -> Receipt | None:
    """Run the verify command of a task, if it has one, and return the receipt. Raises ToolError if it fails."""
    if task.verify is None:
        return None
    receipt = Receipt(command=task.verify, workspace=context.workspace.root, exit=0, output="")
    ending = Completed(by=context.me.name, at=0.0, task=task.id, epoch=epoch, receipt=receipt)
    # Run nothing for a task that could not be completed anyway.
    if why := refusal(context.board.state, ending):
        raise ToolError(why)
    if context.again:
        raise ToolError(f"The verify command of #{task.id} was interrupted. Complete the task again.")
    before = await context.workspace.revision()
    ran = await context.workspace.run(
        task.verify, timeout_seconds=VERIFY_SECONDS, blob=f"{blob_name(context.call)}.txt"
    )
    if ran.exit != 0:
        rest = [f"The whole output is in {ran.blob}."] if ran.blob else []
        raise ToolError("\n".join([failure(task, ran), tail(ran.output) or "(no output)", *rest]))
    return receipt.model_copy(
        update={"output": tail(ran.output), **at_commit(before, await context.workspace.revision())}
    )


def at_commit(before: Revision | None, after: Revision | None) -> dict[str, object]:
    """Return the commit that a command ran at, for its receipt. Empty if the commit changed meanwhile."""
    if before is None or after is None or before.commit != after.commit:
        return {}
    return {"commit": before.commit, "clean": before.clean}


def failure(task: Task, ran: Ran) -> str:
    """Return how a verify command failed. The command is not quoted, because a member wrote it."""
    how = ran.ended or f"exit status {ran.exit}"
    return f"Task #{task.id} is not done: its verify command failed with {how}. Fix the cause, then complete it again."


def tail(output: str) -> str:
    """Return the end of a command's output, where errors usually are."""
    data = output.strip().encode()
    return data.decode() if len(data) <= _OUTPUT_BYTES else f"…{data[-_OUTPUT_BYTES:].decode(errors='ignore')}"
