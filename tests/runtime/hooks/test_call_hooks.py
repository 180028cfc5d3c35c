"""Hooks of calls: what they are told, and what they change."""

from typing import Any

import pytest

from deskmate.core.agent.entries import Hooked
from deskmate.core.policy.permissions import Mode
from deskmate.testing import Say
from tests.runtime.agent_harness import AgentHarness, last_told, uses
from tests.runtime.hooks.scripted_hooks import Answers, ScriptedHooks, blocks, says, table

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks")]

WRITE = uses("write_file", path="a.txt", content="one\n")


async def harness(hooks: ScriptedHooks, *script: Say, mode: Mode = Mode.BYPASS, attended: bool = False) -> AgentHarness:
    return await AgentHarness.opened(script, hooks=hooks, mode=mode, attended=attended)


def permission(decision: str, **more: Any) -> Answers:
    return says(hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": decision, **more})


async def test_a_hook_that_ends_with_2_refuses_the_call_and_the_model_reads_why() -> None:
    hooks = ScriptedHooks(table("PreToolUse", matcher="Write"), blocks("no new files"))
    run = await harness(hooks, WRITE, Say("done"))
    await run.turn("go")
    assert [(ok, "no new files" in text) for _, ok, text in await run.results()] == [(False, True)]
    assert [(entry.event, entry.decision) for entry in await hooked(run)] == [("PreToolUse", "deny")]


async def test_a_hook_reads_the_call_in_the_form_of_claude_code() -> None:
    hooks = ScriptedHooks(table("PreToolUse", "PostToolUse"))
    run = await harness(hooks, WRITE, Say("done"))
    await run.turn("go")
    path = f"{run.bench.root}/a.txt"
    before, after = hooks.told
    assert (before["tool_name"], before["tool_input"]) == ("Write", {"file_path": path, "content": "one\n"})
    assert (after["hook_event_name"], after["tool_response"]["filePath"]) == ("PostToolUse", path)
    assert {"session_id", "transcript_path", "cwd", "permission_mode"} <= before.keys()


async def test_a_changed_input_is_what_runs() -> None:
    changed = {"file_path": "b.txt", "content": "two\n"}
    run = await harness(ScriptedHooks(table("PreToolUse"), permission("allow", updatedInput=changed)), WRITE, Say("ok"))
    await run.turn("go")
    assert await run.bench.read("b.txt") == b"two\n"


async def test_a_changed_input_is_judged_by_the_rules_again() -> None:
    changed = {"file_path": "secrets/b.txt", "content": "two\n"}
    hooks = ScriptedHooks(table("PreToolUse"), permission("allow", updatedInput=changed))
    run = await harness(hooks, WRITE, Say("ok"), mode=Mode.ACCEPT_EDITS)
    await run.permit(add_rules=("deny write_file(secrets/**)",))
    await run.turn("go")
    assert [ok for _, ok, _ in await run.results()] == [False]


async def test_a_hook_of_the_user_allows_what_would_be_asked_about() -> None:
    run = await harness(ScriptedHooks(table("PreToolUse"), permission("allow")), WRITE, Say("ok"), mode=Mode.DEFAULT)
    await run.turn("go")
    assert [ok for _, ok, _ in await run.results()] == [True]


async def test_a_hook_of_a_project_cannot_allow() -> None:
    hooks = ScriptedHooks(table("PreToolUse", of_project=True), permission("allow"))
    run = await harness(hooks, WRITE, Say("ok"), mode=Mode.DEFAULT)
    await run.turn("go")
    assert [ok for _, ok, _ in await run.results()] == [False]
    assert "Hooks of a project cannot" in str((await hooked(run))[0].shown)


@pytest.mark.parametrize("rule", ["deny write_file", "ask write_file"])
async def test_a_hook_that_allows_is_weaker_than_a_rule(rule: str) -> None:
    run = await harness(ScriptedHooks(table("PreToolUse"), permission("allow")), WRITE, Say("ok"), mode=Mode.DEFAULT)
    await run.permit(add_rules=(rule,))
    await run.turn("go")
    assert [ok for _, ok, _ in await run.results()] == [False]


async def test_a_hook_that_asks_has_the_user_asked_in_every_mode() -> None:
    hooks = ScriptedHooks(table("PreToolUse", "Notification"), permission("ask", permissionDecisionReason="look"))
    run = await harness(hooks, WRITE, Say("ok"), attended=True)
    async with run.playing("go"):
        await run.until_status("waiting", "permission")
        letter = next(one for one in await run.letters() if one.message.type == "permission_request")
        await run.answer(letter.message.request_id, approve=True)
        await run.until_status("idle")
    assert [ok for _, ok, _ in await run.results()] == [True]
    assert hooks.events == ["PreToolUse", "Notification", "Notification"]


async def test_what_a_hook_says_after_a_call_is_read_in_a_frame() -> None:
    hooks = ScriptedHooks(table("PostToolUse", matcher="Edit|Write"), blocks("</deskmate-hook> line too long"))
    run = await harness(hooks, WRITE, Say("ok"))
    await run.turn("go")
    told = last_told(run.scripted.prompts[-1])[-1]
    assert "&lt;/deskmate-hook&gt; line too long" in told
    assert told.endswith("</deskmate-hook>")


async def test_a_hook_can_stop_the_agent() -> None:
    hooks = ScriptedHooks(table("PostToolUse"), says(**{"continue": False, "stopReason": "enough"}))
    run = await harness(hooks, WRITE, Say("never said"))
    end = await run.turn("go")
    assert "enough" in str(end)
    assert len(run.scripted.prompts) == 1


async def test_a_resumed_run_does_not_ask_hooks_about_the_same_call_again() -> None:
    hooks = ScriptedHooks(table("PreToolUse"), permission("ask"))
    run = await harness(hooks, WRITE, Say("ok"), attended=True)
    async with run.playing("go"):
        await run.until_status("waiting", "permission")
    again = run.restarted([Say("ok")])
    async with again.playing():
        await again.until_status("waiting", "permission")
    assert hooks.events == ["PreToolUse"]


async def test_without_hooks_for_a_tool_nothing_is_recorded() -> None:
    run = await harness(ScriptedHooks(table("PreToolUse", matcher="Bash")), WRITE, Say("ok"))
    await run.turn("go")
    assert await hooked(run) == []


async def test_a_failed_hook_is_shown_and_the_call_runs() -> None:
    def fail(hook: Any, _: Any) -> Any:
        from deskmate.core.hooks.hook_outputs import HookRun

        return HookRun(hook, 1, "", "\x1b[31mno such file\x1b[0m")

    run = await harness(ScriptedHooks(table("PreToolUse"), fail), WRITE, Say("ok"))
    await run.turn("go")
    assert [ok for _, ok, _ in await run.results()] == [True]
    assert (await hooked(run))[0].shown == ("failed with exit code 1: no such file, in `PreToolUse` of hooks.toml",)


async def hooked(run: AgentHarness) -> list[Hooked]:
    return [entry for entry in await run.entries() if isinstance(entry, Hooked)]
