"""What an agent knows, folded from its transcript.

It has only what `decide` needs. What the model reads is rendered from the entries themselves. The mail cursor and the
ids already heard are derived here, so there is no acknowledgement to lose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

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
from deskmate.core.agent.open_calls import OpenCall, open_calls
from deskmate.core.agent.work_mode import told_at_start
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import IN_CHARGE, LEAD, USER, box, mail
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.value_copies import replace
from deskmate.core.team.handshakes import OpenRequest, PlanVerdict, Shake, ShownPlan, answer_flaw, may_ask
from deskmate.core.team.messages import (
    Envelope,
    Interrupt,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    read_envelope,
    wakes,
)

TaskEpoch = tuple[int, int]
K = TypeVar("K")
V = TypeVar("V")


# Without slots, because each entry makes a copy: see `value_copies`.
@dataclass(frozen=True)
class Memory:
    """What an agent knows. `owed`: something waits for the model's answer. `informed`: it has news the model will read.

    `early`: answers heard before the entry that opens their request, by request id. If an agent dies after asking and
    before recording it, it hears the answer first when it comes back. `leaving`: members that agreed to leave; the
    roster shows it later. `words_known`: for each task in `tasks`, the board record up to which this agent knows its
    text, if that was recorded. `forced`: shutdown requests that cannot be refused. `plans`: the latest plan of each
    planner that this agent was shown and did not answer, by planner; `situation.open_plans` tells which are still open.
    `verdict`: the answer to its own latest plan. `away`: the named team that a lead works in. `pressed`: something
    arrived that the model must read before it continues. `halted`: that was an interrupt or a shutdown request.
    `reminded`: the roster record at which a lead was last reminded that its team is quiet. `reminded_of`: background
    commands it was reminded of. `dismissed`: teammates dismissed since the user last wrote. `read`: its own tasks whose
    text it was told. `owes_plan`: it was spawned to plan first, and none of its plans is approved yet. `approval`: the
    approval of its plan, until its model is told. `work_mode`: how it may work, as its model was told. `plan_round`:
    how often it began to plan or submitted a plan. `planless`: turns since then without plan or message. `wrote`: it
    sent a message in this turn. `focus`: what the summary that the user wants keeps above all; None if no summary
    is wanted. `overflowed`: a provider refused the conversation as too long, and there is no room yet.
    """

    name: str = ""
    number: int = 0
    cursors: Mapping[str, int] = field(default_factory=dict)
    ids: Seen[int] = field(default_factory=Seen)
    owed: bool = False
    calls: Mapping[str, OpenCall] = field(default_factory=dict)
    pressed: bool = False
    halted: bool = False
    demands: Mapping[str, str] = field(default_factory=dict)
    forced: frozenset[str] = frozenset()
    demanded: bool = False
    requests: Mapping[str, OpenRequest] = field(default_factory=dict)
    plans: Mapping[str, ShownPlan] = field(default_factory=dict)
    verdict: PlanVerdict | None = None
    approval: PlanVerdict | None = None
    early: Mapping[str, tuple[Envelope, ...]] = field(default_factory=dict)
    leaving: frozenset[str] = frozenset()
    stopping: str | None = None
    parked: AgentParked | None = None
    interrupted: bool = False
    owes_plan: bool = False
    work_mode: WorkMode = UNTOLD
    plan_round: int = 0
    planless: int = 0
    wrote: bool = False
    tasks: Mapping[int, int] = field(default_factory=dict)
    read: frozenset[TaskEpoch] = frozenset()
    words_known: Mapping[int, int] = field(default_factory=dict)
    nudged: frozenset[TaskEpoch] = frozenset()
    reported: frozenset[TaskEpoch] = frozenset()
    background: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False
    focus: str | None = None
    overflowed: bool = False
    noticed: tuple[int, int] = (0, 0)
    informed: bool = False
    away: str = ""
    steps: int = 0
    reminded: int | None = None
    reminded_of: frozenset[str] = frozenset()
    dismissed: frozenset[str] = frozenset()

    @property
    def done(self) -> bool:
        """Whether it agreed to leave and no call is open: only leaving is left to do."""
        return self.stopping is not None and not self.calls


EMPTY = Memory()


def remember(memory: Memory, number: int, entry: Entry) -> Memory:
    """Return what an agent knows after one more entry of its transcript."""
    memory = replace(memory, number=number)
    match entry:
        case Started(name=name, planning=planning, prompt=prompt, roster=roster):
            memory = replace(memory, name=name, owes_plan=planning, work_mode=told_at_start(entry))
            return replace(memory, owed=bool(prompt), noticed=(roster or 0, 0))
        case Heard():
            return _hear(memory, number, entry)
        case Said():
            return _say(memory, number, entry)
        case Began(calls=calls):
            return replace(memory, calls=_each(memory.calls, calls, lambda call: replace(call, began=True)))
        case Did():
            return _do(memory, entry)
        case PermissionAsked():
            return _ask(memory, entry)
        case Took(task=task, epoch=epoch, board=board):
            known = _without(memory.words_known, task) if board is None else {**memory.words_known, task: board}
            tasks, read = {**memory.tasks, task: epoch}, memory.read | {(task, epoch)}
            return replace(memory, tasks=tasks, read=read, words_known=known, owed=True)
        case Noticed():
            return _notice(memory, entry)
        case Nudged(task=task, epoch=epoch):
            return replace(memory, nudged=memory.nudged | {(task, epoch)}, owed=True)
        case Reported(task=task, epoch=epoch):
            return replace(memory, reported=memory.reported | {(task, epoch)})
        case Agreed(request_id=request_id):
            return replace(memory, demands=_without(memory.demands, request_id), stopping=request_id)
        case AgentParked():
            # There may be room when it continues. One try shows whether there is.
            return replace(memory, parked=entry, overflowed=False)
        case Ended(background=background):
            return replace(memory, background=memory.background - {background}, owed=True)
        case Compacted():
            return replace(memory, compacted=True, focus=None, overflowed=False)
        case Cleared() | PicturesRefused():
            return replace(memory, overflowed=False)
        case SummaryRequested(focus=focus):
            return replace(memory, focus=focus)
        case SummaryDropped():
            return replace(memory, focus=None)
        case Overflowed():
            return replace(memory, overflowed=True)
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
        case Noticed(running=tuple(commands)):
            return replace(memory, reminded_of=memory.reminded_of | {*commands}, owed=True)
        case Noticed(dismissed=tuple(names)):
            return replace(memory, dismissed=memory.dismissed | {*names}, owed=True)
        case Noticed(quiet=True, roster=roster):
            # This reminder contains no news of the team, so the news still counts as untold.
            return replace(memory, reminded=roster, owed=True)
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
    """Continue in another team: what was said of the old team's members and tasks does not apply there."""
    boxes = (mail(LEAD), box(LEAD, away))
    return replace(
        memory,
        away=away,
        noticed=noticed,
        # Members with the same names there count their ids from the start.
        ids=Seen(),
        cursors={kept: number for kept, number in memory.cursors.items() if kept in boxes},
        requests={id_: request for id_, request in memory.requests.items() if request.asked == USER},
        plans={},
        leaving=frozenset(),
        tasks={},
        read=frozenset(),
        words_known={},
        nudged=frozenset(),
        reported=frozenset(),
        reminded=None,
        dismissed=frozenset(),
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
        steps=memory.steps + 1 if goes_on else 0,
        planless=memory.planless + (memory.work_mode.planning and not goes_on and not memory.wrote),
        wrote=memory.wrote and goes_on,
    )


def _do(memory: Memory, entry: Did) -> Memory:
    call = memory.calls.get(entry.call)
    told = {**memory.tasks, **entry.tasks}
    memory = replace(
        memory,
        calls=_without(memory.calls, entry.call),
        requests=_without(memory.requests, call.request) if call and call.request else memory.requests,
        tasks={task: epoch for task, epoch in told.items() if epoch is not None},
        files={**memory.files, **entry.files} if entry.files else memory.files,
        owed=True,
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
    if answered_plan := _answered_plan(entry, call):
        plans = {planner: plan for planner, plan in memory.plans.items() if plan.id != answered_plan}
        memory = replace(memory, plans=plans)
    if (answered := entry.answered) and answered.request_id in memory.demands:
        stopping = answered.request_id if answered.approve else memory.stopping
        memory = replace(memory, demands=_without(memory.demands, answered.request_id), stopping=stopping)
    return memory


def _answered_plan(entry: Did, call: OpenCall | None) -> str:
    """Return the plan that a call answered. Version 0.1 did not record it, so the call itself is read."""
    if entry.answered:
        return entry.answered.request_id
    if call and call.tool == "SendMessage" and entry.ok and call.arguments.get("type") == "plan_approval_response":
        return str(call.arguments.get("request_id", ""))
    return ""


def _ask(memory: Memory, entry: PermissionAsked) -> Memory:
    asked = memory.calls.get(entry.call)
    # It was asked about already. A second record must not allow a second answer.
    if asked and asked.request:
        return memory
    waiting = _each(memory.calls, (entry.call,), lambda call: replace(call, request=entry.request_id))
    return _open(replace(memory, calls=waiting), OpenRequest(entry.request_id, Shake.PERMISSION, USER))


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
        case PlanResponse() | ShutdownResponse() | PermissionResponse():
            return _answer(memory, envelope, message)
        case PlanRequest(request_id=id_, content=text):
            # A planner has one open plan: a newer one replaces it.
            memory = replace(memory, plans={**memory.plans, sender: ShownPlan(id_, sender, text)})
    if not wakes(message):
        return memory
    if sender in IN_CHARGE:
        memory = replace(memory, interrupted=False, parked=None, steps=0, reminded=None, dismissed=frozenset())
    return replace(memory, owed=True, pressed=memory.pressed or sender == USER)


def _open(memory: Memory, request: OpenRequest) -> Memory:
    """Open a request, and apply answers that were heard before it."""
    early = memory.early.get(request.id, ())
    others = memory.requests
    if request.shake is Shake.PLAN:
        others = {id_: other for id_, other in others.items() if other.shake is not Shake.PLAN}
    requests = {**others, request.id: request}
    memory = replace(memory, requests=requests, early=_without(memory.early, request.id))
    for envelope in early:
        memory = _take_in(memory, envelope)
    return memory


def _answer(
    memory: Memory, envelope: Envelope, message: PlanResponse | ShutdownResponse | PermissionResponse
) -> Memory:
    """Apply a response if it is the one that counts; ignore it otherwise."""
    request = memory.requests.get(message.request_id)
    if request is None and _comes_early(memory, message.request_id):
        early = (*memory.early.get(message.request_id, ()), envelope)
        return replace(memory, early={**memory.early, message.request_id: early})
    if request is None or answer_flaw(request, envelope):
        return memory
    memory = replace(memory, requests=_without(memory.requests, request.id))
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
        case PermissionResponse(approve=approve, content=why):
            asked = tuple(call.id for call in memory.calls.values() if call.request == request.id)
            calls = _each(memory.calls, asked, lambda call: replace(call, allowed=approve, why=why))
            return replace(memory, calls=calls)
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


def _each(
    calls: Mapping[str, OpenCall], ids: tuple[str, ...], change: Callable[[OpenCall], OpenCall]
) -> dict[str, OpenCall]:
    return {id_: change(call) if id_ in ids else call for id_, call in calls.items()}


def _without(mapping: Mapping[K, V], key: K) -> dict[K, V]:
    return {kept: value for kept, value in mapping.items() if kept != key}
