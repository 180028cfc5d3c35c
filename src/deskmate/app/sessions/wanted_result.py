"""A result that the lead must submit before its run is over."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from deskmate.app.sessions.run_outcome import Outcome
from deskmate.core.agent.entries import Entry
from deskmate.tools.result_tool import REMINDERS, ResultTool, reminder


async def with_result(
    outcome: Outcome,
    wanted: ResultTool,
    entries: Callable[[], Awaitable[Sequence[tuple[int, Entry]]]],
    ask: Callable[[str], Awaitable[Outcome]],
) -> Outcome:
    """Return the outcome of a turn with the result that was submitted. If there is none, remind the lead of it.

    `entries`: returns the transcript of the lead. `ask`: says something to it, and returns the outcome of that turn.
    """
    for reminders in range(REMINDERS + 1):
        found = wanted.found_in(await entries())
        if found is not None:
            return replace(outcome, result=found.value, has_result=True)
        if outcome.end != "answered" or reminders == REMINDERS or wanted.is_given_up:
            break
        outcome = (await ask(reminder())).after(outcome)
    return outcome
