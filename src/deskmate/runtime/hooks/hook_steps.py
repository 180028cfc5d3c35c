"""Runs the hooks of an event and records what they want.

`core.agent.rules.hook_rules` decides which, and `core.hooks.hook_outputs` what their output means. The record comes
last: after a kill in between, the hooks run again and their effect is recorded once.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio

from deskmate.core.agent.actions import RunHooks
from deskmate.core.agent.entries import Did, Heard, Hooked, Said
from deskmate.core.agent.rules.hook_rules import IDLE, PERMISSION, hooks_for_call, turn_names
from deskmate.core.agent.view import View
from deskmate.core.hooks.hook_inputs import HookSession, call_details, input_of, response_details, task_details
from deskmate.core.hooks.hook_memory import MOST_BLOCKS, TURN_ENDS, key_of
from deskmate.core.hooks.hook_outputs import HookEffect, HookRun, merged
from deskmate.core.hooks.hook_tables import TOOL_EVENTS, Hook
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.redaction import Redaction
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.messages import Plain, read_envelope
from deskmate.errors import StoreError
from deskmate.runtime.agent_parts import HookRunner
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.task_groups import task_group

_CALLS = TOOL_EVENTS | {"TaskCreated", "TaskCompleted"}
_CUT = "it was interrupted"
_LOG = logging.getLogger(__name__)
# A session that ends does not wait longer for its hooks.
_END_SECONDS = 5.0


async def run_hooks(work: AgentWork, order: RunHooks, view: View) -> None:
    """Run the hooks of an event for each of the things that it is about, together, and record what they want."""
    if order.spent:
        await _give_up(work, order)
        return
    with work.step.cuttable() as scope:
        async with task_group() as tasks:
            for about in order.about:
                tasks.start_soon(_run, work, order.event, about, view)
    if scope.cancelled_caught:
        runner_of(work).session_told |= order.event == "SessionStart"
        told = work.transcript.memory.hooks.told
        left = [about for about in order.about if key_of(order.event, about) not in told]
        # A hook that could not say anything must not let a call pass.
        effect = HookEffect("deny" if order.event == "PreToolUse" else "", _CUT, failures=(f"not finished: {_CUT}",))
        await work.transcript.record(*(_entry(order.event, about, effect) for about in left))


async def _give_up(work: AgentWork, order: RunHooks) -> None:
    """Let an agent rest although hooks want it to continue, and tell those in charge."""
    name, (about,) = work.transcript.name, order.about
    words = f"{order.event} hooks made {name} continue {MOST_BLOCKS} times in a row, so now it rests."
    if work.me.kind is AgentKind.TEAMMATE:
        # With the same id after a kill, so that it is sent once.
        await work.mailbox.send(LEAD, Plain(content=words, summary="hooks keep it busy"), id_=f"hooks/{name}/{about}")
    await work.transcript.record(Hooked(event=order.event, about=about, shown=(words,)))


async def _run(work: AgentWork, event: str, about: str, view: View) -> None:
    runner = runner_of(work)
    hooks, details = _told(work, event, about, view)
    call = view.memory.calls.get(about)
    session = session_of(work, view, runner)
    told = input_of(event, session, details)
    awaited = tuple(hook for hook in hooks if not hook.is_async)
    if others := tuple(hook for hook in hooks if hook.is_async):
        work.tasks.start_late(_run_late, work, event, about, others, session, told)
    runs = await answers(runner, work.team_state.writer.redaction, awaited, session, told)
    effect = merged(runs, call.tool if call else "")
    if effect.arguments is not None and call and call.redacted:
        effect = _refused(effect, "The call contains a secret that hooks do not see, so they cannot change it.")
    # Not cancellable: what hooks said must not be lost.
    with anyio.CancelScope(shield=True):
        await work.transcript.record(_entry(event, about, replace(effect, failures=runner.new_only(effect.failures))))
    if event in TOOL_EVENTS:
        work.calls.reconsider(about)
    if event == "SessionStart":
        runner.session_told = True


async def _run_late(
    work: AgentWork, event: str, about: str, hooks: tuple[Hook, ...], session: HookSession, told: Mapping[str, Any]
) -> None:
    """Run hooks that nobody waits for. Only what the user is shown of them is recorded, each when it has ended."""
    runner = runner_of(work)

    async def run(hook: Hook) -> None:
        effect = merged(await answers(runner, work.team_state.writer.redaction, (hook,), session, told))
        wanted = (f"An async {event} hook cannot block anything: {effect.reason}",) if effect.decision == "deny" else ()
        if shown := (*effect.shown, *runner.new_only((*effect.failures, *wanted))):
            with anyio.CancelScope(shield=True):
                await work.transcript.record(Hooked(event=event, about=about, shown=shown, late=True))

    async with task_group() as tasks:
        for hook in hooks:
            tasks.start_soon(run, hook)


def runner_of(work: AgentWork) -> HookRunner:
    """Return what runs the hooks of an agent that has some."""
    assert work.parts.hooks is not None, "there are hooks"
    return work.parts.hooks


async def answers(
    runner: HookRunner, redaction: Redaction, hooks: tuple[Hook, ...], session: HookSession, told: Mapping[str, Any]
) -> tuple[HookRun, ...]:
    """Run hooks and return how they ended, without secrets. A hook that put a secret into a call failed."""
    found = []
    for run in await runner.run(hooks, json.dumps(told).encode(), session):
        clean = replace(run, stdout=redaction.text(run.stdout), stderr=redaction.text(run.stderr))
        if clean.stdout != run.stdout and "updatedInput" in run.stdout:
            clean = replace(clean, exit=2, stderr="The hook put a secret into this call.")
        found.append(clean)
    return tuple(found)


def _refused(effect: HookEffect, why: str) -> HookEffect:
    return replace(effect, decision="deny", reason=why, arguments=None)


def _entry(event: str, about: str, effect: HookEffect) -> Hooked:
    blocks = effect.decision == "deny"
    decides = event in _CALLS | TURN_ENDS | {"UserPromptSubmit"}
    return Hooked(
        event=event,
        about=about,
        decision=effect.decision if decides and effect.decision else None,
        reason=effect.reason or None if decides else None,
        arguments=None if effect.arguments is None or blocks else dict(effect.arguments),
        context=effect.context or None,
        withheld=(about,) if event == "UserPromptSubmit" and blocks else None,
        stop=effect.stop,
        shown=(*effect.shown, *effect.failures) or None,
    )


# -- what a hook is told --------------------------------------------------------------------------


def session_of(work: AgentWork, view: View, runner: HookRunner) -> HookSession:
    """Return what every hook of an agent is told."""
    name, team = work.transcript.name, work.team_state.roster.state.team
    mode = "plan" if view.work_mode.planning else str(view.roster.mode_of(view.me.name))
    member = "" if name == LEAD else name
    return HookSession(team, runner.transcript_path(team, name), work.parts.workspace.root, mode, member, team)


def _told(work: AgentWork, event: str, about: str, view: View) -> tuple[tuple[Hook, ...], dict[str, Any]]:
    """Return the hooks of an event that apply, and what is special in their input."""
    assert view.hooks is not None, "there are hooks"
    table, memory, folder = view.hooks.table, view.memory, work.parts.workspace.root
    if event in _CALLS:
        call = memory.calls.get(about) or memory.hooks.ended[about]
        details = call_details(call.id, call.tool, call.arguments, folder)
        if event == "PostToolUse":
            details |= response_details(_result_text(work, about), call.arguments, folder, ok=True)
        elif event in ("TaskCreated", "TaskCompleted"):
            there = _named(view, call.arguments)
            words = _task_of(there, call.arguments)
            details = {**task_details(call.tool, call.id, call.arguments, *words), "team_name": there.roster.team}
        return hooks_for_call(table, event, call), details
    if event == "SessionStart":
        return table.for_event(event, about), {"source": about}
    if event == "UserPromptSubmit":
        return table.for_event(event), {"prompt": _prompt(work, about)}
    if event == "PreCompact":
        return table.for_event(event, about), {"trigger": about, "custom_instructions": memory.focus or ""}
    if event == "Notification":
        waits = about in memory.requests
        kind, message = (PERMISSION, _question(view, about)) if waits else (IDLE, "Deskmate is waiting for your input")
        return table.for_event(event, kind), {"message": message, "title": "Deskmate", "notification_type": kind}
    return table.for_event(event, *turn_names(view)), {
        "stop_hook_active": memory.hooks.blocks > 0,
        "last_assistant_message": work.transcript.last_words,
    }


def _named(view: View, arguments: Mapping[str, Any]) -> View:
    """Return the view of the team whose board a call is for: a lead with two teams can name the other one."""
    is_for_home = view.home is not None and arguments.get("team_name") == view.home.roster.team
    return view.home if view.home and is_for_home else view


def _task_of(view: View, arguments: Mapping[str, Any]) -> tuple[str, str]:
    id_ = str(arguments.get("taskId", arguments.get("task_id", ""))).lstrip("#")
    task = view.board.tasks.get(int(id_)) if id_.isdigit() else None
    if task is not None:
        return task.subject, task.description
    return str(arguments.get("subject", "")), str(arguments.get("description", ""))


def _result_text(work: AgentWork, call: str) -> str:
    found = (entry for _, entry in reversed(work.transcript.entries) if isinstance(entry, Did) and entry.call == call)
    return next((entry.text for entry in found), "")


def _prompt(work: AgentWork, message: str) -> str:
    for _, entry in reversed(work.transcript.entries):
        for body in entry.mail if isinstance(entry, Heard) else ():
            envelope = read_envelope(body)
            if not isinstance(envelope, Foreign) and (envelope.id, envelope.sender) == (message, USER):
                return str(getattr(envelope.message, "content", ""))
    return ""


def _question(view: View, request: str) -> str:
    call = next((call for call in view.memory.calls.values() if call.request == request), None)
    return f"Deskmate needs your permission to use {call.tool}" if call else "Deskmate waits for your answer to a plan"


# -- sessions -------------------------------------------------------------------------------------


def session_began(work: AgentWork) -> str | None:
    """Return how the session of a lead began, until its hooks were told."""
    if not work.is_lead or runner_of(work).session_told:
        return None
    return "resume" if any(isinstance(entry, Said) for _, entry in work.transcript.entries) else "startup"


async def end_session(work: AgentWork, view: View) -> None:
    """Run the hooks for the end of a lead's session. They have little time, and only what they show is recorded."""
    runner = runner_of(work)
    hooks = runner.table.of_type("").for_event("SessionEnd", "other")
    if not hooks or not work.is_lead:
        return
    session = session_of(work, view, runner)
    told = input_of("SessionEnd", session, {"reason": "other"})
    shown: tuple[str, ...] = (f"SessionEnd hooks did not end within {_END_SECONDS:g} s",)
    with anyio.move_on_after(_END_SECONDS, shield=True):
        effect = merged(await answers(runner, work.team_state.writer.redaction, hooks, session, told))
        shown = (*effect.shown, *runner.new_only(effect.failures))
    if not shown:
        return
    try:
        with anyio.CancelScope(shield=True):
            await work.transcript.record(Hooked(event="SessionEnd", about="other", shown=shown, late=True))
    except StoreError as error:
        # The session may end because of this error, which is raised elsewhere.
        _LOG.warning("%s. This could not be recorded: %s", ", ".join(shown), error)
