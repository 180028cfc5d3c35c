"""The steps in which an agent works: ask the model, run calls, make room, and offer what it did without a task."""

import hashlib
from collections.abc import Sequence
from itertools import takewhile

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Began, Entry, Overflowed, PicturesRefused
from deskmate.core.agent.view import Origin
from deskmate.core.log.names import LEAD
from deskmate.core.team.messages import Plain
from deskmate.core.team.status import WORKING, Idle, Working
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus, in_progress_of
from deskmate.errors import ModelError, PicturesRejected, PromptTooLong, ToolError
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.perform.parking import drop_summary, park
from deskmate.runtime.task_groups import task_group


async def think(work: AgentWork, origin: Origin) -> None:
    """Ask the model and record its answer, or what was said of it when it is cut.

    Meanwhile the files are saved, if the user said something since. Nothing acts on the answer before both are done.
    """
    checkpoint, asked_at = work.parts.checkpoint, work.transcript.asked_at
    if not checkpoint or not asked_at or _has_acted(work.transcript.entries, asked_at):
        await _ask(work, origin)
        return
    async with task_group() as tasks:
        tasks.start_soon(checkpoint, asked_at)
        await _ask(work, origin)


def _has_acted(entries: Sequence[tuple[int, Entry]], since: int) -> bool:
    """Tell whether a call began after an entry. Then it is too late to save the files as they were."""
    later = takewhile(lambda one: one[0] > since, reversed(entries))
    return any(isinstance(entry, Began) for _, entry in later)


async def _ask(work: AgentWork, origin: Origin) -> None:
    await work.status.show(WORKING)
    try:
        with work.step.cuttable() as scope:
            await work.model_calls.think(work.status, origin)
        if scope.cancelled_caught:
            await work.model_calls.keep_what_was_said(time_is_up=work.team_state.budget.time_is_up)
    except PromptTooLong:
        await work.transcript.record(Overflowed())
    except ModelError as error:
        if not await _leave_out_pictures(work, error):
            await park(work, str(error))


async def _leave_out_pictures(work: AgentWork, error: ModelError) -> bool:
    """Leave out the pictures of the conversation if the model cannot see them. Return whether it can be asked again."""
    names = work.model_calls.picture_names
    if not isinstance(error, PicturesRejected) or not names:
        return False
    await work.transcript.record(PicturesRefused(names=names))
    return True


async def act(work: AgentWork, ids: tuple[str, ...]) -> None:
    """Run calls, and record a result for each that began."""
    await work.status.show(WORKING)
    with work.step.cuttable() as scope:
        await work.calls.run(ids)
    if scope.cancelled_caught:
        # The next decision skips the calls that were cut before they began.
        left = [call.id for call in work.transcript.memory.calls.values() if call.began and call.id in ids]
        await work.calls.cut(tuple(left), work.step.why)


async def compact(work: AgentWork, origin: Origin) -> None:
    """Make room in the context. A summary that the user wanted is tried once."""
    await work.status.show(WORKING)
    try:
        with work.step.cuttable():
            await work.model_calls.compact(work.status, origin)
    except ModelError as error:
        if await _leave_out_pictures(work, error):
            return
        await park(work, str(error))
    if origin.view.memory.focus is not None:
        await drop_summary(work)


async def offer_untasked(work: AgentWork, rest: Rest) -> bool:
    """Offer what a member changed in its own tree while it had no task. Return whether it has more to do because of it.

    That is a task of its own on the board, so everybody sees it. It is completed when it is merged. If it cannot be
    merged, the member has it in progress and is told why.
    """
    tree, board, me = work.parts.tree, work.team_state.board, work.me
    is_turn_end = isinstance(rest.status, Idle) and isinstance(me.status, Working)
    if tree is None or not is_turn_end or in_progress_of(await board.refresh(), me.name):
        return False
    subject = f"Work of {me.name} without a task"
    try:
        commit = await tree.offer(f"{subject}\n\nDeskmate-Member: {me.name}\n")
        if await tree.is_merged(commit):
            return False
    except ToolError as error:
        words, id_ = f"What I changed is not merged. {error}", hashlib.sha256(str(error).encode()).hexdigest()[:16]
        await work.mailbox.send(LEAD, Plain(content=words, summary="not merged"), id_=f"unmerged/{me.name}/{id_}")
        return False
    new = NewTask(subject, description="All that was changed there meanwhile.", owner=me.name)
    task = await board.create(me.name, new, cause=f"{me.name}/{commit}")
    task = await board.claim(me, task.id, cause=f"{me.name}/{commit}/claim")
    task = await board.offer(me.name, task.id, task.epoch, commit, cause=f"{me.name}/{commit}/offer")
    if task.offer:
        task = await board.settled(task.id, task.offer.number)
    if task.status is TaskStatus.COMPLETED:
        await tree.update()
    return task.status is not TaskStatus.COMPLETED
