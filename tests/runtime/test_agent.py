"""The agent: it listens, decides, does one thing and records it; whatever happens, it rests or says why it cannot."""

import logging
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.actions import Rest, Stop
from deskmate.core.agent.entries import AgentParked, Began, Did, Heard, Said, Started
from deskmate.core.log.names import LEAD, ROSTER, log
from deskmate.core.prompt.prompts import CallDelta, Prompt, TextDelta
from deskmate.core.team.messages import ShutdownRequest
from deskmate.core.team.status import Idle, Parked, Working
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, Conflict, ModelRejected, ModelTrouble, StoreCorrupt
from deskmate.models.scripted import Step
from deskmate.runtime.events import Arrived, Changed, Recorded, Streamed
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import (
    AgentHarness,
    ScriptedWorkspace,
    last_told,
    lead_and_subagent,
    run_forever,
    turns,
    uses,
)
from tests.runtime.conftest import Open
from tests.runtime.team_process import FaultyStore, fail, let_pass, until

pytestmark = pytest.mark.anyio


async def never() -> Step:
    await anyio.sleep_forever()
    raise AssertionError("it never answers")


# -- a life -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("loop")
async def test_a_turn_goes_the_same_way_on_every_store(open_store: Open) -> None:
    harness = await AgentHarness.opened([uses("glob", "Looking.", pattern="*"), "None."], store=open_store())
    assert await harness.turn("look") == Rest()
    assert [type(entry) for entry in await harness.entries()] == [Started, Heard, Said, Began, Did, Said]
    again = harness.restarted(["Still none."], store=open_store())
    assert await again.turn("again") == Rest()
    assert [type(entry) for entry in (await again.entries())[6:]] == [Heard, Said]
    assert again.scripted.prompts[0].passages[:-1] == (
        *harness.scripted.prompts[1].passages,
        again.scripted.prompts[0].passages[-2],
    )


@pytest.mark.behaviour("loop")
async def test_a_resting_agent_is_woken_by_words_and_costs_no_call_meanwhile() -> None:
    harness = await AgentHarness.opened(["One.", "Two."])
    async with harness.playing("first") as agent:
        await harness.until_status("idle")
        await turns(200)
        assert len(harness.scripted.prompts) == 1
        await harness.say("second")
        await until(lambda: agent.transcript.last_words == "Two.")
    assert last_told(harness.scripted.prompts[1]) == ["second"]


async def test_nothing_said_is_nothing_to_do() -> None:
    harness = await AgentHarness.opened([])
    assert await harness.turn() == Rest()
    assert await harness.statuses() == []


async def test_an_agent_that_left_stops_and_gives_back_what_it_had() -> None:
    harness = await AgentHarness.opened([])
    task = await harness.team_state.board.create(LEAD, NewTask("parse", owner=LEAD))
    await harness.team_state.roster.leave(LEAD, "done", heard=0)
    assert await harness.turn() == Stop("done", agreed=False)
    assert (await harness.team_state.board.refresh()).tasks[task.id].owner is None


# -- interrupts that come at odd moments ------------------------------------------------------------


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_that_comes_just_before_the_model_is_asked_cuts_that_call() -> None:
    async def interrupted() -> None:
        await harness.interrupt()
        await turns()

    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(lambda prompt: never(), store=wire)
    # The lead has listened and decided to think: it shows that it works.
    wire.at("before append", ROSTER, interrupted)
    assert await harness.turn("go") == Rest()
    assert [type(entry) for entry in await harness.entries()] == [Started, Heard, Heard]


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_that_comes_just_before_a_call_is_run_skips_it() -> None:
    class Watched(ScriptedWorkspace):
        async def locate(self, path: str) -> tuple[str, bool]:
            # Asked for by the permission rules, before the call begins.
            await harness.interrupt()
            await turns()
            return await super().locate(path)

    harness = await AgentHarness.opened([uses("write_file", path="a", content="1")], workspace=Watched())
    assert await harness.turn("go") == Rest()
    assert [text for _, _, text in await harness.results()] == [
        "Skipped: something more urgent came in. Read that first."
    ]
    assert harness.bench.files == {}


class LateWatch(MemoryStore):
    """A store that tells who watches one mailbox alone only once the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = anyio.Event()

    async def changed(self, since: Mapping[str, int]) -> None:
        if len(since) == 1:
            await self.gate.wait()
        await super().changed(since)


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_that_was_heard_cuts_nothing_that_began_after_it() -> None:
    async def step(prompt: Prompt) -> Step:
        store.gate.set()
        await turns()
        await anyio.lowlevel.checkpoint()
        return "All of it."

    store = LateWatch()
    harness = await AgentHarness.opened(step, store=store)
    await harness.interrupt()
    assert await harness.turn("go on") == Rest()
    assert len(harness.scripted.prompts) == 1
    assert (await harness.lead()).transcript.last_words == "All of it."


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_at_rest_is_recorded_and_wakes_nobody() -> None:
    harness = await AgentHarness.opened(["Hello."])
    async with harness.playing("hello") as agent:
        await harness.until_status("idle")
        await harness.interrupt()
        await until(lambda: agent.transcript.memory.interrupted)
        await turns(100)
    assert len(harness.scripted.prompts) == 1
    assert await harness.statuses() == ["working", "idle"]


@pytest.mark.behaviour("urgent")
async def test_an_interrupted_agent_rests_over_a_restart_until_the_user_writes() -> None:
    harness = await AgentHarness.opened(
        [uses("bash", command="hang")], workspace=ScriptedWorkspace(commands={"hang": run_forever})
    )
    async with harness.playing("go"):
        await until(lambda: harness.bench.running)
        await harness.interrupt()
        await harness.until_status("idle")
    again = harness.restarted(["Yes?"])
    agent = await again.lead()
    assert await agent.play(until_rest=True) == Rest()
    assert (agent.transcript.memory.interrupted, again.scripted.prompts) == (True, [])
    assert await again.turn("go on") == Rest()
    assert len(again.scripted.prompts) == 1


# -- parked -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("P6", "retry")
async def test_a_word_of_the_user_lets_a_parked_agent_try_again() -> None:
    harness = await AgentHarness.opened([ModelTrouble("overloaded"), "Here I am."])
    assert await harness.turn("go") == Rest(Parked("overloaded"))
    assert await harness.turn() == Rest(Parked("overloaded"))
    assert await harness.turn("try again") == Rest()
    assert last_told(harness.scripted.prompts[1]) == ["go", "try again"]
    assert await harness.statuses() == ["working", "parked", "working", "idle"]


@pytest.mark.behaviour("P6")
async def test_a_parked_agent_hears_its_mail_and_stays_parked() -> None:
    harness = await AgentHarness.opened([ModelRejected("a wrong key")])
    async with harness.playing("go"):
        await harness.until_status("parked")
        await harness.interrupt()
        await turns(200)
    assert len(harness.scripted.prompts) == 1
    assert [type(entry) for entry in await harness.entries()][-2:] == [AgentParked, Heard]


@pytest.mark.behaviour("P6")
async def test_an_error_inside_deskmate_parks_the_agent_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    harness = await AgentHarness.opened([ValueError("a defect"), "Mended."])
    with caplog.at_level(logging.CRITICAL, "deskmate"):
        end = await harness.turn("go")
    assert end == Rest(Parked("internal error, ValueError: a defect"))
    assert isinstance((await harness.team_state.roster.refresh()).members[LEAD].status, Parked)
    assert await harness.turn("again") == Rest()


@pytest.mark.behaviour("P6", "tools-errors")
async def test_a_call_that_deskmate_itself_cannot_carry_out_is_settled_and_not_tried_for_ever() -> None:
    class Broken(ScriptedWorkspace):
        async def keep(self, blob: str, data: bytes) -> str:
            raise RuntimeError("a defect")

    script = lead_and_subagent([uses("Task", prompt="tell me all"), "I see."], ["x" * 60_000])
    harness = await AgentHarness.opened(script, workspace=Broken())
    assert await harness.turn("go") == Rest(Parked("internal error, RuntimeError: a defect"))
    assert [type(entry) for entry in await harness.entries()] == [Started, Heard, Said, Began, Did, AgentParked]
    assert await harness.turn("go on") == Rest()
    assert last_told(harness.scripted.prompts[-1])[-1] == "go on"


@pytest.mark.behaviour("P6")
async def test_an_error_that_parking_does_not_end_ends_the_agent_instead_of_filling_its_transcript() -> None:
    harness = await AgentHarness.opened([])
    # Agreeing to it needs no turn of the model, also from one that is parked; no envelope has such an id.
    await harness.send(ShutdownRequest(request_id="r" * 500))
    with pytest.raises(BadInput):
        await harness.turn()
    assert [type(entry) for entry in await harness.entries()] == [Started, Heard, AgentParked]


@pytest.mark.behaviour("P6")
async def test_a_store_that_fails_for_good_ends_the_agent_with_that_error() -> None:
    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(
        [uses("read_file", path="a")], store=wire, workspace=ScriptedWorkspace({"a": b"1"})
    )

    async def corrupt() -> None:
        raise StoreCorrupt("the file ends below record 7")

    async def breaks() -> None:
        wire.at("before append", log(LEAD), corrupt)

    wire.at("after append", ROSTER, breaks)
    with pytest.raises(StoreCorrupt, match="ends below"):
        await harness.turn("go")


async def test_a_store_that_fails_for_a_moment_changes_nothing() -> None:
    wire = FaultyStore(MemoryStore())
    harness = await AgentHarness.opened(["Hello.", uses("glob", pattern="*"), "None."], store=wire)
    async with harness.playing("hello") as agent:
        await harness.until_status("idle")
        wire.at("before append", log(LEAD), fail, let_pass, fail)
        wire.at("after append", log(LEAD), fail, fail)
        await harness.say("look")
        await harness.passing_until(lambda: agent.transcript.last_words == "None.")
    assert [type(entry) for entry in await harness.entries()] == [Started, Heard, Said, Heard, Said, Began, Did, Said]


# -- what is seen -----------------------------------------------------------------------------------


async def test_each_status_stands_on_the_roster_once_for_each_change_also_over_a_restart() -> None:
    steps = [uses("glob", pattern=f"{number}") for number in range(3)]
    harness = await AgentHarness.opened([*steps, "Done.", "Again."])
    async with harness.playing("go"):
        await harness.until_status("idle")
        await harness.say("again")
        await until(lambda: len(harness.scripted.prompts) == 5)
        await harness.until_status("idle")
    again = harness.restarted([])
    assert await again.turn() == Rest()
    assert await again.statuses() == ["working", "idle", "working", "idle"]
    assert [told for told in again.told if isinstance(told, Changed)] == [Changed(LEAD, Idle())]


async def test_the_idle_record_bears_the_last_words_and_how_much_was_heard() -> None:
    harness = await AgentHarness.opened(["All is well."])
    await harness.turn("how is it?")
    member = (await harness.team_state.roster.refresh()).members[LEAD]
    assert (member.words, member.heard) == ("All is well.", 1)


async def test_the_feed_tells_deltas_and_entries_in_the_order_they_happen() -> None:
    harness = await AgentHarness.opened([Say("Hm, hmm.", [Use("glob", {"pattern": "*"})]), "No."])
    await harness.turn("look")
    told = [
        type(one.entry) if isinstance(one, Recorded) else one.delta if isinstance(one, Streamed) else one
        for one in harness.told
        # When mail is seen to come is told beside all that, by who watches for it.
        if not isinstance(one, Arrived)
    ]
    # A word is told once it is whole: half of it may be the beginning of a secret.
    words = [TextDelta("Hm, "), TextDelta("hmm.")]
    assert told == [
        Started,
        Heard,
        Changed(LEAD, Working()),
        *words,
        CallDelta("glob"),
        Said,
        Began,
        Did,
        TextDelta("No."),
        Said,
        Changed(LEAD, Idle()),
    ]
    numbers = [one.number for one in harness.told if isinstance(one, Recorded)]
    assert numbers == [1, 2, 3, 4, 5, 6]


async def test_what_is_read_back_is_not_told_again() -> None:
    harness = await AgentHarness.opened(["Hello."])
    await harness.turn("hello")
    again = harness.restarted([])
    await again.turn()
    assert [told for told in again.told if isinstance(told, Recorded)] == []


# -- one member, two copies -------------------------------------------------------------------------


async def test_a_second_copy_of_an_agent_ends_at_its_next_word(tmp_path: Path) -> None:
    stores = [JsonlStore.open(tmp_path, "team", create=True) for _ in range(2)]
    harness = await AgentHarness.opened(["One."], store=stores[0])
    agent = await harness.lead()
    other = harness.restarted(["Two."], store=stores[1])
    await other.turn("go")
    with pytest.raises(Conflict):
        await agent.play(until_rest=True)
    for store in stores:
        store.close()
