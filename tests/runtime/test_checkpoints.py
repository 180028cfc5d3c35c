"""The files are saved while the model thinks, and before anything acts on its answer."""

import anyio
import pytest

from deskmate.core.agent.entries import Began, Heard, Said
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import AgentHarness, ScriptedWorkspace, run_forever
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio
BUILD = Say(calls=[Use("bash", {"command": "build"})])


async def test_no_call_begins_before_the_files_are_saved() -> None:
    harness = await AgentHarness.opened([BUILD, Say("Built.")])
    saved, entries = anyio.Event(), list[int]()

    async def save(entry: int, before: str) -> None:
        entries.append(entry)
        await saved.wait()

    harness.checkpoint = save
    async with harness.playing("build it") as agent:
        await until(lambda: any(isinstance(entry, Said) for _, entry in agent.transcript.entries))
        await anyio.wait_all_tasks_blocked()
        assert not any(isinstance(entry, Began) for _, entry in agent.transcript.entries)
        saved.set()
        await until(lambda: agent.transcript.last_words == "Built.")
        heard = [number for number, entry in agent.transcript.entries if isinstance(entry, Heard)]
    assert entries == heard


async def test_files_are_not_saved_again_after_a_call_for_the_message_began() -> None:
    harness = await AgentHarness.opened([BUILD], workspace=ScriptedWorkspace(commands={"build": run_forever}))
    entries = list[int]()

    async def save(entry: int, before: str) -> None:
        entries.append(entry)

    harness.checkpoint = save
    async with harness.playing("build it"):
        await until(lambda: harness.bench.running)
    later = harness.restarted([Say("It was cut."), Say("Yes.")])
    await later.turn()
    assert len(entries) == 1
    await later.turn("again?")
    assert len(entries) == 2
