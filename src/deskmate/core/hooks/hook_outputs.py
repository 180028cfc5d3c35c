"""What hooks answered, and what that means together.

A hook is a program, and what it prints is untrusted text. It is bounded, and it never becomes a rule by itself: the
decisions here are one input of the permission rules.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from deskmate.core.hooks.hook_tables import TOOL_EVENTS, Hook
from deskmate.core.hooks.tool_aliases import own_arguments
from deskmate.core.values import frozen

HookDecision: TypeAlias = Literal["", "allow", "ask", "deny"]

# Of what one hook says to the model, of a reason, and of what a person is shown.
CONTEXT_CAP, REASON_CAP, SHOWN_CAP = 10_000, 2_000, 500
BLOCK = 2
# Events whose plain stdout is context for the model.
_PLAIN_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit"})
# Events that exit code 2 and `decision: block` cannot stop, because there is nothing to stop.
_CANNOT_BLOCK = frozenset({"SessionStart", "SessionEnd", "Notification", "PreCompact"})
_DECISIONS: Mapping[str, HookDecision] = {
    "approve": "allow",
    "allow": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
}
_STRENGTH = {"": 0, "allow": 1, "ask": 2, "deny": 3}
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_SHELL = re.compile(r"^\S*sh: line \d+: ")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@frozen
class HookRun:
    """How a hook ended. `exit`: its code, None if it did not end by itself, and `ended` says why."""

    hook: Hook
    exit: int | None
    stdout: str = ""
    stderr: str = ""
    ended: str = ""


@frozen
class HookEffect:
    """What hooks want. `decision`: allow, ask, deny, or nothing; deny also means block.

    `arguments`: the input that replaces that of the call. `context`: for the model. `stop`: why the run must stop.
    `shown`: what the user is told. `failures`: the same, about hooks that failed.
    """

    decision: HookDecision = ""
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    context: tuple[str, ...] = ()
    stop: str | None = None
    shown: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def merged(runs: Iterable[HookRun], tool: str = "") -> HookEffect:
    """Return what hooks of one event want together: deny wins over ask, and ask over allow.

    Two different inputs for one call contradict each other. Then the call is denied.
    """
    total = HookEffect()
    for run in runs:
        one = effect_of(run, tool)
        if total.arguments is not None and one.arguments is not None and total.arguments != one.arguments:
            one = replace(one, decision="deny", reason="Two hooks want different input for this call.")
        wins = _STRENGTH[one.decision] > _STRENGTH[total.decision]
        total = HookEffect(
            one.decision if wins else total.decision,
            one.reason if wins else total.reason,
            total.arguments if one.arguments is None else one.arguments,
            (*total.context, *one.context),
            total.stop if one.stop is None else total.stop or one.stop,
            (*total.shown, *one.shown),
            (*total.failures, *one.failures),
        )
    return total


def effect_of(run: HookRun, tool: str = "") -> HookEffect:
    """Return what one hook wants."""
    hook = run.hook
    if run.exit is None:
        return HookEffect(failures=(f"{_named(hook)} {run.ended or 'did not end'}",))
    if run.exit == BLOCK:
        reason = _text(run.stderr, REASON_CAP) or f"the hook `{_line(hook.label)}` gave no reason"
        if hook.event in _CANNOT_BLOCK:
            return HookEffect(shown=(_line(reason),))
        return HookEffect("deny", reason)
    if run.exit != 0:
        said = _SHELL.sub("", _line(run.stderr or run.stdout))
        # What it said comes first, because a long command may fill the rest of the line.
        return HookEffect(
            failures=(f"failed with exit code {run.exit}{f': {said}' if said else ''}, in {_named(hook)}",)
        )
    return _answered(run, tool)


def _answered(run: HookRun, tool: str) -> HookEffect:
    text = run.stdout.strip()
    if not text.startswith("{"):
        said = _text(text, CONTEXT_CAP) if run.hook.event in _PLAIN_CONTEXT else ""
        return HookEffect(context=(said,) if said else ())
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return HookEffect(failures=(f"{_named(run.hook)} printed JSON that cannot be read",))
    return _effect(run.hook, answer, tool)


def _effect(hook: Hook, answer: dict[str, Any], tool: str) -> HookEffect:
    given = answer.get("hookSpecificOutput")
    special: Mapping[str, Any] = given if isinstance(given, dict) else {}
    decision, reason = _decision(hook, answer, special)
    change = special.get("updatedInput")
    if hook.event == "PermissionRequest" and isinstance(asked := special.get("decision"), dict):
        change = asked.get("updatedInput")
    changes = hook.event in ("PreToolUse", "PermissionRequest") and isinstance(change, dict)
    context, message = special.get("additionalContext"), answer.get("systemMessage")
    failures: tuple[str, ...] = ()
    if decision == "allow" and hook.of_project:
        # A file of the workspace can narrow what agents may do, and never widen it.
        decision, reason = "", ""
        failures = (f"{_named(hook)} wants to allow a call. Hooks of a project cannot, so this was ignored",)
    stop = None
    if answer.get("continue") is False:
        stop = _text(answer.get("stopReason"), REASON_CAP) or "a hook stopped the run"
    return HookEffect(
        decision,
        reason,
        own_arguments(tool, change) if changes and isinstance(change, dict) else None,
        (said,) if (said := _text(context, CONTEXT_CAP)) else (),
        stop,
        (line,) if (line := _line(message)) else (),
        failures,
    )


def _decision(hook: Hook, answer: Mapping[str, Any], special: Mapping[str, Any]) -> tuple[HookDecision, str]:
    """Return the decision of a hook and its reason."""
    if hook.event in _CANNOT_BLOCK:
        return "", ""
    wanted, why = answer.get("decision"), answer.get("reason")
    if hook.event == "PreToolUse" and "permissionDecision" in special:
        wanted, why = special["permissionDecision"], special.get("permissionDecisionReason")
    if hook.event == "PermissionRequest" and isinstance(asked := special.get("decision"), dict):
        wanted, why = asked.get("behavior"), asked.get("message")
    decision = _DECISIONS.get(str(wanted), "")
    if decision in ("allow", "ask") and hook.event not in TOOL_EVENTS - {"PostToolUse"}:
        decision = ""
    return decision, _text(why, REASON_CAP) if decision else ""


def _named(hook: Hook) -> str:
    return f"`{_line(hook.label)}` of {hook.file}"


def _line(text: object) -> str:
    return " ".join(_text(text, SHOWN_CAP).split())


def _text(text: object, most: int) -> str:
    """Return a text of a hook without escape sequences and control characters, at most so long."""
    if not isinstance(text, str):
        return ""
    seen = _UNSEEN.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n"))).strip()
    return seen if len(seen) <= most else f"{seen[:most]} … ({len(seen) - most:,} more characters)"
