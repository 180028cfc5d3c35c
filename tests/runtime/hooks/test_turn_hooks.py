"""Hooks of sessions, messages, turns and tasks."""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from deskmate.core.agent.entries import Heard, Hooked, SummaryRequested
from deskmate.core.hooks.hook_outputs import HookRun
from deskmate.core.hooks.hook_tables import Hook
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.status import IDLE
from deskmate.core.team.tasks import TaskStatus
from deskmate.testing import Say
from tests.runtime.agent_harness import AgentHarness, lead_and_subagent, uses
from tests.runtime.hooks.scripted_hooks import Answers, ScriptedHooks, blocks, says, table
from tests.runtime.teammate_harness import teammate

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks")]


async def harness(hooks: ScriptedHooks, *script: Say, attended: bool = False) -> AgentHarness:
    return await AgentHarness.opened(script, hooks=hooks, mode=Mode.BYPASS, attended=attended)


def told(run: AgentHarness) -> str:
    return str(run.scripted.prompts[-1].passages)


def once(answer: Answers) -> Answers:
    """Return hooks that give this answer only the first time."""
    asked: list[str] = []

    def first(hook: Hook, given: Mapping[str, Any]) -> Any:
        asked.append(hook.event)
        return answer(hook, given) if len(asked) == 1 else HookRun(hook, 0)

    return first


async def test_what_a_hook_prints_at_the_start_is_read_by_the_model_once_for_each_process() -> None:
    hooks = ScriptedHooks(table("SessionStart"), lambda hook, _: HookRun(hook, 0, "on branch main\n"))
    run = await harness(hooks, Say("hello"))
    await run.turn("hi")
    assert '<deskmate-hook event="SessionStart">on branch main</deskmate-hook>' in told(run)
    hooks.session_told = False
    again = run.restarted([Say("hello again")])
    await again.turn("hi again")
    assert [one["source"] for one in hooks.told] == ["startup", "resume"]


async def test_a_hook_adds_context_to_a_message() -> None:
    hooks = ScriptedHooks(table("UserPromptSubmit"), says(hookSpecificOutput={"additionalContext": "it is Monday"}))
    run = await harness(hooks, Say("ok"))
    await run.turn("which day is it?")
    assert hooks.told[0]["prompt"] == "which day is it?"
    assert "it is Monday" in told(run)


async def test_the_model_never_reads_a_message_that_a_hook_blocked() -> None:
    hooks = ScriptedHooks(table("UserPromptSubmit"), once(blocks("it has a password")))
    run = await harness(hooks, Say("ok"))
    await run.turn("my password is hunter2")
    assert run.scripted.prompts == []
    await run.turn("hello")
    assert ("hello" in told(run), "hunter2" in told(run)) == (True, False)


async def test_a_message_that_a_hook_blocked_is_in_no_summary_either() -> None:
    hooks = ScriptedHooks(table("UserPromptSubmit"), once(blocks("it has a password")))
    run = await harness(hooks, Say("a summary"), Say("ok"))
    await run.turn("my password is hunter2")
    await (await run.lead()).transcript.record(SummaryRequested())
    await run.turn("hello")
    assert len(run.scripted.prompts) == 2
    assert "hunter2" not in str([prompt.passages for prompt in run.scripted.prompts])


async def test_a_hook_makes_the_lead_continue_and_knows_that_it_did() -> None:
    hooks = ScriptedHooks(table("Stop"), once(blocks("run the tests first")))
    run = await harness(hooks, Say("done"), Say("tests ran"))
    await run.turn("go")
    assert "run the tests first" in told(run)
    assert [one["stop_hook_active"] for one in hooks.told] == [False, True]


async def test_no_hook_keeps_the_lead_for_ever() -> None:
    hooks = ScriptedHooks(table("Stop"), blocks("again"))
    run = await harness(hooks, *[Say(f"done {number}") for number in range(6)])
    await run.turn("go")
    assert len(run.scripted.prompts) == 4
    last = [entry for entry in await run.entries() if isinstance(entry, Hooked)][-1]
    assert (last.decision, bool(last.shown)) == (None, True)


async def test_a_hook_keeps_a_teammate_at_work_three_times_in_a_row_and_then_the_lead_is_told() -> None:
    hooks = ScriptedHooks(table("TeammateIdle"), blocks("look again"))
    async with teammate([Say(f"looked {number}") for number in range(6)], hooks=hooks) as alice:
        await alice.until(IDLE)
        letters = await alice.harness.letters(LEAD)
    assert [one["stop_hook_active"] for one in hooks.told] == [False, True, True]
    assert {one["teammate_name"] for one in hooks.told} == {"alice"}
    assert [letter.sender for letter in letters] == ["alice"]


async def test_a_hook_makes_a_subagent_continue() -> None:
    hooks = ScriptedHooks(table("SubagentStop"), once(blocks("name the file")))
    script = lead_and_subagent(
        [uses("Task", prompt="find it", description="find", subagent_type="Explore"), Say("thanks")],
        [Say("found it"), Say("found it in a.py")],
    )
    run = await AgentHarness.opened(script, hooks=hooks, mode=Mode.BYPASS)
    await run.turn("go")
    assert [text.endswith("found it in a.py") for _, _, text in await run.results()] == [True]


async def test_a_task_that_a_hook_refuses_is_not_created() -> None:
    hooks = ScriptedHooks(table("TaskCreated"), blocks("say how it is tested"))
    run = await harness(hooks, uses("TaskCreate", subject="Write it", description="all of it"), Say("ok"))
    await run.turn("go")
    assert (await run.team_state.board.refresh()).tasks == {}
    assert hooks.told[0]["task_subject"] == "Write it"


async def test_a_task_is_completed_only_after_hooks_agree() -> None:
    hooks = ScriptedHooks(table("TaskCompleted"), once(blocks("no tests yet")))
    complete = uses("TaskUpdate", taskId=1, status="completed")
    script = [
        uses("TaskCreate", subject="Write it", description=""),
        uses("TaskUpdate", taskId=1, status="in_progress"),
        complete,
        complete,
        Say("ok"),
    ]
    run = await harness(hooks, *script)
    await run.turn("go")
    results = [(ok, "no tests yet" in text) for _, ok, text in await run.results()]
    assert results == [(True, False), (True, False), (False, True), (True, False)]
    assert hooks.told[0]["task_subject"] == "Write it"
    assert (await run.team_state.board.refresh()).tasks[1].status is TaskStatus.COMPLETED


async def test_hooks_hear_of_a_summary_before_it_is_made() -> None:
    hooks = ScriptedHooks(table("PreCompact"))
    run = await harness(hooks, Say("hello"), Say("a summary"), Say("still here"))
    await run.turn("hi")
    await (await run.lead()).transcript.record(SummaryRequested(focus="the schema"))
    await run.turn("go on")
    assert [(one["trigger"], one["custom_instructions"]) for one in hooks.told] == [("manual", "the schema")]


async def test_nobody_waits_for_an_async_hook_and_only_what_it_shows_is_recorded() -> None:
    over = anyio.Event()

    async def fail(hook: Hook) -> HookRun:
        await over.wait()
        return HookRun(hook, 2, "", "too late to object")

    hooks = ScriptedHooks(table("Stop", is_async=True), lambda hook, _: fail(hook))
    run = await harness(hooks, Say("hello"), attended=True)
    async with run.playing("hi"):
        await run.until_status("idle")
        over.set()
    found = [entry for entry in await run.entries() if isinstance(entry, Hooked)]
    assert [(entry.late, entry.decision, "too late to object" in str(entry.shown)) for entry in found] == [
        (None, None, False),
        (True, None, True),
    ]
    assert len(run.scripted.prompts) == 1


async def test_a_failure_of_an_async_hook_is_shown_although_the_run_ends_meanwhile() -> None:
    began, ends = anyio.Event(), []

    async def fail(hook: Hook) -> HookRun:
        began.set()
        await anyio.lowlevel.checkpoint()
        ends.append(hook.event)
        return HookRun(hook, 1, "", "no network")

    hooks = ScriptedHooks(table("Stop", is_async=True), lambda hook, _: fail(hook))
    run = await harness(hooks, Say("hello"))
    await run.turn("hi")
    late = [entry for entry in await run.entries() if isinstance(entry, Hooked) and entry.late]
    assert (ends, ["no network" in str(entry.shown) for entry in late]) == (["Stop"], [True])


async def test_hooks_hear_of_the_end_of_a_session() -> None:
    hooks = ScriptedHooks(table("SessionEnd"))
    run = await harness(hooks, Say("hello"), attended=True)
    async with run.playing("hi"):
        await run.until_status("idle")
    assert hooks.events == ["SessionEnd"]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (says(systemMessage="saved"), ("saved",)),
        (
            lambda hook, _: HookRun(hook, 1, "", "no disk"),
            ("failed with exit code 1: no disk, in `SessionEnd` of hooks.toml",),
        ),
        (blocks("not yet"), ("not yet",)),
    ],
)
async def test_what_hooks_show_at_the_end_of_a_session_is_recorded(answer: Answers, shown: tuple[str, ...]) -> None:
    run = await harness(ScriptedHooks(table("SessionEnd"), answer), Say("hello"), attended=True)
    async with run.playing("hi"):
        await run.until_status("idle")
    (entry,) = [entry for entry in await run.entries() if isinstance(entry, Hooked)]
    assert (entry.event, entry.shown, entry.late) == ("SessionEnd", shown, True)


async def test_a_prompt_does_not_change_if_a_hook_runs_again_after_a_kill() -> None:
    hooks = ScriptedHooks(table("UserPromptSubmit"), lambda hook, _: HookRun(hook, 0, "context"))
    run = await harness(hooks, Say("ok"))
    await run.turn("hello")
    heard = [entry for entry in await run.entries() if isinstance(entry, Heard | Hooked)]
    again = run.restarted([Say("ok")])
    await again.turn("more")
    assert told(again).count("context") == 2
    assert len(hooks.told) == 2
    assert len(heard) == 2
