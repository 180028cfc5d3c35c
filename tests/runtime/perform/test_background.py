"""Background: started and not waited for, told of when it ends, and gone with the process."""

import re
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Did, Ended
from deskmate.core.prompt.prompts import Prompt
from deskmate.models.scripted import Step
from deskmate.ports import Ran
from deskmate.runtime.task_groups import task_group
from deskmate.testing import Say
from tests.runtime.agent_harness import (
    AgentHarness,
    Deed,
    ScriptedWorkspace,
    last_told,
    lead_and_subagent,
    run_forever,
    turns,
    uses,
)
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio

ID = re.compile(r"[ab][0-9a-f]{6}")
STILL = Say("Meanwhile I rest.")


def started(command: str) -> Say:
    return uses("bash", command=command, run_in_background=True)


def known_id(prompt: Prompt) -> str:
    """Return the first id of something in the background that a model was told."""
    told = [getattr(block, "text", "") for passage in prompt.passages for block in passage.blocks]
    return next(found[0] for text in told if (found := ID.search(text)))


def about(tool: str, **more: Any) -> Callable[[Prompt], Step]:
    """Return a step that uses a tool on what was started."""
    return lambda prompt: uses(tool, task_id=known_id(prompt), **more)


def playing(*steps: Step | Callable[[Prompt], Step]) -> Callable[[Prompt], Step]:
    """Return a script of steps, those that are functions made of the prompt."""
    left = iter(steps)

    def step(prompt: Prompt) -> Step:
        one = next(left)
        return one(prompt) if callable(one) else one

    return step


async def ended(harness: AgentHarness) -> list[tuple[str, str]]:
    return [(entry.status, entry.text) for entry in await harness.entries() if isinstance(entry, Ended)]


class Gate:
    """A command that ends when the test says so."""

    def __init__(self, ran: Ran) -> None:
        self._open, self._ran = anyio.Event(), ran

    def open(self) -> None:
        self._open.set()

    async def __call__(self) -> Ran:
        await self._open.wait()
        return self._ran


# -- told of its end --------------------------------------------------------------------------------


@pytest.mark.behaviour("background")
async def test_its_id_comes_at_once_and_its_end_wakes_the_agent() -> None:
    gate = Gate(Ran(0, "built"))
    harness = await AgentHarness.opened(
        [started("make"), STILL, "It is built."], workspace=ScriptedWorkspace(commands={"make": gate})
    )
    async with harness.playing("build") as agent:
        await harness.until_status("waiting", "background")
        (did,) = [entry for entry in await harness.entries() if isinstance(entry, Did)]
        id_ = did.background
        assert id_ is not None
        assert ID.fullmatch(id_)
        assert (
            did.text
            == f"Started in the background as {id_}. You are notified when it ends. TaskOutput shows its output."
        )
        assert harness.bench.running == ["make"]
        # By now it sleeps, and nothing but the end can wake it.
        await turns(200)
        gate.open()
        await until(lambda: agent.transcript.last_words == "It is built.")
        await harness.until_status("idle")
    assert last_told(harness.scripted.prompts[2]) == [
        f'<task-notification id="{id_}" status="completed">built</task-notification>'
    ]
    assert await harness.statuses() == ["working", "waiting(background)", "working", "idle"]


@pytest.mark.behaviour("background")
async def test_an_end_is_told_before_the_next_call_of_the_model_and_once() -> None:
    gate = Gate(Ran(3, "broken"))

    async def opens() -> Ran:
        gate.open()
        await until(lambda: workspace.running == ["look"])
        return Ran(0, "seen")

    workspace = ScriptedWorkspace(commands={"make": gate, "look": opens})
    harness = await AgentHarness.opened(
        [started("make"), uses("bash", command="look"), "It broke."], workspace=workspace
    )
    assert await harness.turn("build") == Rest()
    result, notification = last_told(harness.scripted.prompts[2])
    assert result == "seen"
    assert 'status="failed">broken\nexit status 3</task-notification>' in notification
    assert await ended(harness) == [("failed", "broken\nexit status 3")]


@pytest.mark.behaviour("background")
async def test_one_that_ends_before_its_own_start_is_recorded_is_told_all_the_same() -> None:
    harness = await AgentHarness.opened([started("quick"), "Done.", "Heard."])
    await harness.turn("go")
    assert await ended(harness) == [("completed", "(no output)")]
    kinds = [type(entry) for entry in await harness.entries() if isinstance(entry, Did | Ended)]
    assert kinds == [Did, Ended]


@pytest.mark.behaviour("background")
async def test_one_that_crashes_is_told_as_failed() -> None:
    async def crash() -> Ran:
        raise RuntimeError("the disk is on fire")

    harness = await AgentHarness.opened(
        [started("crash"), "Hm.", "I see."], workspace=ScriptedWorkspace(commands={"crash": crash})
    )
    await harness.turn("go")
    ((status, text),) = await ended(harness)
    assert status == "failed"
    assert "RuntimeError: the disk is on fire" in text


@pytest.mark.behaviour("background", "large-output")
async def test_the_end_of_one_that_printed_much_says_where_all_of_it_is() -> None:
    async def flood() -> Ran:
        return Ran(0, "a" * 30_000 + "z")

    harness = await AgentHarness.opened(
        [started("flood"), "Hm.", "I see."], workspace=ScriptedWorkspace(commands={"flood": flood})
    )
    await harness.turn("go")
    (end,) = [entry for entry in await harness.entries() if isinstance(entry, Ended)]
    assert (len(end.text) < 3_000, end.blob) == (True, f".teams/main/blobs/lead-{end.background}.txt")
    assert harness.bench.blobs[str(end.blob)] == b"a" * 30_000 + b"z"
    told = last_told(harness.scripted.prompts[-1])[-1]
    assert f'output=".teams/main/blobs/lead-{end.background}.txt"' in told
    assert "28,001 more characters" in told


@pytest.mark.behaviour("background")
async def test_a_turn_is_not_over_while_something_runs_in_the_background() -> None:
    gate = Gate(Ran(0, "built"))
    # Reminded of the command, the lead waits for it.
    script = playing(started("make"), STILL, about("TaskOutput", block=True), "Now it is over.", "Heard.")
    harness = await AgentHarness.opened(script, workspace=ScriptedWorkspace(commands={"make": gate}))
    ends: list[object] = []
    async with task_group() as tasks:

        async def play() -> None:
            ends.append(await harness.turn("build"))

        tasks.start_soon(play)
        await until(lambda: len(harness.scripted.prompts) == 3)
        await turns()
        assert ends == []
        gate.open()
        await until(lambda: ends)
    assert ends == [Rest()]
    assert await ended(harness) == [("completed", "built")]


@pytest.mark.behaviour("background")
async def test_an_errand_can_be_sent_in_the_background() -> None:
    task = uses("Task", prompt="look around", run_in_background=True)
    harness = await AgentHarness.opened(lead_and_subagent([task, STILL, "I see."], ["Nothing there."]))
    assert await harness.turn("go") == Rest()
    assert await ended(harness) == [("completed", "Nothing there.")]
    ((_, ok, text),) = await harness.results()
    assert ok
    assert re.fullmatch(r"Started in the background as a[0-9a-f]{6}\. .*", text)


# -- looking at it and ending it --------------------------------------------------------------------


@pytest.mark.behaviour("background")
async def test_what_it_has_printed_can_be_seen_while_it_runs_and_stays_when_it_is_stopped() -> None:
    script = playing(
        started("serve"), about("TaskOutput"), about("TaskStop"), about("TaskOutput"), "Stopped.", "Heard."
    )
    bench = ScriptedWorkspace(commands={"serve": run_forever}, prints={"serve": "listening on 3000\n"})
    harness = await AgentHarness.opened(script, workspace=bench)
    await harness.turn("serve")
    told = [text.partition(" ")[2] for _, _, text in await harness.results()]
    printed = "It has printed so far:\nlistening on 3000"
    assert told[1:] == [f"is still running. {printed}", "is stopped.", f"was stopped. {printed}"]
    assert [text.partition(" ")[2] for _, text in await ended(harness)] == [f"was stopped. {printed}"]


@pytest.mark.behaviour("background", "large-output")
async def test_of_much_that_it_has_printed_the_end_is_seen() -> None:
    bench = ScriptedWorkspace(commands={"serve": run_forever}, prints={"serve": "a" * 9_000 + "z"})
    script = playing(started("serve"), about("TaskOutput"), about("TaskStop"), "Stopped.", "Heard.")
    harness = await AgentHarness.opened(script, workspace=bench)
    await harness.turn("serve")
    told = (await harness.results())[1][2]
    assert ("(the last 8,000 characters. You get the rest when it ends)" in told, told.endswith("az")) == (True, True)
    assert len(told) < 8_200


@pytest.mark.behaviour("background")
async def test_its_output_can_be_looked_at_without_waiting_or_waited_for() -> None:
    gate = Gate(Ran(0, "built"))

    def opened(prompt: Prompt) -> Say:
        gate.open()
        return uses("TaskOutput", task_id=known_id(prompt), block=True)

    script = playing(
        started("make"),
        about("TaskOutput", block=False),
        about("TaskOutput", block=True, timeout=0.01),
        opened,
        "It is built.",
    )
    harness = await AgentHarness.opened(script, workspace=ScriptedWorkspace(commands={"make": gate}))
    await harness.turn("build")
    (id_,) = {known_id(prompt) for prompt in harness.scripted.prompts[1:]}
    assert [(ok, text) for _, ok, text in await harness.results()][1:] == [
        (True, f"{id_} is still running. It has printed nothing yet."),
        (True, f"{id_} is still running. It has printed nothing yet."),
        (True, "built"),
    ]
    assert await ended(harness) == [("completed", "built")]


@pytest.mark.behaviour("background")
async def test_stopping_it_leaves_nothing_running() -> None:
    script = playing(started("hang"), about("TaskStop"), about("TaskStop"), "Stopped.")
    harness = await AgentHarness.opened(script, workspace=ScriptedWorkspace(commands={"hang": run_forever}))
    await harness.turn("go")
    (_, stopped, again) = await harness.results()
    assert (stopped[1], stopped[2].endswith("is stopped.")) == (True, True)
    assert (again[1], "has already ended" in again[2]) == (False, True)
    assert harness.bench.running == []
    ((status, _),) = await ended(harness)
    assert status == "stopped"


@pytest.mark.behaviour("background", "tools-errors")
@pytest.mark.parametrize("tool", ["TaskOutput", "TaskStop"])
async def test_an_unknown_id_is_refused_with_those_there_are(tool: str) -> None:
    harness = await AgentHarness.opened([uses(tool, task_id="b000000"), "I see."])
    await harness.turn("go")
    assert await harness.results() == [
        ("lead:3.0", False, "There is no background work 'b000000'. You have started no background work.")
    ]


# -- cut off ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("background")
async def test_a_restart_reports_what_it_cut_off() -> None:
    harness = await AgentHarness.opened(
        [started("hang"), STILL], workspace=ScriptedWorkspace(commands={"hang": run_forever})
    )
    async with harness.playing("go"):
        await harness.until_status("waiting", "background")
    assert harness.bench.running == []
    again = harness.restarted(["I start it again, then."])
    assert await again.turn() == Rest()
    ((status, text),) = await ended(again)
    assert (status, "cut off when Deskmate stopped" in text) == ("cut off", True)
    assert 'status="cut off"' in last_told(again.scripted.prompts[0])[-1]


@pytest.mark.behaviour("background", "urgent")
async def test_an_interrupt_leaves_alone_what_runs_in_the_background() -> None:
    commands: dict[str, Deed] = {"make": run_forever, "hang": run_forever}
    steps = [started("make"), uses("bash", command="hang")]
    harness = await AgentHarness.opened(steps, workspace=ScriptedWorkspace(commands=commands))
    async with harness.playing("go"):
        await until(lambda: sorted(harness.bench.running) == ["hang", "make"])
        await harness.interrupt()
        await harness.until_status("idle")
        assert harness.bench.running == ["make"]
    assert harness.bench.running == []


@pytest.mark.behaviour("background", "urgent")
async def test_the_end_of_a_job_does_not_wake_who_was_interrupted() -> None:
    gate = Gate(Ran(0, "built"))
    harness = await AgentHarness.opened(
        [started("make"), STILL, "Yes, built."], workspace=ScriptedWorkspace(commands={"make": gate})
    )
    async with harness.playing("go"):
        await harness.until_status("waiting", "background")
        await harness.interrupt()
        await harness.until_status("idle")
        gate.open()
        await until(lambda: not harness.bench.running)
        await turns(100)
        assert len(harness.scripted.prompts) == 2
        await harness.say("is it built?")
        await until(lambda: len(harness.scripted.prompts) == 3)
    assert [text for text in last_told(harness.scripted.prompts[2]) if "built" in text][-1] == "is it built?"
