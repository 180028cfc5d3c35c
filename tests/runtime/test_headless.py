"""An unattended run ends, whichever members can no longer act on their mail."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberParked
from deskmate.core.team.status import Parked
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Script, Step
from deskmate.ports import Launcher
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.texts import text
from tests.runtime.agent_harness import AgentHarness, last_told, turns, uses
from tests.runtime.team_process import until
from tests.runtime.teammate_harness import BrokenLauncher, InlineLauncher

pytestmark = pytest.mark.anyio


def script(*lead: Step) -> Script:
    """Return a script with a part for the lead; no teammate gets an answer."""
    parts = iter(lead)

    def step(prompt: Prompt) -> Step:
        return next(parts) if f"You are {LEAD}," in prompt.system else ModelRejected("the key is wrong")

    return step


@asynccontextmanager
async def team(parts: Script, launcher: Callable[[AgentHarness], Launcher]) -> AsyncIterator[AgentHarness]:
    """Let a team play beside the test in which alice is parked, and bob, who wrote to her, is gone."""
    harness = await AgentHarness.opened(parts)
    for name in ("alice", "bob"):
        await harness.team_state.roster.join(Joined(name=name, prompt="begin", at=0.0))
    await harness.team_state.roster.leave("bob", "done", heard=0, agreed=True)
    async with task_group() as tasks:
        tasks.start_soon(TeamPlayers(harness.team_state, {"inline": launcher(harness)}, tasks).keep)
        await until(lambda: isinstance(harness.team_state.roster.state.members["alice"].status, Parked))
        await turns()
        await harness.send(Plain(content="the schema is final"), sender="bob", to="alice")
        await turns()
        yield harness
        tasks.cancel_scope.cancel()


def told(harness: AgentHarness) -> list[str]:
    """Return the last thing the lead was told before each of its answers."""
    return [last_told(prompt)[-1] for prompt in harness.scripted.prompts if f"You are {LEAD}," in prompt.system]


@pytest.mark.parametrize("launcher", [InlineLauncher, BrokenLauncher], ids=["parked", "dead"])
async def test_mail_for_who_is_parked_keeps_no_run_from_its_end(launcher: Callable[[AgentHarness], Launcher]) -> None:
    async with team(script("It is parked.", "I wait.", "That was all."), launcher) as harness:
        assert await harness.turn("go") == Rest()
        assert not harness.team_state.roster.state.members["alice"].here
    assert told(harness)[1] == text("reminder")
    assert len(told(harness)) == 3


async def test_a_word_to_who_is_dead_tells_the_lead_again_and_the_run_ends() -> None:
    write = uses("SendMessage", recipient="alice", content="are you there?")
    async with team(script(write, "I wait.", "It is dead.", "So be it.", "That was all."), BrokenLauncher) as harness:
        assert await harness.turn("go") == Rest()
        assert not harness.team_state.roster.state.members["alice"].here
    assert ["alice is parked" in words for words in told(harness)] == [True, False, True, False, False]
    assert told(harness)[3] == text("reminder")


@pytest.mark.parametrize(
    "status", [MemberIdle(name="alice", at=1.0), MemberParked(name="alice", reason="it failed", at=1.0)]
)
async def test_a_status_of_who_did_no_work_is_no_reason_to_remind_its_lead_again(
    status: MemberIdle | MemberParked,
) -> None:
    lead = iter(["I wait.", "I see.", "I rest.", "I rest.", "That was all."])

    async def step(prompt: Prompt) -> Step:
        if f"You are {LEAD}," not in prompt.system:
            return "I looked."
        if last_told(prompt)[-1] == text("reminder"):
            # As it is shown for somebody who was started again, or could not be.
            await harness.team_state.roster.status(status)
        return next(lead)

    harness = await AgentHarness.opened(step)
    await harness.team_state.roster.join(Joined(name="alice", prompt="begin", at=0.0))
    async with task_group() as tasks:
        tasks.start_soon(TeamPlayers(harness.team_state, {"inline": InlineLauncher(harness)}, tasks).keep)
        assert await harness.turn("go") == Rest()
        tasks.cancel_scope.cancel()
    assert told(harness).count(text("reminder")) == 1
    assert not harness.team_state.roster.state.members["alice"].here
