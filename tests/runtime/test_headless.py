"""A run without a person comes to its end, whoever of the team can no longer act upon its mail."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.members import Idle, Joined, MemberParked
from deskmate.core.team.messages import Plain
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Script, Step
from deskmate.ports import Launcher
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team import Team
from deskmate.texts import text
from tests.runtime import until
from tests.runtime.desks import Floor, last_told, turns, uses
from tests.runtime.scenes import Broken, Inline

pytestmark = pytest.mark.anyio


def script(*lead: Step) -> Script:
    """Return a script with a part for the lead; no teammate gets an answer."""
    parts = iter(lead)

    def step(prompt: Prompt) -> Step:
        return next(parts) if f"You are {LEAD}," in prompt.system else ModelRejected("the key is wrong")

    return step


@asynccontextmanager
async def team(parts: Script, launcher: Callable[[Floor], Launcher]) -> AsyncIterator[Floor]:
    """Let a team play beside the test in which alice is parked, and bob, who wrote to her, is gone."""
    floor = await Floor.opened(parts)
    for name in ("alice", "bob"):
        await floor.team_state.roster.join(Joined(name=name, prompt="begin", at=0.0))
    await floor.team_state.roster.leave("bob", "done", heard=0, agreed=True)
    async with task_group() as tasks:
        tasks.start_soon(Team(floor.team_state, {"inline": launcher(floor)}, tasks).keep)
        await until(lambda: floor.team_state.roster.state.members["alice"].status.word == "parked")
        await turns()
        await floor.send(Plain(content="the schema is final"), sender="bob", to="alice")
        await turns()
        yield floor
        tasks.cancel_scope.cancel()


def told(floor: Floor) -> list[str]:
    """Return the last thing the lead was told before each of its answers."""
    return [last_told(prompt)[-1] for prompt in floor.scripted.prompts if f"You are {LEAD}," in prompt.system]


@pytest.mark.parametrize("launcher", [Inline, Broken], ids=["parked", "dead"])
async def test_mail_for_who_is_parked_keeps_no_run_from_its_end(launcher: Callable[[Floor], Launcher]) -> None:
    async with team(script("It is parked.", "I wait.", "That was all."), launcher) as floor:
        assert await floor.turn("go") == Rest()
        assert not floor.team_state.roster.state.members["alice"].here
    assert told(floor)[1] == text("reminder")
    assert len(told(floor)) == 3


async def test_a_word_to_who_is_dead_tells_the_lead_again_and_the_run_ends() -> None:
    write = uses("SendMessage", recipient="alice", content="are you there?")
    async with team(script(write, "I wait.", "It is dead.", "So be it.", "That was all."), Broken) as floor:
        assert await floor.turn("go") == Rest()
        assert not floor.team_state.roster.state.members["alice"].here
    assert ["alice is parked" in words for words in told(floor)] == [True, False, True, False, False]
    assert told(floor)[3] == text("reminder")


@pytest.mark.parametrize("status", [Idle(name="alice", at=1.0), MemberParked(name="alice", reason="it failed", at=1.0)])
async def test_a_status_of_who_did_no_work_is_no_reason_to_remind_its_lead_again(status: Idle | MemberParked) -> None:
    lead = iter(["I wait.", "I see.", "I rest.", "I rest.", "That was all."])

    async def step(prompt: Prompt) -> Step:
        if f"You are {LEAD}," not in prompt.system:
            return "I looked."
        if last_told(prompt)[-1] == text("reminder"):
            # As it is shown for somebody who was started again, or could not be.
            await floor.team_state.roster.status(status)
        return next(lead)

    floor = await Floor.opened(step)
    await floor.team_state.roster.join(Joined(name="alice", prompt="begin", at=0.0))
    async with task_group() as tasks:
        tasks.start_soon(Team(floor.team_state, {"inline": Inline(floor)}, tasks).keep)
        assert await floor.turn("go") == Rest()
        tasks.cancel_scope.cancel()
    assert told(floor).count(text("reminder")) == 1
    assert not floor.team_state.roster.state.members["alice"].here
