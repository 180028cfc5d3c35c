"""Which hooks run before an agent does what the rules decided.

`decide` asks here last, and only if there are hooks. An event is due once: what hooks said of it is in the transcript.
"""

from collections.abc import Iterable
from dataclasses import replace

from deskmate.core.agent.actions import Act, Action, Ask, Compact, Park, Rest, RunHooks, Settle, Stop
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.agent.view import View
from deskmate.core.hooks.hook_memory import MOST_BLOCKS, key_of
from deskmate.core.hooks.hook_tables import Hook, HookTable
from deskmate.core.hooks.tool_aliases import names_of
from deskmate.core.log.names import USER
from deskmate.core.policy.permissions import Effect
from deskmate.core.policy.tool_table import TOOLS, AgentKind
from deskmate.core.policy.verdicts import verdict_on
from deskmate.core.team.status import Idle, Waiting

_TURN_END = {AgentKind.LEAD: "Stop", AgentKind.TEAMMATE: "TeammateIdle", AgentKind.SUBAGENT: "SubagentStop"}
_BEFORE_CALL = ("PreToolUse", "TaskCreated", "TaskCompleted")
PERMISSION, IDLE = "permission_prompt", "idle_prompt"


def before(view: View, action: Action) -> Action:
    """Return the hooks to run before an action, or the action itself."""
    if isinstance(action, Stop) or view.time_is_up or view.hooks is None:
        return action
    stop, calls = view.memory.hooks.stop, view.memory.calls
    if stop is not None and not any(call.began for call in calls.values()):
        return Settle(tuple(calls), f"Not run: a hook stopped this agent: {stop}") if calls else Park(f"hook: {stop}")
    return _first(view, view.hooks.table) or _special(view, view.hooks.table, action) or action


def _first(view: View, table: HookTable) -> RunHooks | None:
    """Return what is due before anything else: the start of the session, calls that ended, and messages."""
    source, known = view.hooks.session if view.hooks else None, view.memory.hooks
    if source and table.for_event("SessionStart", source):
        return RunHooks("SessionStart", (source,))
    ended = tuple(id_ for id_, call in known.ended.items() if table.for_tool("PostToolUse", call.tool))
    if ended:
        return RunHooks("PostToolUse", ended)
    prompts = known.prompts[:1]
    return RunHooks("UserPromptSubmit", prompts) if prompts and table.for_event("UserPromptSubmit") else None


def _special(view: View, table: HookTable, action: Action) -> RunHooks | None:
    """Return what is due before this action."""
    calls = view.memory.calls
    match action:
        case Act(calls=ids):
            return _before_calls(view, table, (calls[id_] for id_ in ids))
        case Settle(calls=(id_,), ok=False) if id_ in calls and _could_run(view, calls[id_], action.text):
            return _before_calls(view, table, (calls[id_],))
        case Ask(call=id_):
            return _before_calls(view, table, (calls[id_],)) or _of_call(
                view, table, "PermissionRequest", (calls[id_],)
            )
        case Compact():
            return _once(view, table, "PreCompact", "auto" if view.memory.focus is None else "manual")
        case Rest(status=Waiting(on=on)) if on in ("permission", "plan"):
            # Only what the user answers: a plan of a teammate may be for the lead.
            waits = [one.id for one in view.memory.requests.values() if one.asked == USER]
            asked = next((id_ for id_ in waits if _untold(view, "Notification", id_)), None)
            due = asked is not None and table.for_event("Notification", PERMISSION)
            return RunHooks("Notification", (asked,)) if due and asked is not None else None
        case Rest(status=Idle()):
            return _turn_end(view, table)
    return None


def _turn_end(view: View, table: HookTable) -> RunHooks | None:
    known, event = view.memory.hooks, _TURN_END[view.me.kind]
    about = str(known.turn)
    if not known.turn or view.memory.parked or view.memory.interrupted:
        return None
    if _untold(view, event, about) and table.for_event(event, *turn_names(view)):
        return RunHooks(event, (about,), spent=known.blocks >= MOST_BLOCKS)
    attended = view.me.kind is AgentKind.LEAD and view.roster.attended
    due = attended and _untold(view, "Notification", about) and table.for_event("Notification", IDLE)
    return RunHooks("Notification", (about,)) if due else None


def turn_names(view: View) -> tuple[str, ...]:
    """Return what the matcher of a hook at the end of a turn is compared with."""
    return (str(view.me.agent_type),)


def _once(view: View, table: HookTable, event: str, about: str) -> RunHooks | None:
    return RunHooks(event, (about,)) if _untold(view, event, about) and table.for_event(event, about) else None


def _untold(view: View, event: str, about: str) -> bool:
    return key_of(event, about) not in view.memory.hooks.told


def _before_calls(view: View, table: HookTable, calls: Iterable[OpenCall]) -> RunHooks | None:
    fresh = [call for call in calls if not call.began and not call.flaw]
    found = (_of_call(view, table, event, fresh) for event in _BEFORE_CALL)
    return next(filter(None, found), None)


def _of_call(view: View, table: HookTable, event: str, calls: Iterable[OpenCall]) -> RunHooks | None:
    due = tuple(call.id for call in calls if _untold(view, event, call.id) and hooks_for_call(table, event, call))
    return RunHooks(event, due) if due else None


def hooks_for_call(table: HookTable, event: str, call: OpenCall) -> tuple[Hook, ...]:
    """Return the hooks of an event that are about a call."""
    creates = call.tool == "TaskCreate"
    completes = call.tool == "TaskUpdate" and call.arguments.get("status") == "completed"
    if (event == "TaskCreated" and not creates) or (event == "TaskCompleted" and not completes):
        return ()
    return table.for_event(event, *names_of(call.tool))


def _could_run(view: View, call: OpenCall, text: str) -> bool:
    """Tell whether a call is refused now only because nobody can be asked, so that a hook may allow it."""
    if call.began or call.hook or call.request or not (call.tool in TOOLS or call.tool in view.own_tools):
        return False
    refusal = verdict_on(view, call)
    if refusal.effect is not Effect.DENY or refusal.reason != text:
        return False
    return verdict_on(view, replace(call, hook="allow")).effect is not Effect.DENY
