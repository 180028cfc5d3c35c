"""What an agent does next, as an ordered table of rules.

Idle, waiting for a person, waiting for a plan, being asked to stop and coming back after a crash are rules here, not
code in a loop. Each rule looks at the view and returns an action or None. **The order of RULES is the policy.** The
runtime carries out the action, records it, and asks again.
"""

from collections.abc import Callable
from typing import assert_never

from deskmate.core.agent.actions import (
    Act,
    Action,
    Agree,
    Compact,
    Notice,
    Park,
    Permit,
    Reread,
    Rest,
    SeeOff,
    Settle,
    Stop,
    Take,
    Think,
)
from deskmate.core.agent.notices import changes_text, is_news_for_lead, teammate_news
from deskmate.core.agent.open_calls import CALLS_CAP, INTERRUPTED, NOT_BEGUN_IN_TIME, TIME_IS_UP, OpenCall
from deskmate.core.agent.rules.nudges import nudge
from deskmate.core.agent.rules.quiet import next_task, quiet
from deskmate.core.agent.view import View
from deskmate.core.agent.work_mode import differs
from deskmate.core.policy.permissions import Effect, Verdict
from deskmate.core.policy.tool_table import TOOLS, AgentKind
from deskmate.core.policy.verdicts import asking, verdict_on
from deskmate.core.team.handshakes import Shake, plans_among
from deskmate.core.team.members import Member, mode_approved
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working
from deskmate.core.team.tasks import Task, TaskStatus, in_progress_of

DEADLINE_SECONDS = 30.0
BATCH_SECONDS = 2.0
WORDS = "words"
# At most this many calls of one agent run at once.
TOGETHER = 16
_SURPLUS = f"Not run: only the first {CALLS_CAP} calls of an answer are run. Make this call again."


def decide(view: View) -> Action:
    """Return the next action."""
    return next(action for rule in RULES if (action := rule(view)) is not None)


# -- stopping and coming back ---------------------------------------------------------------------


def _gone(view: View) -> Action | None:
    if isinstance(view.me.status, Left):
        return Stop(view.me.status.reason, agreed=view.me.status.agreed)
    late = [id_ for id_ in view.memory.demands if view.waited.get(id_, 0.0) >= DEADLINE_SECONDS]
    return (
        Stop(f"forced: no answer to a shutdown request within {DEADLINE_SECONDS:.0f} s", agreed=False) if late else None
    )


def _moved(view: View) -> Action | None:
    """Tell a lead at once that it works in another team: it knows the board and roster of the old team only."""
    away = view.roster.away
    return Notice(away=away) if view.me.kind is AgentKind.LEAD and away != view.memory.away else None


def _approved(view: View) -> Action | None:
    """Leave plan mode as soon as a plan is approved, before doing anything else."""
    approval = view.memory.approval
    mode = mode_approved(view.roster, view.me.name, approval) if approval else None
    return Permit(mode, approval) if mode and approval else None


def _out_of_time(view: View) -> Action | None:
    """Settle all open calls when the time of the run is up, including those that wait for a person's answer."""
    if not view.time_is_up or not view.memory.calls:
        return None
    began = tuple(call.id for call in view.memory.calls.values() if call.began)
    return Settle(began, TIME_IS_UP) if began else Settle(tuple(view.memory.calls), NOT_BEGUN_IN_TIME)


def _run_again(view: View) -> Action | None:
    """Run a repeatable call again if it is still allowed: rules and mode may have changed since it began."""
    cut = (call for call in view.memory.calls.values() if call.began and _repeatable(call))
    return next((Act((call.id,)) for call in cut if verdict_on(view, call).effect is Effect.ALLOW), None)


def _cut_off(view: View) -> Action | None:
    cut = tuple(call.id for call in view.memory.calls.values() if call.began)
    return Settle(cut, INTERRUPTED) if cut else None


def _leave(view: View) -> Action | None:
    return Stop("agreed to a shutdown request", agreed=True) if view.memory.done else None


def _agree(view: View) -> Action | None:
    memory = view.memory
    if not memory.demands:
        return None
    owned = any(task.owner == view.me.name and task.is_open for task in view.board.tasks.values())
    free = not memory.owed and not memory.background and not owned
    return Agree(next(iter(memory.demands))) if memory.parked or view.over or free else None


# -- calls ----------------------------------------------------------------------------------------


def _skip(view: View) -> Action | None:
    """Skip calls that have not begun and wait for nobody if something more urgent arrived.

    A message from the user waits until the open questions are answered. It never cancels a call the user was asked
    about.
    """
    memory = view.memory
    waiting = [call.id for call in memory.calls.values() if _waits(view, call)]
    if not memory.pressed or (waiting and not memory.halted):
        return None
    fresh = tuple(
        call.id
        for call in memory.calls.values()
        if not call.began and call.id not in waiting and (memory.halted or call.request is None)
    )
    return Settle(fresh, "Skipped: something more urgent came in. Read that first.") if fresh else None


def _waits(view: View, call: OpenCall) -> bool:
    """Tell whether a call waits for a person's answer: not if none will come, or if current permissions decide it."""
    asked = call.request is not None and call.allowed is None
    return asked and verdict_on(view, call).effect is Effect.ASK


def _surplus(view: View) -> Action | None:
    surplus = tuple(call.id for call in view.memory.calls.values() if call.surplus)
    return Settle(surplus, _SURPLUS) if surplus else None


def _call(view: View) -> Action | None:
    """Run, refuse or ask about the next open call. Calls that may overlap run together.

    A call begins only when every call before it has a result, unless both may overlap. As soon as one call of a step
    needs a question, all its questions are asked, so that a person can answer them together.
    """
    run: list[str] = []
    waiting = held = False
    for call in view.memory.calls.values():
        verdict, overlaps = verdict_on(view, call), _overlaps(call)
        if verdict.effect is Effect.ASK:
            if call.request is None and run:
                break
            if call.request is None and (question := _question(view, call, verdict, first=not waiting)):
                return question
            waiting, held = True, held or not overlaps
        elif held or (waiting and not overlaps):
            held = True
        elif run and (verdict.effect is Effect.DENY or not overlaps or len(run) == TOGETHER):
            break
        elif verdict.effect is Effect.DENY:
            return Settle((call.id,), verdict.reason)
        else:
            run.append(call.id)
            if not overlaps:
                break
    return Act(tuple(run)) if run else None


def _question(view: View, call: OpenCall, verdict: Verdict, *, first: bool) -> Action | None:
    """Ask about a call, unless it would change nothing: then return its result instead.

    A call before it that still waits may change that. It is then decided when this call is next.
    """
    foreseen = view.foreseen.get(call.id)
    if foreseen is None:
        return asking(view, call, verdict.reason)
    return foreseen if first else None


def _repeatable(call: OpenCall) -> bool:
    return call.tool in TOOLS and TOOLS[call.tool].repeatable


def _overlaps(call: OpenCall) -> bool:
    return call.tool in TOOLS and TOOLS[call.tool].overlaps


def _withdraw(view: View) -> Action | None:
    waiting = tuple(view.memory.calls)
    if not waiting or not view.memory.halted:
        return None
    asked = "you were asked to shut down before the user answered"
    why = asked if view.memory.demanded else "the user interrupted you before answering"
    return Settle(waiting, f"Not run: {why}.")


def _await_verdict(view: View) -> Action | None:
    return Rest(Waiting("permission")) if view.memory.calls else None


# -- continuing -----------------------------------------------------------------------------------


def _make_room(view: View) -> Action | None:
    return Compact() if view.memory.focus is not None and not view.over else None


def _stay(view: View) -> Action | None:
    """Stay parked until the user or lead writes or the caps change; stay interrupted until one of them writes."""
    parked = view.memory.parked
    if parked and parked.caps == view.caps:
        return Rest(Parked(parked.reason))
    return Rest() if view.memory.interrupted else None


def _park(view: View) -> Action | None:
    """Park an agent that has something to answer when a cap is reached. An idle agent is never parked."""
    return Park(view.over) if view.over and (view.memory.owed or view.memory.demanded) else None


def _plan_is_answer(view: View) -> Action | None:
    """Let the lead of an unattended run rest on the plan that it just submitted: only the user can answer it."""
    alone = view.me.kind is AgentKind.LEAD and not view.roster.attended and view.memory.steps
    return _await_answer(view) if alone else None


def _see_off(view: View) -> Action | None:
    """Let a lead that dismissed its team give its final answer only after everybody has left."""
    stays = any(member.name in team.memory.dismissed for team in view.teams for member in team.company)
    return SeeOff() if view.ends_at_rest and stays else None


def _await_answer(view: View) -> Action | None:
    return Rest(Waiting("plan")) if plans_among(view.memory.requests.values()) else None


def _think(view: View) -> Action | None:
    """Answer what is owed. If the context is full, compact it first, once."""
    if not view.memory.owed and not view.memory.demanded:
        return None
    if not view.full and not view.memory.overflowed:
        return Think()
    return Park("context: still too large after compaction") if view.memory.compacted else Compact()


def _inform(view: View) -> Action | None:
    """Put the team's news before what is answered next. News alone wakes nobody."""
    if not (view.memory.owed or view.memory.demanded):
        return None
    if differs(view.memory.work_mode, view.work_mode):
        return _change(view)
    return next((_news_of(view, team) for team in view.teams if not team.memory.informed and _has_news(team)), None)


def _news_of(view: View, team: View) -> Notice:
    return Notice() if team is view else Notice(team=team.roster.team)


def _change(view: View) -> Notice:
    """Return the notice of a changed work mode. An agent that no longer plans waits for no answer to a plan."""
    now = view.work_mode
    return Notice(work_mode=now, closed=() if now.planning else plans_among(view.memory.requests.values()))


def _plan_over(view: View) -> Action | None:
    """Wake an agent that waits for an answer to its plan but is no longer in plan mode."""
    return _change(view) if _await_answer(view) and not view.work_mode.planning else None


def _has_news(view: View) -> bool:
    """Tell whether the team has news worth a line. The lead gets news only at the start of a turn."""
    if view.me.kind is AgentKind.LEAD:
        return not view.memory.steps and is_news_for_lead(view.roster, view.board, view.memory.noticed)
    return bool(teammate_news(view.roster, view.board, view.memory))


def _recall(view: View) -> Action | None:
    """Put the text of a task in progress before what is answered next, if the agent has not read it.

    Either the agent claimed it by a call, whose result has only the subject, or it crashed before recording the task.
    """
    if not (view.memory.owed or view.memory.demanded):
        return None
    untold = [task for task in in_progress_of(view.board, view.me.name) if not _is_read(view, task)]
    return Take(untold[0].id) if untold else None


def _is_read(view: View, task: Task) -> bool:
    if task.description or task.verify or task.notes:
        return (task.id, task.epoch) in view.memory.read
    return task.id in view.memory.tasks


# -- news and work --------------------------------------------------------------------------------


def _lost(view: View) -> Action | None:
    lost = tuple(task for task, epoch in view.memory.tasks.items() if _taken_away(view, task, epoch))
    return Notice(lost) if lost else None


def _reworded(view: View) -> Action | None:
    """Let an agent read its task again before it continues, if somebody else changed it."""
    mine = (view.board.tasks.get(id_) for id_ in view.memory.tasks)
    changed = (task for task in mine if task and task.is_open and changes_text(task, view.me.name, view.memory))
    return next((Reread(task.id) for task in changed), None)


def _taken_away(view: View, id_: int, epoch: int) -> bool:
    task = view.board.tasks.get(id_)
    if task is None or task.status is TaskStatus.DELETED:
        return True
    return task.status is not TaskStatus.COMPLETED and (task.owner != view.me.name or task.epoch != epoch)


def _digest(view: View) -> Action | None:
    if view.me.kind is not AgentKind.LEAD:
        return None
    return next((_news_of(view, team) for team in view.teams if _is_notable(team)), None)


def _is_notable(view: View) -> bool:
    return any(number > view.memory.noticed[0] for number in _notable(view))


def _notable(view: View) -> list[int]:
    """Return the numbers of roster records that are worth a turn of the lead."""
    asked = [request.asked for request in view.memory.requests.values() if request.shake is Shake.SHUTDOWN]
    asking = any(view.roster.here(name) for name in (*asked, *view.memory.leaving))
    heard_out = view.waited.get(WORDS, 0.0) >= BATCH_SECONDS
    numbers = [member.status_in for member in view.roster.teammates if _worth_a_turn(member, asking)]
    if heard_out:
        numbers += [number for member in view.roster.teammates for number, _ in member.reports]
    # The user made the interrupt. It alone does not wake the lead, who might undo it.
    rests = [member.status_in for member in view.roster.teammates if not member.interrupted]
    return [*numbers, *rests] if quiet(view) else numbers


def _worth_a_turn(member: Member, asking: bool) -> bool:
    match member.status:
        case Parked():
            return True
        case Left(agreed=agreed):
            return not (agreed and asking)
        case Working() | Idle() | Waiting():
            return False
        case unreachable:
            assert_never(unreachable)


def _take(view: View) -> Action | None:
    if view.me.kind is AgentKind.SUBAGENT or view.work_mode.planning:
        return None
    task = next_task(view, view.me)
    if task is None:
        return None
    # An agent that may not begin must say so, or everyone would wait for it.
    return Park(view.over) if view.over else Take(task.id)


def _rest(view: View) -> Action:
    return _await_answer(view) or (Rest(Waiting("background")) if view.memory.background else Rest())


RULES: tuple[Callable[[View], Action | None], ...] = (
    _gone,
    _moved,
    _approved,
    _out_of_time,
    _run_again,
    _cut_off,
    _surplus,
    _skip,
    _call,
    _withdraw,
    _await_verdict,
    _leave,
    _agree,
    _make_room,
    _stay,
    _plan_is_answer,
    _see_off,
    _park,
    _lost,
    _reworded,
    _inform,
    _recall,
    _think,
    _plan_over,
    _digest,
    _take,
    nudge,
    _rest,
)
