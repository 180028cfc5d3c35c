"""Checks the goal of a lead: runs its command, or asks the model to judge.

A kill in the middle leaves no record, so the check is made again, and its command runs twice.
"""

import hashlib

from deskmate.core.agent.entries import Noticed
from deskmate.core.agent.view import Origin
from deskmate.core.goals import judge_question, judged_met, output_mark, round_of, round_text
from deskmate.errors import ModelError, Refused
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.perform.parking import park


async def check_goal(work: AgentWork, origin: Origin) -> None:
    """Check the goal once, and record the result."""
    goal = work.transcript.memory.goal
    assert goal is not None, "only an open goal is checked"
    try:
        met, mark, result = await (_judged(work, origin, goal.until) if goal.judge else _ran(work, goal.until))
    except ModelError as error:
        await park(work, str(error))
        return
    seen = round_of(goal, mark, met=met)
    await work.transcript.record(Noticed(text=round_text(seen, result), goal=seen))


async def _ran(work: AgentWork, command: str) -> tuple[bool, str, str]:
    assert work.parts.run_goal is not None, "a lead with a goal can run commands"
    try:
        with work.step.cuttable() as scope:
            ran = await work.parts.run_goal(command)
    except Refused as error:
        return False, output_mark(-1, str(error)), f"`{command}` was not run: {error}"
    if scope.cancelled_caught:
        return False, output_mark(-2, ""), f"`{command}` was cut off."
    status = -1 if ran.status is None else ran.status
    result = f"`{command}` ended with exit code {status}:\n{ran.output}"
    return status == 0, output_mark(status, ran.output), result


async def _judged(work: AgentWork, origin: Origin, condition: str) -> tuple[bool, str, str]:
    answer = await work.model_calls.asked_aside(judge_question(condition), work.status, origin)
    # What a model says differs each time. Without a change on the board or in the files, nothing has changed.
    files = sorted(origin.view.memory.files.items())
    at = await work.parts.workspace.revision()
    mark = hashlib.sha256(repr((origin.view.board.number, files, at)).encode(errors="replace")).hexdigest()[:16]
    return judged_met(answer), mark, answer
