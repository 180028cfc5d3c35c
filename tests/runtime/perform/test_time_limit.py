"""The end of a run's time ends what runs: a command, a reply that is being streamed, the work of teammates."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Said
from deskmate.core.agent.open_calls import NOT_BEGUN_IN_TIME, TIME_IS_UP
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import CallDelta, Prompt, TextDelta
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Parked
from deskmate.models.scripted import Step
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Streamed
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import (
    AgentHarness,
    EndlessModel,
    ScriptedWorkspace,
    last_told,
    lead_and_subagent,
    run_forever,
    turns,
    uses,
)
from tests.runtime.team_process import until
from tests.runtime.teammate_harness import DeafLauncher, InlineLauncher, hangs, plays

pytestmark = pytest.mark.anyio

CAPS = Caps(seconds=60.0)
UP = "budget: the time limit of 60 s is reached (--max-time)"
HANG = uses("bash", command="hang")


def bench() -> ScriptedWorkspace:
    return ScriptedWorkspace(commands={"hang": run_forever}, prints={"hang": "tick\ntock\n"})


@asynccontextmanager
async def run(harness: AgentHarness) -> AsyncIterator[list[object]]:
    """Let the lead play to its end beside the test; yield how it ended, once it has."""
    ends: list[object] = []

    async def play(agent: Agent) -> None:
        ends.append(await agent.play(until_rest=True))

    await harness.say("go")
    async with task_group() as tasks:
        tasks.start_soon(play, await harness.lead())
        yield ends
        await until(lambda: ends)
        tasks.cancel_scope.cancel()


@pytest.mark.behaviour("budget")
async def test_the_end_of_the_time_ends_a_command_and_keeps_what_it_had_printed() -> None:
    step = Say("", [Use("bash", {"command": "hang"}), Use("bash", {"command": "later"})])
    harness = await AgentHarness.opened([step, "Back again."], workspace=bench(), caps=CAPS)
    async with run(harness) as ends:
        await until(lambda: harness.bench.running == ["hang"])
        harness.clock.advance(60.0)
    assert ends == [Rest(Parked(UP))]
    assert harness.bench.running == []
    assert await harness.results() == [
        ("lead:3.0", False, f"{TIME_IS_UP}\nIt had printed:\ntick\ntock"),
        ("lead:3.1", False, NOT_BEGUN_IN_TIME),
    ]
    assert len(harness.scripted.prompts) == 1


@pytest.mark.behaviour("budget")
async def test_the_end_of_the_time_ends_a_model_that_never_answers() -> None:
    harness = await AgentHarness.opened(plays(hangs), caps=CAPS)
    async with run(harness) as ends:
        await until(lambda: harness.scripted.prompts)
        harness.clock.advance(60.0)
    assert ends == [Rest(Parked(UP))]


@pytest.mark.behaviour("budget")
async def test_a_reply_that_is_cut_keeps_its_whole_words_and_the_run_is_not_answered() -> None:
    harness = await AgentHarness.opened(EndlessModel(TextDelta("Looking."), CallDelta("glob")), caps=CAPS)
    async with run(harness) as ends:
        await until(lambda: Streamed(LEAD, CallDelta("glob")) in harness.told)
        harness.clock.advance(60.0)
    assert ends == [Rest(Parked(UP))]
    said = [entry for entry in await harness.entries() if isinstance(entry, Said)]
    assert [(one.text, one.calls, one.stopped) for one in said] == [("Looking.\n\n", (), True)]
    again = harness.restarted(["All is well."])
    assert await again.turn("go on") == Rest()
    assert last_told(again.scripted.prompts[0]) == ["go on"]
    assert (await again.lead()).transcript.last_words == "Looking.\n\nAll is well."


@pytest.mark.behaviour("budget")
async def test_a_subagents_command_ends_with_the_time_too() -> None:
    script = lead_and_subagent([uses("Task", prompt="look")], [HANG])
    harness = await AgentHarness.opened(script, workspace=bench(), caps=CAPS)
    async with run(harness) as ends:
        await until(lambda: harness.bench.running == ["hang"])
        harness.clock.advance(60.0)
    assert (ends, harness.bench.running) == ([Rest(Parked(UP))], [])


@asynccontextmanager
async def with_alice(harness: AgentHarness, launcher: type[InlineLauncher]) -> AsyncIterator[None]:
    await harness.team_state.roster.join(Joined(name="alice", prompt="begin", at=0.0))
    async with task_group() as tasks:
        tasks.start_soon(TeamPlayers(harness.team_state, {"inline": launcher(harness)}, tasks).keep)
        yield
        tasks.cancel_scope.cancel()


def led(prompt: Prompt) -> Step:
    return "I wait for alice." if f"You are {LEAD}," in prompt.system else HANG


@pytest.mark.behaviour("budget")
async def test_a_teammates_command_is_ended_and_its_result_is_there_when_the_run_ends() -> None:
    harness = await AgentHarness.opened(led, workspace=bench(), caps=CAPS)
    async with with_alice(harness, InlineLauncher), run(harness) as ends:
        await until(lambda: harness.bench.running == ["hang"])
        await harness.until_status("idle")
        harness.clock.advance(60.0)
    assert ends == [Rest(Parked(UP))]
    assert [text for _, _, text in await harness.results("alice")] == [f"{TIME_IS_UP}\nIt had printed:\ntick\ntock"]
    assert isinstance(harness.team_state.roster.state.members["alice"].status, Parked)


@pytest.mark.behaviour("budget")
async def test_a_run_whose_time_is_up_waits_only_a_little_for_a_teammate_that_hangs() -> None:
    harness = await AgentHarness.opened(led, workspace=bench(), caps=CAPS)
    async with with_alice(harness, DeafLauncher), run(harness) as ends:
        await harness.until_status("idle")
        harness.clock.advance(60.0)
        await harness.until_status("parked")
        await turns()
        assert ends == []
        await harness.passing_until(lambda: ends)
    assert ends == [Rest(Parked(UP))]


@pytest.mark.behaviour("budget")
async def test_a_limit_that_is_raised_meanwhile_ends_nothing_before_the_new_one() -> None:
    harness = await AgentHarness.opened([HANG], workspace=bench(), caps=CAPS)
    async with run(harness) as ends:
        await until(lambda: harness.bench.running == ["hang"])
        await harness.permit(caps={"seconds": 90.0})
        harness.clock.advance(60.0)
        await turns()
        assert harness.bench.running == ["hang"]
        harness.clock.advance(30.0)
    assert ends == [Rest(Parked(UP.replace("60 s", "90 s")))]
