"""The mind: what a model is asked, what becomes of its answer, and how room is made when it no longer fits."""

import functools
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Cleared, Compacted, Entry, Said
from deskmate.core.log.names import LEAD, log
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.compaction import LEFT_OUT, summary_request
from deskmate.core.prompt.prompts import (
    CallDelta,
    Delta,
    Prompt,
    RetryDelta,
    Spoke,
    TextBlock,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from deskmate.core.prompt.rendering import CLEARED, CUT_SHORT, GO_ON_WHERE_CUT
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.messages import PermissionResponse
from deskmate.core.team.status import Parked
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Note
from deskmate.errors import ModelRejected, ModelTrouble, PromptTooLong
from deskmate.models.retry import Retrying
from deskmate.models.scripted import Step
from deskmate.ports import ModelLimits
from deskmate.runtime.events import Streamed
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Say, ScriptedModel, Use
from tests.runtime.agent_harness import AgentHarness, EndlessModel, ScriptedWorkspace, last_told, turns, uses
from tests.runtime.team_process import FaultyStore, let_pass, until

pytestmark = pytest.mark.anyio

SECRET = "ghp_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u"
SUMMARY = "We read a file and must go on with the next."
TOO_LONG = PromptTooLong("the prompt has more tokens than the window")


def is_summary(prompt: Prompt) -> bool:
    return last_told(prompt)[-1].startswith(summary_request())


def only(entries: list[Entry], *kinds: type[Entry]) -> list[Entry]:
    return [entry for entry in entries if isinstance(entry, kinds)]


async def never() -> Step:
    await anyio.sleep_forever()
    raise AssertionError("it never answers")


# -- an answer cut short ----------------------------------------------------------------------------


async def paced(speak: Say, *more: Step) -> AgentHarness:
    """Return a harness whose model takes a second for each part of its answer."""
    harness = await AgentHarness.opened([])
    model = ScriptedModel([speak, *more], pause_seconds=1.0, clock=harness.clock)
    return harness.restarted(model)


def streamed(harness: AgentHarness, delta: Delta) -> Callable[[], bool]:
    return lambda: Streamed(LEAD, delta) in harness.told


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_cuts_the_model_and_keeps_the_words_that_were_whole() -> None:
    harness = await paced(uses("glob", "Looking.", pattern="*"), "As you wish.")
    async with harness.playing("go") as agent:
        await harness.passing_until(streamed(harness, CallDelta("glob")))
        await harness.interrupt()
        await harness.until_status("idle")
        assert agent.transcript.memory.interrupted
        assert [(entry.text, entry.calls) for entry in await harness.entries() if isinstance(entry, Said)] == [
            ("Looking.", ())
        ]
        assert harness.clock.sleeping <= 1
        await harness.say("do something else")
        await harness.passing_until(lambda: agent.transcript.last_words == "As you wish.")
    assert len(harness.scripted.prompts) == 2


@pytest.mark.behaviour("urgent")
async def test_words_that_were_not_whole_are_kept_as_shown_and_nothing_is_asked_until_the_user_writes() -> None:
    harness = await paced(Say("Half a sentence.", thinking="Hm."), "Hello again.")
    async with harness.playing("go") as agent:
        await harness.passing_until(streamed(harness, TextDelta("Half a ")))
        await harness.interrupt()
        await harness.until_status("idle")
        # The last word may be the beginning of a secret.
        said = [entry for entry in await harness.entries() if isinstance(entry, Said)]
        assert [(one.text, one.calls, one.stopped) for one in said] == [("Half a", (), True)]
        await harness.send(PermissionResponse(request_id="lead:3.0", approve=True))
        await turns(100)
        assert len(harness.scripted.prompts) == 1
        await harness.say("hello?")
        await harness.passing_until(lambda: agent.transcript.last_words == "Hello again.")
    assert last_told(harness.scripted.prompts[1]) == [CUT_SHORT, "hello?"]
    assert harness.scripted.prompts[1].passages[-2] == Spoke((TextBlock("Half a"),))


@pytest.mark.behaviour("urgent")
async def test_of_an_interrupted_answer_no_secret_is_recorded() -> None:
    key = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 4
    parts = TextDelta(f"The key is {key} and "), CallDelta("x"), TextDelta(f"once more: {key[:30]}")
    harness = await AgentHarness.opened(EndlessModel(*parts))
    async with harness.playing("go"):
        await until(streamed(harness, CallDelta("x")))
        await turns()
        await harness.interrupt()
        await harness.until_status("idle")
    [said] = [entry.text for entry in await harness.entries() if isinstance(entry, Said)]
    assert said.startswith("The key is ")
    assert key[:20] not in said


@pytest.mark.behaviour("urgent")
@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([TextDelta("Fir"), TextDelta("st."), ThinkingDelta("hm"), TextDelta("Second.")], ["First.\n\nSecond."]),
        ([TextDelta("Void."), CallDelta("y"), RetryDelta(1.0, "overloaded", "m")], []),
    ],
)
async def test_of_a_cut_answer_each_text_that_was_whole_is_kept_unless_it_was_void(
    parts: list[Delta], kept: list[str]
) -> None:
    harness = await AgentHarness.opened(EndlessModel(*parts, CallDelta("x")))
    async with harness.playing("go"):
        await until(streamed(harness, CallDelta("x")))
        await harness.interrupt()
        await harness.until_status("idle")
    assert [entry.text for entry in await harness.entries() if isinstance(entry, Said)] == kept


@pytest.mark.behaviour("urgent")
async def test_an_answer_that_is_whole_is_recorded_though_an_interrupt_comes_with_it() -> None:
    async def interrupted() -> None:
        with anyio.CancelScope(shield=True):
            await harness.interrupt()
            await turns(50)

    wire = FaultyStore(MemoryStore())
    # The transcript is loaded. Its third entry is the answer.
    wire.at("before append", log(LEAD), let_pass, let_pass, let_pass, interrupted)
    harness = await AgentHarness.opened(["All of it."], store=wire)
    assert await harness.turn("go") == Rest()
    assert [entry.text for entry in await harness.entries() if isinstance(entry, Said)] == ["All of it."]


# -- what becomes of an answer ----------------------------------------------------------------------


@pytest.mark.behaviour("retry")
async def test_an_answer_that_ran_out_of_room_goes_on_where_it_stopped() -> None:
    harness = await AgentHarness.opened([Say("One, two,", end="length"), "three."])
    await harness.turn("count")
    assert last_told(harness.scripted.prompts[1]) == [GO_ON_WHERE_CUT]
    assert (await harness.lead()).transcript.last_words == "One, two,three."


async def test_a_call_larger_than_any_record_is_not_run_and_its_model_is_told_why() -> None:
    harness = await AgentHarness.opened(
        [Say("x", [Use("write_file", {"path": "a", "content": "y" * 600_000})]), "Smaller."]
    )
    assert await harness.turn("write") == Rest()
    ((_, ok, text),) = await harness.results()
    assert not ok
    assert text.startswith("Not run: this call has 600,")
    assert text.endswith("bytes, and all calls of one answer together at most 524,288. Do it in smaller parts.")
    assert harness.bench.files == {}


def nested(inner: Any, _: int) -> Any:
    return [inner]


async def test_a_call_that_is_too_large_fails_alone_and_the_others_of_its_step_run() -> None:
    large, deep = "y" * 400_000, functools.reduce(nested, range(100), "deep")
    calls = [
        Use("write_file", {"path": "a", "content": "1"}),
        Use("write_file", {"path": "b", "content": large}),
        Use("write_file", {"path": "c", "content": large + "y"}),
        Use("write_file", {"path": "d", "content": deep}),
        Use("bash", {"command": f"echo {SECRET}"}),
    ]
    harness = await AgentHarness.opened([Say("Five.", calls), "I see."])
    assert await harness.turn("write") == Rest()
    assert [ok for _, ok, _ in await harness.results()] == [True, True, False, False, True]
    assert harness.bench.files == {"a": b"1", "b": large.encode()}
    assert [asked[0] for asked in harness.bench.asked] == [f"echo {SECRET}"]


@pytest.mark.behaviour("prompt")
async def test_system_prompt_and_tools_are_the_same_bytes_at_every_step_and_after_a_restart() -> None:
    harness = await AgentHarness.opened([uses("glob", pattern="*"), "None."])
    await harness.turn("look")
    again = harness.restarted(["Still none."])
    again.skills = {"new": Skill("new", "came later", "", "")}
    await again.turn("again")
    prompts = [*harness.scripted.prompts, *again.scripted.prompts]
    assert {prompt.system for prompt in prompts} == {prompts[0].system}
    specs = tuple(spec for spec in harness.team_parts.lead.specs if spec.name != "ExitPlanMode")
    assert [prompt.tools for prompt in prompts[:2]] == [specs] * 2
    assert again.scripted.prompts[0].passages[: len(prompts[1].passages)] == prompts[1].passages


@pytest.mark.behaviour("skills")
async def test_a_skill_stands_in_the_prompt_as_a_line_and_its_body_comes_as_a_result() -> None:
    skills = {"tidy": Skill("tidy", "tidies up", "Sweep first.", "/skills/tidy")}
    harness = await AgentHarness.opened([uses("Skill", skill="tidy"), "Tidied."], skills=skills)
    await harness.turn("tidy up")
    first, second = harness.scripted.prompts
    assert "- tidy: tidies up" in first.system
    assert "Sweep first." not in first.system
    assert last_told(second) == ["Skill tidy. Its files are in /skills/tidy.\n\nSweep first."]


# -- making room ------------------------------------------------------------------------------------


def reading(count: int, tokens: int) -> tuple[ScriptedWorkspace, list[Step]]:
    """Return a workspace with that many files of about so many tokens, and the steps that read them one by one."""
    files = {f"f{number}": b"words and more of them \n" * (tokens // 8) for number in range(count)}
    return ScriptedWorkspace(dict(files)), [uses("read_file", path=path) for path in files]


@pytest.mark.behaviour("compact-micro")
async def test_a_full_context_is_first_made_smaller_by_clearing_old_results() -> None:
    workspace, steps = reading(7, 8_000)
    harness = await AgentHarness.opened([*steps, "All read."], workspace=workspace)
    harness = harness.restarted(ScriptedModel([*steps, "All read."], limits=ModelLimits(64_000, 4_000)))
    assert await harness.turn("read them all") == Rest()
    assert [type(entry) for entry in only(await harness.entries(), Cleared, Compacted)] == [Cleared]
    told = [getattr(passage.blocks[0], "text", "") for passage in harness.scripted.prompts[-1].passages]
    assert told.count(CLEARED) >= 2
    assert [text.startswith("1\twords") for text in last_told(harness.scripted.prompts[-1])] == [True]


def summarising(steps: list[Step]) -> Callable[[Prompt], Step]:
    left = iter(steps)
    return lambda prompt: SUMMARY if is_summary(prompt) else next(left, ModelRejected("no more steps"))


@pytest.mark.behaviour("compact-auto", "C3")
async def test_where_clearing_frees_too_little_the_model_sums_up_and_goes_on_from_there() -> None:
    workspace, steps = reading(3, 9_000)
    model = ScriptedModel(summarising([*steps, "All read.", "I have the task."]), limits=ModelLimits(36_000, 4_000))
    harness = await AgentHarness.opened(model, workspace=workspace)
    await harness.team_state.board.create(LEAD, NewTask("read everything", owner=LEAD))
    assert await harness.turn("read them all") == Rest()
    (compacted,) = only(await harness.entries(), Cleared, Compacted)
    assert isinstance(compacted, Compacted)
    for kept in (SUMMARY, "from user: read them all", "read everything", "f2"):
        assert kept in compacted.summary
    # The last prompt tells the lead of the task that was given to it.
    before, after = model.prompts[-3:-1]
    assert is_summary(before)
    assert after.system == before.system
    assert len(after.passages) < len(before.passages)
    assert SUMMARY in last_told(after)[0]
    again = harness.restarted(["Here I am."])
    await again.turn("still there?")
    assert again.scripted.prompts[0].passages[0] == after.passages[0]


@pytest.mark.behaviour("compact-auto", "retry")
async def test_a_prompt_that_the_provider_finds_too_long_is_compacted_once_and_asked_again() -> None:
    harness = await AgentHarness.opened([TOO_LONG, SUMMARY, "Now it fits."])
    assert await harness.turn("go") == Rest()
    assert [is_summary(prompt) for prompt in harness.scripted.prompts] == [False, True, False]
    assert len(only(await harness.entries(), Compacted)) == 1


@pytest.mark.behaviour("compact-auto")
async def test_a_summary_that_does_not_fit_either_is_asked_of_the_newer_half() -> None:
    harness = await AgentHarness.opened([TOO_LONG, TOO_LONG, TOO_LONG, SUMMARY, "Now it fits."])
    await harness.say("one " * 1000)
    assert await harness.turn("go " * 1000) == Rest()
    summaries = [prompt for prompt in harness.scripted.prompts if is_summary(prompt)]
    sizes = [sum(map(len, last_told(prompt))) for prompt in summaries]
    assert sizes == sorted(sizes, reverse=True)
    assert [last_told(prompt)[0] == LEFT_OUT for prompt in summaries] == [False, True, True]
    (compacted,) = only(await harness.entries(), Compacted)
    assert isinstance(compacted, Compacted)
    assert "from user: go" in compacted.summary


@pytest.mark.behaviour("compact-auto")
async def test_what_is_still_too_large_after_a_summary_parks_the_agent() -> None:
    harness = await AgentHarness.opened([TOO_LONG, SUMMARY, TOO_LONG])
    assert await harness.turn("go") == Rest(Parked("context: still too large after compaction"))


@pytest.mark.behaviour("compact-auto")
async def test_a_word_of_the_user_lets_it_try_once_more_whether_its_context_fits() -> None:
    harness = await AgentHarness.opened([TOO_LONG, SUMMARY, TOO_LONG, TOO_LONG, "Now it fits."])
    async with harness.playing("go") as agent:
        await harness.until_status("parked")
        await harness.say("try again")
        await until(lambda: len(harness.scripted.prompts) == 4)
        await harness.until_status("parked")
        await harness.say("and again")
        await until(lambda: agent.transcript.last_words == "Now it fits.")


@pytest.mark.behaviour("compact-auto", "P6")
async def test_a_conversation_that_cannot_even_be_summed_up_parks_the_agent() -> None:
    harness = await AgentHarness.opened(lambda prompt: TOO_LONG)
    end = await harness.turn("go")
    assert isinstance(end, Rest)
    assert isinstance(end.status, Parked)
    assert end.status.reason.startswith(
        f"{TOO_LONG}. Even a request with almost nothing of the conversation is too long"
    )
    assert len(harness.scripted.prompts) == 2


@pytest.mark.behaviour("compact-auto", "P6")
async def test_a_long_conversation_is_halved_until_there_is_almost_nothing_of_it() -> None:
    harness = await AgentHarness.opened(lambda prompt: TOO_LONG)
    end = await harness.turn("one " * 50_000)
    assert isinstance(end, Rest)
    assert isinstance(end.status, Parked)
    assert "Use another model" in end.status.reason
    assert len(harness.scripted.prompts) > 8


@pytest.mark.behaviour("compact-auto")
async def test_a_summary_is_paid_for_and_counted() -> None:
    harness = await AgentHarness.opened([TOO_LONG, Say(SUMMARY, usage=Usage(output=7)), "Now it fits."])
    await harness.turn("go")
    assert (await harness.team_state.budget.refresh()).members[LEAD].usage.output == 7


@pytest.mark.behaviour("urgent")
async def test_an_interrupt_cuts_a_summary_too() -> None:
    def step(prompt: Prompt) -> Any:
        return never() if is_summary(prompt) else TOO_LONG

    harness = await AgentHarness.opened(step)
    async with harness.playing("go"):
        await until(lambda: any(map(is_summary, harness.scripted.prompts)))
        await harness.interrupt()
        await harness.until_status("idle")
        assert only(await harness.entries(), Compacted, Said) == []


# -- trouble ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("retry", "P6")
@pytest.mark.parametrize("error", [ModelRejected("no such model"), ModelTrouble("overloaded")])
async def test_a_model_that_gives_no_answer_parks_the_agent_and_frees_its_task(error: Exception) -> None:
    harness = await AgentHarness.opened([error])
    task = await harness.team_state.board.create(LEAD, NewTask("parse", owner=LEAD))
    assert await harness.turn("go") == Rest(Parked(str(error)))
    freed = (await harness.team_state.board.refresh()).tasks[task.id]
    assert (freed.owner, freed.notes) == (None, (Note("lead", f"lead was parked: {error}"),))
    status = (await harness.team_state.roster.refresh()).members[LEAD].status
    assert status == Parked(str(error))


@pytest.mark.behaviour("retry")
async def test_waiting_for_the_next_try_is_seen_on_the_roster() -> None:
    harness = await AgentHarness.opened([], mode=Mode.DEFAULT)
    trouble = ModelTrouble("overloaded", retry_after=5.0)
    model = Retrying(ScriptedModel([trouble, trouble, "At last."]), harness.clock, silence_seconds=1e9)
    harness = harness.restarted(model)
    async with harness.playing("go") as agent:
        await harness.passing_until(lambda: agent.transcript.last_words == "At last.")
        await harness.until_status("idle")
    assert await harness.statuses() == ["working", "waiting(retry)", "working", "idle"]
