"""The steps in which an agent works and which can be cut: ask the model, run calls, make room."""

from deskmate.core.agent.entries import Overflowed
from deskmate.core.agent.view import Origin
from deskmate.core.team.status import WORKING
from deskmate.errors import ModelError, PromptTooLong
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.perform.parking import drop_summary, park


async def think(work: AgentWork, origin: Origin) -> None:
    """Ask the model and record its answer, or as much of it as is finished when it is cut."""
    await work.status.show(WORKING)
    try:
        with work.step.cuttable() as scope:
            await work.model_calls.think(work.status, origin)
        if scope.cancelled_caught:
            await work.model_calls.keep_what_was_whole(time_is_up=work.team_state.budget.time_is_up)
    except PromptTooLong:
        await work.transcript.record(Overflowed())
    except ModelError as error:
        await park(work, str(error))


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
        await park(work, str(error))
    if origin.view.memory.focus is not None:
        await drop_summary(work)
