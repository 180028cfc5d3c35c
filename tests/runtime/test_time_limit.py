"""The end of a run's time ends what runs: a command, a reply that is being streamed, the work of teammates."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Said
from deskmate.core.agent.open_calls import NOT_BEGUN_IN_TIME, TIME_IS_UP
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import CallDelta, Prompt, TextDelta
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import Joined
from deskmate.models.scripted import Speak, Step
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Streamed
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team import Team
from tests.runtime import SOON, until
from tests.runtime.desks import Bench, Floor, Unending, cast, for_ever, last_told, turns, uses
from tests.runtime.scenes import Deaf, Inline, hangs, plays

pytestmark = pytest.mark.anyio

CAPS = Caps(seconds=60.0)
UP = "budget: the 60 s of this run have passed (--max-time)"
HANG = uses("bash", command="hang")


def bench() -> Bench:
    return Bench(commands={"hang": for_ever}, prints={"hang": "tick\ntock\n"})


@asynccontextmanager
async def run(floor: Floor) -> AsyncIterator[list[object]]:
    """Let the lead play to its end beside the test; yield how it ended, once it has."""
    ends: list[object] = []

    async def play(agent: Agent) -> None:
        ends.append(await agent.play(until_rest=True))

    await floor.say("go")
    async with task_group() as tasks:
        tasks.start_soon(play, await floor.lead())
        yield ends
        with anyio.fail_after(SOON):
            while not ends:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


@pytest.mark.behaviour("budget")
async def test_the_end_of_the_time_ends_a_command_and_keeps_what_it_had_printed() -> None:
    step = Speak("", [("bash", {"command": "hang"}), ("bash", {"command": "later"})])
    floor = await Floor.opened([step, "Back again."], workspace=bench(), caps=CAPS)
    async with run(floor) as ends:
        await until(lambda: floor.bench.running == ["hang"])
        floor.clock.advance(60.0)
    assert ends == [Rest("parked", UP)]
    assert floor.bench.running == []
    assert await floor.results() == [
        ("lead:3.0", False, f"{TIME_IS_UP}\nIt had printed:\ntick\ntock"),
        ("lead:3.1", False, NOT_BEGUN_IN_TIME),
    ]
    assert len(floor.scripted.prompts) == 1


@pytest.mark.behaviour("budget")
async def test_the_end_of_the_time_ends_a_model_that_never_answers() -> None:
    floor = await Floor.opened(plays(hangs), caps=CAPS)
    async with run(floor) as ends:
        await until(lambda: floor.scripted.prompts)
        floor.clock.advance(60.0)
    assert ends == [Rest("parked", UP)]


@pytest.mark.behaviour("budget")
async def test_a_reply_that_is_cut_keeps_its_whole_words_and_the_run_is_not_answered() -> None:
    floor = await Floor.opened(Unending(TextDelta("Looking."), CallDelta("glob")), caps=CAPS)
    async with run(floor) as ends:
        await until(lambda: Streamed(LEAD, CallDelta("glob")) in floor.told)
        floor.clock.advance(60.0)
    assert ends == [Rest("parked", UP)]
    said = [entry for entry in await floor.entries() if isinstance(entry, Said)]
    assert [(one.text, one.calls, one.stopped) for one in said] == [("Looking.\n\n", (), True)]
    again = floor.restarted(["All is well."])
    assert await again.turn("go on") == Rest()
    assert last_told(again.scripted.prompts[0]) == ["go on"]
    assert (await again.lead()).last_words == "Looking.\n\nAll is well."


@pytest.mark.behaviour("budget")
async def test_a_subagents_command_ends_with_the_time_too() -> None:
    script = cast([uses("Task", prompt="look")], [HANG])
    floor = await Floor.opened(script, workspace=bench(), caps=CAPS)
    async with run(floor) as ends:
        await until(lambda: floor.bench.running == ["hang"])
        floor.clock.advance(60.0)
    assert (ends, floor.bench.running) == ([Rest("parked", UP)], [])


@asynccontextmanager
async def with_alice(floor: Floor, launcher: type[Inline]) -> AsyncIterator[None]:
    await floor.team_state.roster.join(Joined(name="alice", prompt="begin", at=0.0))
    async with task_group() as tasks:
        tasks.start_soon(Team(floor.team_state, {"inline": launcher(floor)}, tasks).keep)
        yield
        tasks.cancel_scope.cancel()


def led(prompt: Prompt) -> Step:
    return "I wait for alice." if f"You are {LEAD}," in prompt.system else HANG


@pytest.mark.behaviour("budget")
async def test_a_teammates_command_is_ended_and_its_result_is_there_when_the_run_ends() -> None:
    floor = await Floor.opened(led, workspace=bench(), caps=CAPS)
    async with with_alice(floor, Inline), run(floor) as ends:
        await until(lambda: floor.bench.running == ["hang"])
        await floor.until_status("idle")
        floor.clock.advance(60.0)
    assert ends == [Rest("parked", UP)]
    assert [text for _, _, text in await floor.results("alice")] == [f"{TIME_IS_UP}\nIt had printed:\ntick\ntock"]
    assert floor.team_state.roster.state.members["alice"].status.word == "parked"


@pytest.mark.behaviour("budget")
async def test_a_run_whose_time_is_up_waits_only_a_little_for_a_teammate_that_hangs() -> None:
    floor = await Floor.opened(led, workspace=bench(), caps=CAPS)
    async with with_alice(floor, Deaf), run(floor) as ends:
        await floor.until_status("idle")
        floor.clock.advance(60.0)
        await floor.until_status("parked")
        await turns()
        assert ends == []
        await floor.passing_until(lambda: ends)
    assert ends == [Rest("parked", UP)]


@pytest.mark.behaviour("budget")
async def test_a_limit_that_is_raised_meanwhile_ends_nothing_before_the_new_one() -> None:
    floor = await Floor.opened([HANG], workspace=bench(), caps=CAPS)
    async with run(floor) as ends:
        await until(lambda: floor.bench.running == ["hang"])
        await floor.permit(caps={"seconds": 90.0})
        floor.clock.advance(60.0)
        await turns()
        assert floor.bench.running == ["hang"]
        floor.clock.advance(30.0)
    assert ends == [Rest("parked", UP.replace("60 s", "90 s"))]
