"""Verdicts: what becomes of a call that an agent wants to make, told from all that `decide` sees.

`decide` above asks here about each open call; `policy` below judges it by rules and mode.
"""

import json
import re
from typing import TYPE_CHECKING

from deskmate.core.actions import Ask
from deskmate.core.memory import OpenCall
from deskmate.core.policy import Attempt, Effect, Mode, Rule, Verdict, judge, standing_rule
from deskmate.core.roles import TOOLS, AgentType, tools_of

if TYPE_CHECKING:
    from deskmate.core.decide import View


def asking(view: "View", call: OpenCall, reason: str) -> Ask:
    """Return the question about a call, with the rule that would make it unnecessary."""
    attempt = _attempt(view, call)
    rule = standing_rule(attempt, mode=_mode(view), rules=_rules(view), traits=TOOLS, confined=view.confined)
    if attempt.command is not None:
        reason = f"{reason}; it would run {_written(attempt.command)}"
    return Ask(call.id, reason, f"{rule.effect} {rule}" if rule else None)


def _written(command: str) -> str:
    """Return a command as JSON that stays exact where a face makes one space of several."""
    return re.sub("(?<= ) ", r"\\u0020", json.dumps(command))


def _attempt(view: "View", call: OpenCall) -> Attempt:
    return view.attempts.get(call.id) or Attempt.untold(call.tool)


def _mode(view: "View") -> Mode:
    return Mode.PLAN if view.memory.planning else view.roster.mode_of(view.me.name)


def _rules(view: "View") -> tuple[Rule, ...]:
    return (*view.rules, *view.roster.rules)


def verdict_on(view: "View", call: OpenCall) -> Verdict:
    """Return what becomes of an open call: by its tool, the rules and the mode, and by a person's word on it."""
    if not _has(view, call.tool):
        return Verdict(Effect.DENY, f"there is no tool '{call.tool:.80}' for you now; use one of those you were given")
    verdict = judge(
        _attempt(view, call),
        mode=_mode(view),
        rules=_rules(view),
        traits=TOOLS,
        confined=view.confined,
        # Whoever answered was there: what still asks is settled by that answer, and a rule that denies still does.
        attended=view.roster.attended or call.allowed is not None,
    )
    if call.allowed is None or verdict.effect is Effect.DENY:
        return verdict
    why = call.why or "the user refused this call; do not try it again in another form"
    return Verdict(Effect.ALLOW if call.allowed else Effect.DENY, why)


def _has(view: "View", tool: str) -> bool:
    """Tell whether an agent has a tool now. Nobody knows whether one of the program's own only reads."""
    me, planning = view.me, view.memory.planning
    if tool in view.own_tools:
        return me.agent_type is AgentType.GENERAL and not planning and not view.delegates
    return tool in tools_of(me.kind, me.agent_type, planning=planning, delegate=view.delegates)
