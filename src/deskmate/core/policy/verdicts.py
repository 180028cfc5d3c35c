"""What happens to a call that an agent wants to make.

`decide` asks here about each open call. `permissions` judges it by rules and mode.
"""

import json
import re

from deskmate.core.agent.actions import Ask
from deskmate.core.agent.entries import WorkMode
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.agent.view import View
from deskmate.core.agent.work_mode import has_tool
from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, Verdict, judge, standing_rule
from deskmate.core.policy.tool_table import ASK_USER, KNOWN, TOOLS, AgentKind


def asking(view: View, call: OpenCall, reason: str) -> Ask:
    """Return the question about a call, with the rule that would make it unnecessary."""
    attempt = _attempt(view, call)
    rule = standing_rule(attempt, mode=_mode(view), rules=_rules(view), traits=KNOWN, confined=view.confined)
    if attempt.command is not None:
        reason = f"{reason}. It would run {_written(attempt.command)}"
    return Ask(call.id, reason, f"{rule.effect} {rule}" if rule else None)


def _written(command: str) -> str:
    """Return a command as JSON that stays exact even if a face merges several spaces."""
    return re.sub("(?<= ) ", r"\\u0020", json.dumps(command))


def _attempt(view: View, call: OpenCall) -> Attempt:
    return view.attempts.get(call.id) or Attempt.untold(call.tool)


def _mode(view: View) -> Mode:
    return Mode.PLAN if view.work_mode.planning else view.roster.mode_of(view.me.name)


def _rules(view: View) -> tuple[PermissionRule, ...]:
    return (*view.rules, *view.roster.rules)


def verdict_on(view: View, call: OpenCall) -> Verdict:
    """Return what happens to an open call, by its tool, the rules, the mode, and a person's answer."""
    if not _has(view, call.tool):
        return Verdict(Effect.DENY, _has_not(view, call.tool))
    if call.hook == "deny":
        return Verdict(Effect.DENY, call.hook_reason)
    attempt = _attempt(view, call)
    # A call that does the work of another tool needs that tool too, even if rules, mode or a person allow it.
    if not _has(view, attempt.tool):
        return Verdict(Effect.DENY, _lacks(view, call, attempt))
    if view.work_mode.planning and view.me.kind is AgentKind.SUBAGENT and not _only_reads(attempt.tool):
        return Verdict(
            Effect.DENY, f"{attempt.tool} does not work in plan mode. Look at files, and report what you found."
        )
    verdict = _asked_by_hook(view, call, _judged(view, call, attempt))
    # A call that does the work of another tool must also be allowed as itself: rules may name either tool.
    if attempt.tool != call.tool and verdict.effect is not Effect.DENY:
        itself = _judged(view, call, Attempt(call.tool, (), inside=True))
        verdict = verdict if itself.effect is Effect.ALLOW else itself
    if call.allowed is None and _asks_user(view, call) and verdict.effect is Effect.ALLOW:
        return Verdict(Effect.ASK, "the user is asked")
    if call.allowed is None or verdict.effect is Effect.DENY:
        return verdict
    if call.allowed:
        return Verdict(Effect.ALLOW, call.why)
    words = f": {call.why}" if call.why else ". Do not try it again in another form."
    return Verdict(Effect.DENY, f"The user refused this call{words}")


def _asks_user(view: View, call: OpenCall) -> bool:
    """Tell whether a call is a question that somebody is there to answer."""
    return call.tool == ASK_USER and view.roster.attended and _mode(view) is not Mode.DONT_ASK


def _asked_by_hook(view: View, call: OpenCall, verdict: Verdict) -> Verdict:
    """Return the verdict on a call that hooks may want a person to see first, in any mode."""
    if call.hook != "ask" or verdict.effect is not Effect.ALLOW or call.allowed is not None:
        return verdict
    why = f"a hook says to ask first{f': {call.hook_reason}' if call.hook_reason else ''}"
    if view.roster.attended and _mode(view) is not Mode.DONT_ASK:
        return Verdict(Effect.ASK, why)
    return Verdict(Effect.DENY, f"Denied: {why}, and nobody is asked here. Continue without this call.")


def _judged(view: View, call: OpenCall, attempt: Attempt) -> Verdict:
    return judge(
        attempt,
        mode=_mode(view),
        # A hook that allows a call counts as a rule for this call: rules that deny or ask are stronger.
        rules=(*_rules(view), *([PermissionRule(Effect.ALLOW, attempt.tool)] if call.hook == "allow" else [])),
        traits=KNOWN,
        confined=view.confined,
        # A person who answered was there. The answer settles what still asks, but a rule that denies still does.
        attended=view.roster.attended or call.allowed is not None,
    )


def _only_reads(tool: str) -> bool:
    """Tell whether a tool only reads. That is not known of the embedding program's own tools."""
    return tool in TOOLS and TOOLS[tool].reads


def _lacks(view: View, call: OpenCall, attempt: Attempt) -> str:
    """Return why a call that does the work of another tool is refused, and what to do instead."""
    if call.tool != "TaskUpdate":
        return f"{call.tool:.80} would use {attempt.tool:.80}, which you do not have. Ask the lead to do it."
    # Nothing is known of a task that was created in the same step. In the next step it is on the board.
    does = "may run a command (look at the task with TaskGet first)" if attempt.command is None else "runs a command"
    if view.work_mode.delegating:
        who = "Use TaskUpdate with owner to give it to a general-purpose teammate, who then completes it"
    else:
        who = "Use SendMessage to ask the lead to complete it, or to give it to a teammate who has bash"
    return f"Completing this task {does}, and you have no bash. {who}."


def _has(view: View, tool: str) -> bool:
    """Tell whether an agent has a tool. In plan mode most do not work, but `judge` says that."""
    if view.work_mode.planning and tool != "ExitPlanMode":
        works = WorkMode(delegating=view.work_mode.delegating)
        return has_tool(works, view.me, tool, view.own_tools)
    return has_tool(view.work_mode, view.me, tool, view.own_tools)


def _has_not(view: View, tool: str) -> str:
    """Return why a call of a tool that the agent does not have now is refused, and what to do instead."""
    if tool == "ExitPlanMode" and view.me.kind is not AgentKind.SUBAGENT:
        return "You are not in plan mode, so there is no plan to approve. Do the work."
    if view.work_mode.delegating and (tool in TOOLS or tool in view.own_tools):
        return f"{tool} does not work while you delegate. Give this work to a teammate, with TaskCreate or SendMessage."
    return f"You do not have the tool '{tool:.80}' now. Use one that you were given."
