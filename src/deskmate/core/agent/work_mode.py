"""Plan mode, delegate mode, attended or not, and the tools each mode leaves.

All parts use this one answer: `verdicts` refuses calls by it, the runtime offers tools by it, and the first message,
notices and summaries state it in the same words.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from deskmate.core.agent.entries import Started, WorkMode
from deskmate.core.log.names import LEAD, is_call
from deskmate.core.policy.patterns import text_matches
from deskmate.core.policy.permissions import Mode, PermissionRule, barred_tools
from deskmate.core.policy.tool_table import (
    MCP_CALL,
    MCP_PREFIX,
    MCP_SEARCH,
    TOOLS,
    WEB_TOOLS,
    AgentKind,
    AgentType,
    tools_of,
)
from deskmate.core.prompt.call_texts import submit_plan
from deskmate.core.team.members import Member, RosterState, is_planning

# With it, a lead submits the result that a program asked for, also if it delegates everything else.
RESULT_TOOL = "submit_result"
DELEGATING = (
    "You delegate: your teammates do the work, and you coordinate it. You have the tools for tasks, messages, "
    "teammates and background work, and no others. Do not edit files or run commands yourself, whatever is said above: "
    "put the work on the board and spawn teammates for it."
)
DELEGATING_OVER = "You no longer delegate."
PLANNING_OVER = "Plan mode is over for you."
ATTENDED = "The user is here now and can answer you."
UNATTENDED = "This run is unattended now: decide for yourself and ask no questions."


def work_mode_of(
    me: Member, roster: RosterState, *, owes_plan: bool, rules: Iterable[PermissionRule] = (), confined: bool = False
) -> WorkMode:
    """Return how an agent may work now. `rules`: the user's own rules, which apply besides the team's."""
    planning = is_planning(roster, me.name, owes_plan=owes_plan)
    delegating = me.kind is AgentKind.LEAD and roster.delegate
    mode = Mode.PLAN if planning else roster.mode_of(me.name)
    all_rules = (*rules, *roster.rules)
    return _work_mode(me.kind, me.agent_type, me.base_tools, mode, delegating, roster.attended, all_rules, confined)


# An agent asks before each action, and the answer is usually the same as before.
@lru_cache(maxsize=256)
def _work_mode(
    kind: AgentKind,
    agent_type: AgentType,
    base: tuple[str, ...] | None,
    mode: Mode,
    delegating: bool,
    attended: bool,
    rules: tuple[PermissionRule, ...],
    confined: bool,
) -> WorkMode:
    planning = mode is Mode.PLAN
    tools = tools_of(kind, agent_type, planning=planning, delegate=delegating, base=base)
    barred = barred_tools(tools, mode=mode, rules=rules, traits=TOOLS, confined=confined, attended=attended)
    return WorkMode(planning=planning, delegating=delegating, attended=attended, barred=barred)


def told_at_start(started: Started) -> WorkMode:
    """Return how an agent may work according to its system prompt and first message."""
    environment = started.made_of.get("environment")
    if not isinstance(environment, dict):
        return WorkMode(planning=started.planning)
    barred = tuple(started.made_of.get("barred") or ())
    return WorkMode(planning=started.planning, attended=environment.get("attended", True), barred=barred)


def has_tool(work_mode: WorkMode, me: Member, tool: str, own_tools: Iterable[str] = ()) -> bool:
    """Tell whether an agent has a tool, whatever its permissions. `own_tools`: tools of the embedding program."""
    if tool == RESULT_TOOL and tool in own_tools:
        return not work_mode.planning
    if tool in own_tools:
        return _may_use(me, tool) and not (work_mode.planning or work_mode.delegating)
    return tool in me.tools(planning=work_mode.planning, delegate=work_mode.delegating)


def _may_use(me: Member, tool: str) -> bool:
    """Tell whether a tool that is not ours is for this agent. It is not known whether one of these only reads."""
    if tool in WEB_TOOLS:
        return me.base_tools is None or tool in me.base_tools
    if me.agent_type is not AgentType.GENERAL:
        return False
    if me.base_tools is None:
        return True
    # An agent file names tools of MCP servers, and can name no others.
    words = [word for word in me.base_tools if word.startswith(MCP_PREFIX)]
    if tool in (MCP_SEARCH, MCP_CALL):
        return bool(words)
    return any(text_matches(word, tool) for word in words)


def is_offered(work_mode: WorkMode, me: Member, tool: str, own_tools: Iterable[str] = ()) -> bool:
    """Tell whether an agent's model is shown a tool. A tool whose every call would be denied is not shown."""
    return has_tool(work_mode, me, tool, own_tools) and tool not in (work_mode.barred or ())


def differs(told: WorkMode, now: WorkMode) -> bool:
    """Tell whether a model must be told of its changed work mode. Unknown values are not compared."""
    return (
        (told.planning, told.delegating) != (now.planning, now.delegating)
        or told.attended not in (None, now.attended)
        or told.barred not in (None, now.barred)
    )


# -- in words -------------------------------------------------------------------------------------


def mode_text(name: str, work_mode: WorkMode) -> str:
    """Return how an agent may work, in words for its model; empty if there is nothing to say."""
    parts = [_attendance(work_mode), *_limits(name, work_mode)]
    return "\n".join(part for part in parts if part)


def change_text(name: str, told: WorkMode, now: WorkMode) -> str:
    """Return what changed in how an agent may work, in words for its model."""
    return "\n".join(_changes(name, told, now))


def _changes(name: str, told: WorkMode, now: WorkMode) -> Iterator[str]:
    if told.attended is not None and told.attended != now.attended:
        yield _attendance(now)
    if told.planning != now.planning:
        yield planning_text(name, attended=bool(now.attended)) if now.planning else _over(PLANNING_OVER, told, now)
    if told.delegating != now.delegating:
        yield DELEGATING if now.delegating else _over(DELEGATING_OVER, told, now)
    # In plan mode the other tools are gone anyway.
    if told.barred is not None and told.barred != now.barred and not now.planning:
        if freed := [tool for tool in told.barred if tool not in (now.barred or ())]:
            yield f"You can use {_listed(freed)} now."
        if now.barred:
            yield barred_text(now.barred, attended=bool(now.attended))


def _over(words: str, told: WorkMode, now: WorkMode) -> str:
    """Return that a mode is over, and what follows: its tools are back unless something else removes them."""
    if now.planning:
        return f"{words} You are in plan mode as before." if told.planning else words
    if now.delegating:
        return f"{words} You delegate as before." if told.delegating else words
    return words if now.barred else f"{words} You have all your tools again."


def _attendance(work_mode: WorkMode) -> str:
    if work_mode.attended is None:
        return ""
    return ATTENDED if work_mode.attended else UNATTENDED


def _limits(name: str, work_mode: WorkMode) -> Iterator[str]:
    if work_mode.planning:
        yield planning_text(name, attended=bool(work_mode.attended))
    if work_mode.delegating:
        yield DELEGATING
    if work_mode.barred and not work_mode.planning:
        yield barred_text(work_mode.barred, attended=bool(work_mode.attended))


def planning_text(name: str, *, attended: bool) -> str:
    """Return what an agent in plan mode is told."""
    if is_call(name):
        return "Plan mode is on: look at files, change nothing, and report what you found."
    end = (
        "The answer wakes you. If the plan is refused, you are told why: improve it and submit it again."
        if attended or name != LEAD
        else "This run is unattended: it ends when you submit your plan, and the plan is its answer."
    )
    reader = "the user" if name == LEAD else "your lead"
    return (
        "You are in plan mode: until your plan is approved you may read files, look at tasks and send messages, and "
        f"nothing else. Read what you need, then submit your plan: {submit_plan()}. "
        f"Do not write the plan as plain text: only this call asks {reader} to approve it. {end}"
    )


def barred_text(tools: Iterable[str], *, attended: bool) -> str:
    """Return what an agent is told of tools whose every call would be denied."""
    start_again = "" if attended else " The user can allow more with another --permission-mode."
    return (
        f"You cannot use {_listed(list(tools))} now: the permission mode or a rule of the user denies every such call. "
        f"Work without these calls, or say in your answer what you could not do.{start_again}"
    )


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
