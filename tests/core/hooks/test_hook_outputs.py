"""What the output of hooks means, alone and together."""

import json
from typing import Any

import pytest

from deskmate.core.hooks.hook_outputs import CONTEXT_CAP, REASON_CAP, HookEffect, HookRun, effect_of, merged
from deskmate.core.hooks.hook_tables import EVENTS, Hook

pytestmark = pytest.mark.behaviour("hooks")


def hook(event: str = "PreToolUse", *, of_project: bool = False) -> Hook:
    return Hook(event, "", "guard.sh", 60, "f", of_project)


def said(event: str = "PreToolUse", *, of_project: bool = False, **answer: Any) -> HookRun:
    return HookRun(hook(event, of_project=of_project), 0, json.dumps(answer))


def decides(decision: str, reason: str = "", **more: Any) -> HookRun:
    return said(hookSpecificOutput={"permissionDecision": decision, "permissionDecisionReason": reason, **more})


@pytest.mark.parametrize(
    ("decisions", "wins"),
    [
        (("allow", "ask"), "ask"),
        (("ask", "allow"), "ask"),
        (("deny", "allow", "ask"), "deny"),
        (("allow", "nonsense"), "allow"),
        (("nonsense",), ""),
    ],
)
def test_the_most_restrictive_decision_wins(decisions: tuple[str, ...], wins: str) -> None:
    assert merged(decides(one, one) for one in decisions) == HookEffect(wins, wins)  # type: ignore[arg-type]


def test_two_hooks_that_want_different_input_refuse_the_call() -> None:
    one, other = decides("allow", updatedInput={"command": "a"}), decides("allow", updatedInput={"command": "b"})
    assert merged([one, other]).decision == "deny"
    assert merged([one, one]).arguments == {"command": "a"}


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "Notification", "PreCompact"])
def test_an_event_that_cannot_be_blocked_is_not(event: str) -> None:
    blocked = effect_of(HookRun(hook(event), 2, "", "no"))
    assert blocked == HookEffect(shown=("no",))
    assert effect_of(said(event, decision="block", reason="no")) == HookEffect()


@pytest.mark.parametrize("event", sorted(EVENTS.keys() - {"SessionStart", "SessionEnd", "Notification", "PreCompact"}))
def test_exit_code_2_and_the_decision_block_mean_the_same(event: str) -> None:
    assert effect_of(HookRun(hook(event), 2, "ignored", "no\n")) == HookEffect("deny", "no")
    assert effect_of(said(event, decision="block", reason="no")) == HookEffect("deny", "no")


@pytest.mark.parametrize("event", EVENTS)
def test_plain_output_is_context_only_at_the_start_and_for_messages(event: str) -> None:
    context = ("hello",) if event in ("SessionStart", "UserPromptSubmit") else ()
    assert effect_of(HookRun(hook(event), 0, "hello\n")) == HookEffect(context=context)


def test_a_permission_request_is_answered_in_its_own_form() -> None:
    answer = {"behavior": "allow", "updatedInput": {"command": "ls"}}
    run = said("PermissionRequest", hookSpecificOutput={"decision": answer})
    assert merged([run], "bash") == HookEffect("allow", arguments={"command": "ls"})
    refused = {"behavior": "deny", "message": "no"}
    assert effect_of(said("PermissionRequest", hookSpecificOutput={"decision": refused})) == HookEffect("deny", "no")


def test_a_hook_of_a_project_narrows_and_never_allows() -> None:
    allows = said(of_project=True, hookSpecificOutput={"permissionDecision": "allow"})
    assert (merged([allows]).decision, len(merged([allows]).failures)) == ("", 1)
    approves = said(of_project=True, decision="approve")
    assert merged([approves]).decision == ""
    denies = said(of_project=True, hookSpecificOutput={"permissionDecision": "deny"})
    assert merged([denies]).decision == "deny"


def test_a_hook_can_stop_the_run_and_show_a_message() -> None:
    answer = {"continue": False, "stopReason": "enough", "systemMessage": "look"}
    run = HookRun(hook(), 0, json.dumps(answer))
    assert effect_of(run) == HookEffect(stop="enough", shown=("look",))


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (HookRun(hook(), 1, "", "boom"), "failed with exit code 1: boom, in `guard.sh` of f"),
        (
            HookRun(hook(), 127, "", "/bin/bash: line 1: guard.sh: not found"),
            "failed with exit code 127: guard.sh: not found, in `guard.sh` of f",
        ),
        (HookRun(hook(), None, ended="did not end within 60 s"), "`guard.sh` of f did not end within 60 s"),
        (HookRun(hook(), 0, '{"decision": '), "`guard.sh` of f printed JSON that cannot be read"),
        (HookRun(hook(), 0, "{" + "[" * 100_000), "`guard.sh` of f printed JSON that cannot be read"),
    ],
)
def test_a_hook_that_fails_decides_nothing_and_says_why(run: HookRun, words: str) -> None:
    effect = effect_of(run)
    assert effect == HookEffect(failures=(words,))


@pytest.mark.parametrize("answer", [{}, {"hookSpecificOutput": 3}, {"decision": {}, "reason": []}, {"continue": 0}])
def test_strange_json_changes_nothing(answer: dict[str, Any]) -> None:
    assert effect_of(said(**answer)) == HookEffect()


def test_texts_are_bounded_and_contain_nothing_that_a_terminal_obeys() -> None:
    blocked = effect_of(HookRun(hook(), 2, "", "\x1b]0;title\x07a\x1b[2J\x00\u202eb" + "x" * 5000))
    assert blocked.reason.startswith("abxxx")
    assert len(blocked.reason) < REASON_CAP + 50
    flood = effect_of(HookRun(hook("SessionStart"), 0, "y" * 200_000))
    assert len(flood.context[0]) < CONTEXT_CAP + 50
