"""The steps in which an agent works: ask the model, run calls, make room. Also what it does between two steps."""

import hashlib
from collections.abc import Iterator
from itertools import takewhile

from deskmate.core.agent.actions import CheckGoal, Duty, Rest, RunHooks
from deskmate.core.agent.entries import Began, Overflowed, PicturesRefused, Took
from deskmate.core.agent.merge_texts import listed
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.agent.view import Origin
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.task_lines import one_line
from deskmate.core.team.messages import Plain
from deskmate.core.team.status import WORKING, Idle, Working
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus, in_progress_of
from deskmate.errors import ModelError, PicturesRejected, PromptTooLong, ToolError
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.perform.parking import drop_summary, park
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState


async def think(work: AgentWork, origin: Origin) -> None:
    """Ask the model and record its answer, or what was said of it when it is cut.

    Meanwhile the files are saved, if the user said something since or a task began. Nothing acts on the answer before
    both are done.
    """
    checkpoint = work.parts.checkpoint
    beginnings = [*_beginnings(work)] if checkpoint else []
    if not checkpoint or not beginnings:
        await _ask(work, origin)
        return
    async with task_group() as tasks:
        for entry, words in beginnings:
            tasks.start_soon(checkpoint, entry, words)
        await _ask(work, origin)


def _beginnings(work: AgentWork) -> Iterator[tuple[int, str]]:
    """Yield the entries since the last call began that files are saved before, and what they are in words.

    After a call began, it is too late to save the files as they were.
    """
    asked_at = work.transcript.asked_at if work.is_lead else 0
    for number, entry in takewhile(lambda one: not isinstance(one[1], Began), reversed(work.transcript.entries)):
        if number == asked_at:
            yield number, ""
        if isinstance(entry, Took) and entry.changes is None:
            task = work.team_state.board.state.tasks.get(entry.task)
            yield number, f"(task #{entry.task} of {work.me.name}: {one_line(task.subject) if task else ''})"


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


async def take_in_work(work: AgentWork) -> bool:
    """Hand finished work of teammates over to the workspace of a lead, if that is wanted. Return whether it was told.

    No call of the lead is open then. It is told before its next answer, so this buys no turn. If it leads another team,
    this is done for its home too.
    """
    if work.parts.hand_over is None:
        return False
    asked_at, writers = work.transcript.asked_at, _writers(work)
    for team_state in _teams(work):
        team, board = team_state.roster.state.team, team_state.board.state
        told = await work.parts.hand_over(team, board, asked_at, writers)
        if told is not None and all(entry != told for _, entry in work.transcript.entries):
            await work.transcript.record(told)
            return True
    return False


def _teams(work: AgentWork) -> tuple[TeamState, ...]:
    """Return the teams of a lead, the one that it works in first."""
    return (work.team_state, work.home) if work.home else (work.team_state,)


def _writers(work: AgentWork) -> str:
    """Return who may change files in the workspace of a lead while it waits, as a sentence. Empty if nobody may.

    Git runs outside of the sandbox. A command inside could put a link in the place of a file that git reads or writes.
    """
    if not work.parts.confined:
        return ""
    if work.transcript.memory.background:
        return "something runs in the background"
    here, *home = (team_state.roster.state for team_state in _teams(work))
    mates = [mate for roster in (here, *map(addressed, home)) for mate in roster.teammates]
    busy = [mate.name for mate in mates if mate.busy and mate.takes_any_task and not mate.isolated]
    return f"{listed(busy)} may change files there" if busy else ""


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


async def between_steps(work: AgentWork, action: RunHooks | CheckGoal | Duty, origin: Origin) -> None:
    """Do what an agent does between two steps: run hooks, check a goal, or do a duty to its team.

    What few agents ever do is imported only then.
    """
    match action:
        case RunHooks():
            from deskmate.runtime.hooks.hook_steps import run_hooks

            await run_hooks(work, action, origin.view)
        case CheckGoal():
            from deskmate.runtime.perform.goal_checks import check_goal

            await check_goal(work, origin)
        case duty:
            await work.duties.do(duty, work.me)


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
