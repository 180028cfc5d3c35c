"""Calls: what a model asks for is run, each gets its one result, and whatever goes wrong is one that it can read."""

import os
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Began, Call, Did, Heard, Said
from deskmate.core.agent.open_calls import INTERRUPTED
from deskmate.core.log.names import LEAD, log
from deskmate.core.prompt.prompts import CallBlock, Reply, ResultBlock
from deskmate.core.team.messages import Plain
from deskmate.ports import Ran
from deskmate.runtime.perform.calls.tool_calls import RESULT_CAP
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, Use
from deskmate.workspace.local_workspace import LocalWorkspace
from tests.runtime.agent_harness import AgentHarness, ScriptedWorkspace, last_told, run_forever, turns, uses
from tests.runtime.team_process import FaultyStore, until

pytestmark = pytest.mark.anyio


class Rendezvous(ScriptedWorkspace):
    """Files that are given out only once as many are being read as there are."""

    reading = 0

    async def read(self, path: str) -> bytes:
        self.reading += 1
        await until(lambda: self.reading == len(self.files))
        # The last one asked for is there first.
        if path == "a":
            await turns(20)
        return await super().read(path)


# -- running ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("loop")
async def test_calls_that_may_overlap_run_together_and_their_results_come_in_the_order_asked() -> None:
    asked = Say("Reading.", [Use("read_file", {"path": "a"}), Use("read_file", {"path": "b"})])
    harness = await AgentHarness.opened([asked, "Both read."], workspace=Rendezvous({"a": b"1", "b": b"2"}))
    assert await harness.turn("read a and b") == Rest()
    results = [block for block in harness.scripted.prompts[1].passages[-1].blocks if isinstance(block, ResultBlock)]
    assert [block.text for block in results] == ["1\t1", "1\t2"]
    assert [entry.calls for entry in await harness.entries() if isinstance(entry, Began)] == [("lead:3.0", "lead:3.1")]


@pytest.mark.behaviour("loop")
async def test_calls_that_end_while_another_is_recorded_are_recorded_together() -> None:
    store = FaultyStore(MemoryStore())
    # This tool uses no thread, so that all six calls end in the same turn of the event loop.
    asked = Say("", [Use("glob", {"pattern": name}) for name in "abcdef"])
    harness = await AgentHarness.opened([asked, "Found."], workspace=ScriptedWorkspace({}), store=store)
    await harness.turn("find them")
    ends = [entry.call for entry in await harness.entries() if isinstance(entry, Did)]
    assert sorted(ends) == [f"lead:3.{index}" for index in range(6)]
    # Started, heard, said, began, the first end, all other ends, said.
    assert store.appended.count(log(LEAD)) == 7


@pytest.mark.behaviour("loop")
async def test_calls_that_are_settled_together_are_recorded_together() -> None:
    store = FaultyStore(MemoryStore())
    asked = Say("", [Use("glob", {"pattern": "*"})] * 300)
    harness = await AgentHarness.opened([asked, "Done."], store=store)
    await harness.turn("go")
    assert len([entry for entry in await harness.entries() if isinstance(entry, Did)]) == 300
    assert store.appended.count(log(LEAD)) < 40


@pytest.mark.slow
@pytest.mark.behaviour("loop", "C1")
@pytest.mark.parametrize("tool", ["read_file", "bash"])
async def test_of_a_flood_of_calls_some_are_run_and_each_has_one_result(tool: str) -> None:
    arguments = {"read_file": {"path": "a"}, "bash": {"command": "ls"}}[tool]
    asked = Say("All at once.", [Use(tool, arguments)] * 1_000)
    harness = await AgentHarness.opened([asked, "Done."], workspace=ScriptedWorkspace({"a": b"1"}))
    assert await harness.turn("go") == Rest()
    results = [block for block in harness.scripted.prompts[1].passages[-1].blocks if isinstance(block, ResultBlock)]
    assert (len(results), len({block.id for block in results})) == (1_000, 1_000)
    assert [block.text.startswith("Not run: ") for block in results] == [False] * 128 + [True] * 872
    began = [len(entry.calls) for entry in await harness.entries() if isinstance(entry, Began)]
    assert (sum(began), max(began)) == (128, 16 if tool == "read_file" else 1)


@pytest.mark.behaviour("loop", "C1")
async def test_an_answer_that_no_record_holds_is_kept_in_part_whatever_it_is_made_of() -> None:
    asked = Say("🎈" * 300_000, [Use("x" * 2_000, {})] * 1_000)
    harness = await AgentHarness.opened([asked, "Done."])
    assert await harness.turn("go") == Rest()
    results = [block for block in harness.scripted.prompts[1].passages[-1].blocks if isinstance(block, ResultBlock)]
    assert len(results) == 1_000


@pytest.mark.behaviour("loop")
async def test_calls_with_effects_run_one_by_one_in_the_order_asked() -> None:
    workspace = ScriptedWorkspace()
    seen: list[list[str]] = []

    async def look() -> Ran:
        seen.append(list(workspace.running))
        return Ran(0, "done")

    workspace.commands = {"one": look, "two": look}
    asked = Say("", [Use("bash", {"command": "one"}), Use("bash", {"command": "two"})])
    harness = await AgentHarness.opened([asked, "Done."], workspace=workspace)
    await harness.turn("go")
    assert seen == [["one"], ["two"]]


@pytest.mark.behaviour("loop")
async def test_a_step_that_asks_for_nothing_more_ends_the_turn_whatever_reason_the_provider_gives() -> None:
    call = CallBlock("x", "glob", {"pattern": "*"})
    harness = await AgentHarness.opened([Reply((call,), end="done"), Reply((call,), end="length"), "Enough."])
    assert await harness.turn("look") == Rest()
    assert len(harness.scripted.prompts) == 3


# -- what goes wrong is a result --------------------------------------------------------------------


async def crash() -> Ran:
    raise RuntimeError("the disk is on fire")


@pytest.mark.behaviour("tools-errors")
@pytest.mark.parametrize(
    ("step", "words"),
    [
        pytest.param(uses("fly"), ["'fly'", "Use one that you were given"], id="no such tool"),
        pytest.param(uses("Skill", skill="release"), ["'Skill'", "There are bash, read_file"], id="not here"),
        pytest.param(uses("read_file"), ["path: Field required", "It takes path, offset, limit"], id="missing"),
        pytest.param(uses("bash", command="ls", cmd="ls"), ["cmd: Extra inputs"], id="unknown argument"),
        pytest.param(
            Reply((CallBlock("x", "bash", {}, flaw="the arguments are not JSON"),)), ["are not JSON"], id="unreadable"
        ),
        pytest.param(uses("read_file", path="nowhere"), ["there is no file nowhere"], id="no such file"),
        pytest.param(uses("bash", command="crash"), ["RuntimeError: the disk is on fire", "another way"], id="crash"),
    ],
)
async def test_a_wrong_step_gets_a_result_that_the_model_reads_and_the_loop_goes_on(
    step: Say | Reply, words: list[str]
) -> None:
    harness = await AgentHarness.opened([step, "I see."], workspace=ScriptedWorkspace(commands={"crash": crash}))
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert (ok, [word for word in words if word not in text]) == (False, [])
    assert last_told(harness.scripted.prompts[1]) == [text]


@pytest.mark.behaviour("tools-errors")
async def test_a_tool_whose_call_cannot_even_be_looked_at_fails_as_a_result_too() -> None:
    class Broken(ScriptedWorkspace):
        async def locate(self, path: str) -> tuple[str, bool]:
            raise RuntimeError("no such device")

    harness = await AgentHarness.opened([uses("read_file", path="a"), "I see."], workspace=Broken())
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert not ok
    assert "RuntimeError: no such device" in text


@pytest.mark.behaviour("large-output")
async def test_a_result_above_the_cap_goes_to_a_blob_and_the_model_reads_both_ends_and_the_path() -> None:
    whole = "a" * RESULT_CAP + "z"

    async def flood() -> Ran:
        return Ran(0, whole)

    harness = await AgentHarness.opened(
        [uses("bash", command="flood"), "Long."], workspace=ScriptedWorkspace(commands={"flood": flood})
    )
    await harness.turn("go")
    ((_, ok, text),) = await harness.results()
    assert (ok, text.startswith("aaa"), text.endswith("aaz"), len(text) < 5_000) == (True, True, True, True)
    assert "46,001 more characters. The whole text is in .teams/main/blobs/lead-3-0.txt" in text
    assert harness.bench.blobs == {".teams/main/blobs/lead-3-0.txt": whole.encode()}


@pytest.mark.behaviour("large-output", "tools-errors")
async def test_a_result_that_cannot_be_kept_is_told_as_far_as_it_can_be() -> None:
    class Full(ScriptedWorkspace):
        async def keep(self, blob: str, data: bytes) -> str:
            raise OSError("no space left on device")

    async def flood() -> Ran:
        return Ran(0, "x" * (RESULT_CAP + 1))

    harness = await AgentHarness.opened(
        [uses("bash", command="flood"), "Long."], workspace=Full(commands={"flood": flood})
    )
    assert await harness.turn("go") == Rest()
    ((_, ok, text),) = await harness.results()
    assert (ok, text.startswith("xxx"), len(text) < 5_000) == (True, True, True)
    assert "46,001 more characters. They could not be saved: no space left on device" in text


# -- cut short --------------------------------------------------------------------------------------


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_cuts_a_running_tool_and_the_agent_rests_until_the_user_writes() -> None:
    asked = Say("", [Use("bash", {"command": "hang"}), Use("bash", {"command": "later"})])
    harness = await AgentHarness.opened(
        [asked, "Back again."], workspace=ScriptedWorkspace(commands={"hang": run_forever})
    )
    async with harness.playing("go"):
        await until(lambda: harness.bench.running == ["hang"])
        await harness.interrupt()
        await harness.until_status("idle")
        assert harness.bench.running == []
        assert await harness.results() == [
            ("lead:3.0", False, INTERRUPTED),
            ("lead:3.1", False, "Skipped: something more urgent came in. Read that first."),
        ]
        assert len(harness.scripted.prompts) == 1
        await harness.say("go on")
        await until(lambda: len(harness.scripted.prompts) == 2)
    assert last_told(harness.scripted.prompts[1])[-1] == "go on"


@pytest.mark.behaviour("urgent")
async def test_what_an_interrupt_cuts_leaves_no_process_behind(tmp_path: Path) -> None:
    command = "sleep 300 & echo $! > child; echo $$ > shell; wait"
    store = JsonlStore.open(tmp_path, "team", create=True)
    workspace = LocalWorkspace(tmp_path, "team", LEAD, grace_seconds=0.2, environ=os.environ)
    harness = await AgentHarness.opened([uses("bash", command=command)], store=store, workspace=workspace)
    async with harness.playing("go"):
        await until(lambda: (tmp_path / "shell").exists() and (tmp_path / "shell").read_text().endswith("\n"))
        await harness.interrupt()
        await harness.until_status("idle")
        assert await harness.results() == [("lead:3.0", False, INTERRUPTED)]
    pids = [int((tmp_path / name).read_text()) for name in ("child", "shell")]
    assert [pid for pid in pids if _lives(pid)] == []
    store.close()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.behaviour("urgent")
async def test_only_the_user_can_interrupt() -> None:
    harness = await AgentHarness.opened(
        [uses("bash", command="slow"), "Done."], workspace=ScriptedWorkspace(commands={"slow": lambda: _after(gate)})
    )
    gate = anyio.Event()
    async with harness.playing("go") as agent:
        await until(lambda: harness.bench.running)
        await harness.interrupt(sender=LEAD)
        await harness.send(Plain(content="stop that"), sender=LEAD)
        await turns(50)
        assert harness.bench.running == ["slow"]
        gate.set()
        await harness.until_status("idle")
    assert [(ok, text) for _, ok, text in await harness.results()] == [(True, "waited for")]
    assert not agent.transcript.memory.interrupted


async def _after(gate: anyio.Event) -> Ran:
    await gate.wait()
    return Ran(0, "waited for")


@pytest.mark.behaviour("urgent")
async def test_the_users_words_let_a_running_call_end_and_skip_those_not_begun() -> None:
    gate = anyio.Event()
    asked = Say(
        "", [Use("bash", {"command": "slow"}), Use("bash", {"command": "later"}), Use("glob", {"pattern": "*"})]
    )
    harness = await AgentHarness.opened(
        [asked, "I listen."], workspace=ScriptedWorkspace(commands={"slow": lambda: _after(gate)})
    )
    async with harness.playing("go"):
        await until(lambda: harness.bench.running)
        await harness.say("wait, something else")
        gate.set()
        await harness.until_status("idle")
    skipped = "Skipped: something more urgent came in. Read that first."
    assert [text for _, _, text in await harness.results()] == ["waited for", skipped, skipped]
    assert last_told(harness.scripted.prompts[1]) == ["waited for", skipped, skipped, "wait, something else"]


@pytest.mark.behaviour("urgent")
async def test_a_result_that_is_there_is_recorded_though_an_interrupt_comes_with_it() -> None:
    async def interrupted_at_the_end() -> Ran:
        await harness.interrupt()
        # The watcher has cut what runs by the time this is through.
        await turns()
        return Ran(0, "all of it")

    workspace = ScriptedWorkspace(commands={"last": interrupted_at_the_end})
    harness = await AgentHarness.opened([uses("bash", command="last")], workspace=workspace)
    assert await harness.turn("go") == Rest()
    assert await harness.results() == [("lead:3.0", True, "all of it")]


@pytest.mark.behaviour("urgent")
async def test_an_interrupted_command_keeps_what_it_had_printed() -> None:
    bench = ScriptedWorkspace(commands={"watch": run_forever}, prints={"watch": "tick\ntick\n"})
    harness = await AgentHarness.opened([uses("bash", command="watch")], workspace=bench)
    async with harness.playing("go"):
        await until(lambda: harness.bench.running)
        await harness.interrupt()
        await harness.until_status("idle")
    cut = "Interrupted. Its outcome is unknown. Check what it did before you repeat it."
    assert await harness.results() == [("lead:3.0", False, f"{cut}\nIt had printed:\ntick\ntick")]


# -- after a restart --------------------------------------------------------------------------------


@pytest.mark.behaviour("loop")
async def test_what_a_crash_cut_off_is_run_again_only_where_that_is_safe() -> None:
    asked = Say("", [Use("read_file", {"path": "a"}), Use("bash", {"command": "hang"})])
    workspace = ScriptedWorkspace({"a": b"1"}, commands={"hang": run_forever})
    harness = await AgentHarness.opened([asked], workspace=workspace)
    async with harness.playing("go"):
        await until(lambda: workspace.running)
    again = harness.restarted(["I look first."])
    assert await again.turn() == Rest()
    assert [text for _, _, text in await again.results()] == [
        "1\t1",
        "Interrupted. Its outcome is unknown. Check what it did before you repeat it.",
    ]
    assert [type(entry) for entry in await again.entries()][-3:] == [Began, Did, Said]


async def test_a_read_that_a_crash_cut_off_is_read_again() -> None:
    class Slow(ScriptedWorkspace):
        hangs = True

        async def read(self, path: str) -> bytes:
            if self.hangs:
                self.running.append(path)
                await anyio.sleep_forever()
            return await super().read(path)

    workspace = Slow({"a": b"1"})
    harness = await AgentHarness.opened([uses("read_file", path="a")], workspace=workspace)
    async with harness.playing("go"):
        await until(lambda: workspace.running)
    workspace.hangs = False
    again = harness.restarted(["Read."])
    await again.turn()
    assert await again.results() == [("lead:3.0", True, "1\t1")]
    assert [entry.calls for entry in await again.entries() if isinstance(entry, Began)] == [("lead:3.0",)]


async def test_a_turn_stands_in_the_transcript_entry_by_entry() -> None:
    harness = await AgentHarness.opened([uses("glob", "Looking.", pattern="*"), "Nothing there."])
    await harness.turn("look")
    _, heard, said, began, did, last = await harness.entries()
    assert isinstance(heard, Heard)
    assert [mail["content"] for mail in heard.mail] == ["look"]
    assert isinstance(said, Said)
    assert (said.text, said.calls) == ("Looking.", (Call(tool="glob", arguments={"pattern": "*"}),))
    assert isinstance(began, Began)
    assert began.calls == ("lead:3.0",)
    assert isinstance(did, Did)
    assert (did.call, did.ok, did.text) == ("lead:3.0", True, "No file matches *")
    assert isinstance(last, Said)
    assert (last.text, last.calls) == ("Nothing there.", ())
