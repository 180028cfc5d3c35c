"""What an agent knows, folded from its transcript.

It has only what `decide` needs. What the model reads is rendered from the entries themselves. The mail cursor and the
ids already heard are derived here, so there is no acknowledgement to lose.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from deskmate.core.agent.entries import (
    UNTOLD,
    AgentParked,
    Agreed,
    Began,
    Cleared,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Hooked,
    Noticed,
    Nudged,
    Overflowed,
    PermissionAsked,
    PicturesRefused,
    Reported,
    Said,
    Started,
    SummaryDropped,
    SummaryRequested,
    Took,
    WorkMode,
)
from deskmate.core.agent.open_calls import OpenCall, answered, answered_plan, open_calls
from deskmate.core.agent.teams.addresses import split
from deskmate.core.agent.teams.known_team import KnownTeam, facts_of
from deskmate.core.agent.work_mode import told_at_start
from deskmate.core.goals import Goal, GoalRound, is_open, remembered
from deskmate.core.hooks.hook_memory import NO_HOOKS, HookMemory, after_hooks
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import IN_CHARGE, LEAD, USER, box, mail
from deskmate.core.log.value_copies import each, replace, without
from deskmate.core.policy.tool_table import ASK_USER
from deskmate.core.team.handshakes import OpenRequest, PlanVerdict, Response, Shake, ShownPlan, answer_flaw, may_ask
from deskmate.core.team.messages import (
    Envelope,
    InputResponse,
    Interrupt,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
    Scheduled,
    ShutdownRequest,
    ShutdownResponse,
    read_envelope,
    wakes,
)


# Without slots, because each entry makes a copy: see `value_copies`.
@dataclass(frozen=True)
class Memory(KnownTeam):
    """What an agent knows: of its team, and of its own work. `owed`: something waits for the model's answer.

    `early`: answers heard before the entry that opens their request, by request id. If an agent dies after asking and
    before recording it, it hears the answer first when it comes back. `forced`: shutdown requests that cannot be
    refused. `verdict`: the answer to its own latest plan. `away`: the named team that a lead works in. `home`: what it
    knows of its home meanwhile. `pressed`: something arrived that the model must read before it continues. `halted`:
    that was an interrupt or a shutdown request. `reminded_of`: background commands it was reminded of. `owes_plan`: it
    was spawned to plan first, and none of its plans is approved yet. `approval`: the approval of its plan, until its
    model is told. `work_mode`: how it may work, as its model was told. `plan_round`: how often it began to plan or
    submitted a plan. `planless`: turns since then without plan or message. `wrote`: it sent a message in this turn.
    `focus`: what the summary that the user wants keeps above all; None if no summary is wanted. `overflowed`: a
    provider refused the conversation as too long, and there is no room yet. `hooks`: which ran, and what they want.
    `goal`: of a lead.
    """

    name: str = ""
    number: int = 0
    cursors: Mapping[str, int] = field(default_factory=dict)
    owed: bool = False
    calls: Mapping[str, OpenCall] = field(default_factory=dict)
    pressed: bool = False
    halted: bool = False
    demands: Mapping[str, str] = field(default_factory=dict)
    forced: frozenset[str] = frozenset()
    demanded: bool = False
    verdict: PlanVerdict | None = None
    approval: PlanVerdict | None = None
    early: Mapping[str, tuple[Envelope, ...]] = field(default_factory=dict)
    stopping: str | None = None
    parked: AgentParked | None = None
    interrupted: bool = False
    owes_plan: bool = False
    work_mode: WorkMode = UNTOLD
    plan_round: int = 0
    planless: int = 0
    wrote: bool = False
    background: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False
    focus: str | None = None
    overflowed: bool = False
    away: str = ""
    home: KnownTeam | None = None
    steps: int = 0
    reminded_of: frozenset[str] = frozenset()
    hooks: HookMemory = NO_HOOKS
    goal: Goal | None = None

    @property
    def done(self) -> bool:
        """Whether it agreed to leave and no call is open: only leaving is left to do."""
        return self.stopping is not None and not self.calls

    @property
    def dismissed_at_home(self) -> frozenset[str]:
        """The dismissed teammates of the home of a lead that works elsewhere."""
        return self.home.dismissed if self.home else frozenset()

    def in_team(self, team: str | None) -> "Memory":
        """Return this memory as it is in a team of the lead, by name. In its home it knows that team, not this one."""
        return _swapped(self) if self.home and team not in (None, self.away) else self


EMPTY = Memory()


def remember(memory: Memory, number: int, entry: Entry) -> Memory:
    """Return what an agent knows after one more entry of its transcript."""
    memory = replace(memory, number=number)
    there = memory.in_team(entry.team) if isinstance(entry, Heard | Did | Noticed) else memory
    after = _remember(there, number, entry)
    return after if there is memory else _swapped(after)


def _swapped(memory: Memory) -> Memory:
    """Return a memory in which the lead's other team takes the place of its current one."""
    assert memory.home, "only a lead that works away from home knows two teams"
    facts = {**facts_of(memory.home), "requests": {**memory.home.requests, **memory.of_user}}
    return replace(memory, home=memory.without_own(), **facts)


def _remember(memory: Memory, number: int, entry: Entry) -> Memory:
    match entry:
        case Started(name=name, planning=planning, prompt=prompt, roster=roster):
            memory = replace(memory, name=name, owes_plan=planning, work_mode=told_at_start(entry))
            return replace(memory, owed=bool(prompt), noticed=(roster or 0, 0))
        case Heard():
            return _hear(memory, number, entry)
        case Said():
            return _say(memory, number, entry)
        case Began(calls=calls):
            return replace(memory, calls=each(memory.calls, calls, lambda call: replace(call, began=True)))
        case Did():
            return _do(memory, entry)
        case PermissionAsked():
            return _ask(memory, entry)
        case Took(task=task, epoch=epoch, board=board):
            known = without(memory.words_known, task) if board is None else {**memory.words_known, task: board}
            tasks, read = {**memory.tasks, task: epoch}, memory.read | {(task, epoch)}
            hooks = replace(memory.hooks, blocks=0)
            return replace(memory, tasks=tasks, read=read, words_known=known, owed=True, hooks=hooks)
        case Noticed():
            return _notice(memory, entry)
        case Nudged(task=task, epoch=epoch):
            return replace(memory, nudged=memory.nudged | {(task, epoch)}, owed=True)
        case Reported(task=task, epoch=epoch):
            return replace(memory, reported=memory.reported | {(task, epoch)})
        case Agreed(request_id=request_id):
            return replace(memory, demands=without(memory.demands, request_id), stopping=request_id)
        case AgentParked():
            # There may be room when it continues. One try shows whether there is.
            return replace(memory, parked=entry, overflowed=False, hooks=replace(memory.hooks, stop=None))
        case Ended(background=background):
            return replace(memory, background=memory.background - {background}, owed=True)
        case Compacted():
            return replace(memory, compacted=True, focus=None, overflowed=False, hooks=memory.hooks.after_room())
        case Cleared() | PicturesRefused():
            return replace(memory, overflowed=False, hooks=memory.hooks.after_room())
        case SummaryRequested(focus=focus):
            return replace(memory, focus=focus)
        case SummaryDropped():
            return replace(memory, focus=None)
        case Overflowed():
            return replace(memory, overflowed=True)
        case Hooked():
            hooks, judged, owed = after_hooks(memory.hooks, memory.calls, number, entry, owed=memory.owed)
            return replace(memory, hooks=hooks, calls=judged, owed=owed)
        case unreachable:
            assert_never(unreachable)


def _notice(memory: Memory, entry: Noticed) -> Memory:
    match entry:
        case Noticed(work_mode=WorkMode() as work_mode, closed=closed):
            return _enter(memory, work_mode, closed or ())
        case Noticed(delegate=bool(delegating)):
            return _enter(memory, memory.work_mode.model_copy(update={"delegating": delegating}), ())
        case Noticed(away=str(away)):
            return _move(memory, away, (entry.roster, entry.board))
        case Noticed(goal=GoalRound() as goal):
            return replace(memory, goal=(now := remembered(memory.goal, goal)), owed=memory.owed or is_open(now))
        case Noticed(running=tuple(commands)):
            return replace(memory, reminded_of=memory.reminded_of | {*commands}, owed=True)
        case Noticed(dismissed=tuple(names)):
            here, there = split(names)
            home = memory.home and replace(memory.home, dismissed=memory.home.dismissed | there)
            return replace(memory, dismissed=memory.dismissed | here, home=home, owed=True)
        case Noticed(quiet=True, roster=roster, home=at_home):
            # This reminder contains no news of the team, so the news still counts as untold.
            home = memory.home and replace(memory.home, reminded=at_home)
            return replace(memory, reminded=roster, home=home, owed=True)
        case Noticed(tasks=lost, roster=roster, board=board):
            tasks = {task: epoch for task, epoch in memory.tasks.items() if task not in lost}
            seen = max(memory.noticed[0], roster), max(memory.noticed[1], board)
            # Only an entry with the team's news counts as news. Other entries must not delay it.
            return replace(memory, tasks=tasks, noticed=seen, informed=memory.informed or bool(roster), owed=True)


def _enter(memory: Memory, work_mode: WorkMode, closed: tuple[str, ...]) -> Memory:
    """Switch to another work mode."""
    if work_mode.planning and not memory.work_mode.planning:
        memory = replace(memory, plan_round=memory.plan_round + 1, planless=0)
    requests = {id_: request for id_, request in memory.requests.items() if id_ not in closed}
    return replace(memory, work_mode=work_mode, approval=None, requests=requests, owed=True)


def _move(memory: Memory, away: str, noticed: tuple[int, int]) -> Memory:
    """Continue in another team. What is known of the home is kept; what is known of a named team ends with it."""
    boxes = (mail(LEAD), box(LEAD, away))
    home = memory.home or memory.without_own()
    # Members with the same names there count their ids from the start.
    team = KnownTeam(noticed=noticed) if away else home
    return replace(
        memory,
        away=away,
        home=home if away else None,
        cursors={kept: number for kept, number in memory.cursors.items() if kept in boxes},
        **{**facts_of(team), "requests": {**team.requests, **memory.of_user}},
    )


def _say(memory: Memory, number: int, entry: Said) -> Memory:
    calls = open_calls(memory.name, number, entry)
    goes_on = bool(calls) or entry.unfinished
    memory = replace(memory, early={}, pressed=False, halted=False, demanded=False, parked=None, approval=None)
    return replace(
        memory,
        owed=entry.unfinished,
        calls=calls,
        compacted=False,
        informed=False,
        home=memory.home and replace(memory.home, informed=False),
        steps=memory.steps + 1 if goes_on else 0,
        planless=memory.planless + (memory.work_mode.planning and not goes_on and not memory.wrote),
        wrote=memory.wrote and goes_on,
        hooks=memory.hooks.after_words(number, is_over=not goes_on and not entry.stopped),
    )


def _do(memory: Memory, entry: Did) -> Memory:
    call = memory.calls.get(entry.call)
    told = {**memory.tasks, **entry.tasks}
    memory = replace(
        memory,
        calls=without(memory.calls, entry.call),
        requests=without(memory.requests, call.request) if call and call.request else memory.requests,
        tasks={task: epoch for task, epoch in told.items() if epoch is not None},
        files={**memory.files, **entry.files} if entry.files else memory.files,
        owed=True,
        hooks=memory.hooks.after_call(call) if call and call.began and entry.ok else memory.hooks,
        wrote=memory.wrote or bool(memory.work_mode.planning and entry.ok and call and call.tool == "SendMessage"),
    )
    if entry.board is not None:
        known = {**memory.words_known, **dict.fromkeys(entry.tasks, entry.board)}
        read = {(task, epoch) for task, epoch in entry.tasks.items() if epoch is not None}
        memory = replace(memory, words_known=known, read=memory.read | read)
    if entry.background:
        memory = replace(memory, background=memory.background | {entry.background})
    if opened := entry.opened:
        if opened.shake is Shake.PLAN:
            memory = replace(memory, plan_round=memory.plan_round + 1, planless=0)
        memory = _open(memory, OpenRequest(opened.request_id, opened.shake, opened.asked))
    if plan_id := answered_plan(entry, call):
        plans = {planner: plan for planner, plan in memory.plans.items() if plan.id != plan_id}
        memory = replace(memory, plans=plans)
    if (answered := entry.answered) and answered.request_id in memory.demands:
        stopping = answered.request_id if answered.approve else memory.stopping
        memory = replace(memory, demands=without(memory.demands, answered.request_id), stopping=stopping)
    return memory


def _ask(memory: Memory, entry: PermissionAsked) -> Memory:
    asked = memory.calls.get(entry.call)
    # It was asked about already. A second record must not allow a second answer.
    if asked and asked.request:
        return memory
    waiting = each(memory.calls, (entry.call,), lambda call: replace(call, request=entry.request_id))
    shake = Shake.INPUT if asked and asked.tool == ASK_USER else Shake.PERMISSION
    return _open(replace(memory, calls=waiting), OpenRequest(entry.request_id, shake, USER))


def _hear(memory: Memory, number: int, entry: Heard) -> Memory:
    cursor = memory.cursors.get(entry.box, 0)
    # If the entry before this one was lost, no entry has the mail between them. The cursor stays, so that it is heard
    # again.
    reached = max(entry.upto, cursor) if entry.after <= cursor else cursor
    memory = replace(memory, cursors={**memory.cursors, entry.box: reached}, owed=memory.owed or bool(entry.damage))
    for body in entry.mail:
        envelope = read_envelope(body)
        if isinstance(envelope, Foreign) or envelope.id in memory.ids:
            continue
        memory = _take_in(replace(memory, ids=memory.ids.put(envelope.id, number)), envelope)
    return memory


def _take_in(memory: Memory, envelope: Envelope) -> Memory:
    message, sender = envelope.message, envelope.sender
    match message:
        case Interrupt():
            return replace(memory, interrupted=True, pressed=True, halted=True) if sender == USER else memory
        case ShutdownRequest(request_id=id_, force=force):
            if not may_ask(sender, message):
                return memory
            memory = replace(memory, forced=memory.forced | {id_}) if force else memory
            demands = {**memory.demands, id_: sender}
            return replace(memory, demands=demands, demanded=True, pressed=True, halted=True, interrupted=False)
        case PlanResponse() | ShutdownResponse() | PermissionResponse() | InputResponse():
            return _answer(memory, envelope, message)
        case PlanRequest(request_id=id_, content=text):
            # A planner has one open plan: a newer one replaces it.
            memory = replace(memory, plans={**memory.plans, sender: ShownPlan(id_, sender, text)})
    if not wakes(message):
        return memory
    hooks = memory.hooks.after_message(envelope, memory.number, owed=memory.owed)
    memory = replace(memory, hooks=hooks)
    by_clock = isinstance(message, Scheduled)
    # A lead that was interrupted or stopped by a cap must not wake itself.
    if sender in IN_CHARGE and not (by_clock and sender == LEAD):
        memory = replace(memory, home=memory.home and replace(memory.home, reminded=None, dismissed=frozenset()))
        memory = replace(memory, interrupted=False, parked=None, steps=0, reminded=None, dismissed=frozenset())
    return replace(memory, owed=True, pressed=memory.pressed or (sender == USER and not by_clock))


def _open(memory: Memory, request: OpenRequest) -> Memory:
    """Open a request, and apply answers that were heard before it."""
    early = memory.early.get(request.id, ())
    others = memory.requests
    if request.shake is Shake.PLAN:
        others = {id_: other for id_, other in others.items() if other.shake is not Shake.PLAN}
    requests = {**others, request.id: request}
    memory = replace(memory, requests=requests, early=without(memory.early, request.id))
    for envelope in early:
        memory = _take_in(memory, envelope)
    return memory


def _answer(memory: Memory, envelope: Envelope, message: Response) -> Memory:
    """Apply a response if it is the one that counts; ignore it otherwise."""
    request = memory.requests.get(message.request_id)
    if request is None and _comes_early(memory, message.request_id):
        early = (*memory.early.get(message.request_id, ()), envelope)
        return replace(memory, early={**memory.early, message.request_id: early})
    if request is None or answer_flaw(request, envelope):
        return memory
    memory = replace(memory, requests=without(memory.requests, request.id))
    match message:
        case PlanResponse(approve=approve):
            edits = bool(message.accept_edits)
            verdict = PlanVerdict(request_id=request.id, by=envelope.sender, approve=approve, accept_edits=edits)
            memory = replace(memory, approval=verdict if approve else None, verdict=verdict, planless=0)
            owes_plan = memory.owes_plan and not approve
            return replace(memory, owes_plan=owes_plan, owed=True, interrupted=False, parked=None)
        case ShutdownResponse(approve=approve):
            leaving = memory.leaving | {request.asked} if approve else memory.leaving
            return replace(memory, owed=memory.owed or not approve, leaving=leaving)
        case PermissionResponse() | InputResponse():
            return replace(memory, calls=answered(memory.calls, message))
        case unreachable:
            assert_never(unreachable)


def _comes_early(memory: Memory, request_id: str) -> bool:
    """Tell whether an answer may be to a request not recorded yet: it has the id of the call that asks."""
    call = memory.calls.get(request_id)
    return call is not None and (call.began or not call.request)


def plan_answer_counts(memory: Memory, envelope: Envelope) -> bool:
    """Tell whether an answer to a plan closes an open one, or may once that is recorded. Others are never shown."""
    message = envelope.message
    assert isinstance(message, PlanResponse), "only answers to plans are asked about"
    request = memory.requests.get(message.request_id)
    if request is None:
        return envelope.sender in IN_CHARGE and _comes_early(memory, message.request_id)
    return answer_flaw(request, envelope) is None
