"""Secrets in what an agent hears, says and does: none is written, and what it does is what it was asked to do."""

import pytest

from deskmate.core.agent.entries import Call, Ended, Said
from deskmate.core.agent.open_calls import OUTCOME_UNKNOWN
from deskmate.core.log.names import BOARD, LEAD, log
from deskmate.core.log.records import Decision
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.prompts import Delta, RetryDelta, TextDelta, ThinkingBlock, ThinkingDelta
from deskmate.core.prompt.recorded_replies import redacted
from deskmate.core.prompt.rendering import spoken
from deskmate.models.scripted import Step
from deskmate.ports import Ran
from deskmate.runtime.events import Feed, Streamed
from deskmate.runtime.perform.calls.tool_calls import RESULT_CAP
from deskmate.runtime.perform.live_words import LiveWords
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import AgentHarness, ScriptedWorkspace, last_told, run_forever, uses
from tests.runtime.team_process import until

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("secrets")]
# In two parts: as one, it would be found in this file.
SECRET = "ghp_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u"
NAMED = "[redacted: GitHub token]"
KNOWN = Redaction({"A_TOKEN": "Zk3vQ9tRw7" + "Lx2MbN"})


async def test_what_a_pen_returns_is_what_it_wrote_and_neither_holds_a_secret() -> None:
    writer = LogWriter(MemoryStore(), SystemClock(), KNOWN)
    [first] = await writer.append(BOARD, {"type": "x", "text": "it is Zk3vQ9tRw7Lx2MbN"})
    wanted = Decision({"type": "y", "list": [{"Zk3vQ9tRw7" + "Lx2MbN": SECRET}]}, None)
    second, _ = await writer.decide(BOARD, 1, lambda _: wanted)

    assert await writer.store.read(BOARD) == [first, second]
    assert first.body["text"] == "it is [redacted: A_TOKEN]"
    assert second is not None
    assert second.body["list"] == [{"[redacted: A_TOKEN]": NAMED}]


async def test_a_pen_for_another_store_knows_the_same_secrets() -> None:
    writer = LogWriter(MemoryStore(), SystemClock(), KNOWN).into(MemoryStore())

    assert (await writer.append(BOARD, {"type": "Zk3vQ9tRw7" + "Lx2MbN"}))[0].body["type"] == "[redacted: A_TOKEN]"


# -- calls ----------------------------------------------------------------------------------------


async def test_a_call_is_run_as_it_was_meant_and_written_without_its_secret() -> None:
    async def ran() -> Ran:
        return Ran(0, f"I got {SECRET}")

    workspace = ScriptedWorkspace(commands={f"use {SECRET}": ran})
    harness = await AgentHarness.opened([uses("bash", command=f"use {SECRET}"), "Done."], workspace=workspace)
    await harness.turn("go")

    assert await harness.results() == [("lead:3.0", True, f"I got {NAMED}")]
    said = next(entry for entry in await harness.entries() if isinstance(entry, Said))
    assert said.calls == (Call(tool="bash", arguments={"command": f"use {NAMED}"}, redacted=True),)
    assert SECRET not in str(await harness.store.read(log(LEAD)))


async def test_a_command_with_a_stand_in_is_refused_before_anybody_is_asked() -> None:
    steps = [uses("bash", command=f"echo KEY={NAMED} > .env", run_in_background=at) for at in (False, True)]
    harness = await AgentHarness.opened([*steps, "Done."], mode=Mode.DEFAULT, attended=True)
    await harness.turn("go")

    assert [(ok, "would use that text literally" in text) for _, ok, text in await harness.results()] == [
        (False, True),
        (False, True),
    ]
    assert harness.bench.asked == []


async def test_what_an_agent_reads_of_a_file_it_can_write_back() -> None:
    bench = ScriptedWorkspace({"f": f"KEY={SECRET}\nPORT=1\n".encode()})
    edit = uses("edit_file", path="f", old_text=f"KEY={NAMED}\nPORT=1", new_text=f"KEY={NAMED}\nPORT=2")
    write = uses("write_file", path="f", content=f"# ports\nKEY={NAMED}\nPORT=3\n")
    harness = await AgentHarness.opened([uses("read_file", path="f"), edit, write, "Done."], workspace=bench)
    await harness.turn("go")

    assert [ok for _, ok, _ in await harness.results()] == [True, True, True]
    assert bench.files["f"] == f"# ports\nKEY={SECRET}\nPORT=3\n".encode()
    assert SECRET not in str(await harness.store.read(log(LEAD)))


async def test_after_a_restart_a_call_that_began_and_held_a_secret_is_told_as_interrupted() -> None:
    harness = await AgentHarness.opened(
        [uses("read_file", path=f"{SECRET}.txt")], workspace=(bench := Slow({f"{SECRET}.txt": b"x"}))
    )
    async with harness.playing("go"):
        await until(lambda: bench.reading)
    again = harness.restarted(["I look."])
    await again.turn()

    (result,) = await again.results()
    assert result[:2] == ("lead:3.0", False)
    assert result[2].startswith(f"Interrupted. {OUTCOME_UNKNOWN} Its arguments contained a secret")
    assert bench.reading == 1


class Slow(ScriptedWorkspace):
    """Files that never come."""

    reading = 0

    async def read(self, path: str) -> bytes:
        self.reading += 1
        await run_forever()
        raise AssertionError("it never comes")


async def test_after_a_restart_a_call_that_had_not_begun_is_not_run_with_what_is_left_of_it() -> None:
    asked = Say("", [Use("bash", {"command": "wait"}), Use("bash", {"command": f"use {SECRET}"})])
    harness = await AgentHarness.opened([asked], workspace=ScriptedWorkspace(commands={"wait": run_forever}))
    async with harness.playing("go"):
        await until(lambda: harness.bench.running)
    again = harness.restarted(["I ask again."])
    await again.turn()

    texts = [text for _, _, text in await again.results()]
    assert texts[1].startswith("Not run: its arguments contained a secret, which is never written to disk")
    assert again.bench.running == []


async def test_a_secret_where_a_long_result_is_cut_is_not_shown_by_half() -> None:
    async def ran() -> Ran:
        return Ran(0, "x " * 985 + SECRET + " y" * RESULT_CAP)

    harness = await AgentHarness.opened(
        [uses("bash", command="print"), "Done."], workspace=(bench := ScriptedWorkspace(commands={"print": ran}))
    )
    await harness.turn("go")

    ((_, _, text),) = await harness.results()
    assert SECRET[:12] not in text
    assert NAMED in text
    assert SECRET.encode() not in b"".join(bench.blobs.values())


async def test_what_ran_in_the_background_is_redacted_before_it_is_cut() -> None:
    async def ran() -> Ran:
        return Ran(0, "x " * 985 + SECRET + " y" * 2000)

    script: list[Step] = [uses("bash", command="print", run_in_background=True), "I wait.", "Done."]
    harness = await AgentHarness.opened(script, workspace=(bench := ScriptedWorkspace(commands={"print": ran})))
    await harness.turn("go")

    (end,) = [entry for entry in await harness.entries() if isinstance(entry, Ended)]
    assert SECRET[:12] not in end.text
    assert NAMED in end.text
    assert SECRET.encode() not in b"".join(bench.blobs.values())


async def test_what_fails_with_a_secret_in_its_words_is_told_without() -> None:
    async def fails() -> Ran:
        raise ValueError(f"no such key: {SECRET}")

    harness = await AgentHarness.opened(
        [uses("bash", command="fail"), "Done."], workspace=ScriptedWorkspace(commands={"fail": fails})
    )
    await harness.turn("go")

    assert last_told(harness.scripted.prompts[1]) == [
        f"bash failed because of an error in Deskmate (ValueError: no such key: {NAMED}). Try another way."
    ]


# -- words ----------------------------------------------------------------------------------------


async def test_words_are_told_as_they_come_and_no_secret_among_them() -> None:
    assert _told(
        ThinkingDelta("Hm, ghp_"),
        ThinkingDelta(SECRET[4:]),
        TextDelta("It is "),
        TextDelta(SECRET[:9]),
        TextDelta(SECRET[9:] + "."),
    ) == [ThinkingDelta("Hm, "), ThinkingDelta(NAMED), TextDelta("It is "), TextDelta(f"{NAMED}.")]


async def test_what_is_asked_for_again_leaves_nothing_of_the_answer_before() -> None:
    assert _told(TextDelta("half"), RetryDelta(1.0, f"no {SECRET}", "m"), TextDelta("whole")) == [
        RetryDelta(1.0, f"no {NAMED}", "m"),
        TextDelta("whole"),
    ]


def _told(*deltas: Delta) -> list[Delta]:
    feed, told = Feed(), list[Delta]()
    feed.listen(lambda one: told.append(one.delta) if isinstance(one, Streamed) else None)
    voice = LiveWords(LEAD, feed, Redaction())
    for delta in deltas:
        voice.say(delta)
    voice.end()
    return told


def test_a_thought_that_held_a_secret_is_not_given_back_to_who_signed_it() -> None:
    blocks = tuple(
        {"type": "thinking", "text": text, "signature": "signed", "sealed": False} for text in ("Well.", SECRET)
    )
    entry = Said(text="Hi.", blocks=(*blocks, {"type": "text", "text": "Hi."}))

    first, second, _ = spoken(3, redacted(entry, Redaction()))
    assert first == ThinkingBlock("Well.", "signed")
    assert second == ThinkingBlock(NAMED, "")
