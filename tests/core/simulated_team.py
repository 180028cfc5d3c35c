"""A whole team in values: one agent that decides and does, and an outside that writes, works and kills.

It stands in for the runtime in tests of `decide`: every action is carried out as the runtime would, by entries
and events alone, so that thousands of lives can be played in seconds.
"""

import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any, assert_never

from deskmate.core.agent.actions import (
    Act,
    Action,
    Agree,
    Ask,
    CheckGoal,
    Compact,
    Dismiss,
    EndRun,
    Notice,
    Nudge,
    Park,
    Permit,
    RemindOfCommands,
    RemindOfTeam,
    Report,
    Reread,
    Rest,
    RunHooks,
    SeeOff,
    Settle,
    Stop,
    Take,
    Think,
)
from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Answered,
    Began,
    Call,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Noticed,
    Nudged,
    Opened,
    PermissionAsked,
    Reported,
    Said,
    Started,
    Took,
    WorkMode,
    read_entry,
)
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.notices import changes_text, taken
from deskmate.core.agent.rules.decide import WORDS, decide
from deskmate.core.agent.rules.end_of_run import end_of_run
from deskmate.core.agent.rules.goal_rules import goal_check
from deskmate.core.agent.view import View
from deskmate.core.goals import round_of
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Damaged, Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.team import board_fold, members, roster_fold, roster_records, tasks
from deskmate.core.team.board_rules import refusal
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Envelope,
    Interrupt,
    Message,
    PermissionResponse,
    Plain,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
)
from deskmate.core.team.tasks import Assigned, Claimed, Completed, Created, Deleted, Released, TaskEdited

TOOLS = ("bash", "read_file", "write_file", "TaskList", "SendMessage", "Task", "ExitPlanMode", "no_such_tool")


@dataclass
class SimulatedTeam:
    """One agent, `me`, and all around it."""

    me: str
    planning: bool = False
    entries: list[tuple[int, Entry]] = field(default_factory=list)
    memory: Memory = EMPTY
    board: tasks.BoardState = tasks.EMPTY
    roster: members.RosterState = members.EMPTY
    letters: int = 0
    waited: dict[str, float] = field(default_factory=dict)
    over: str | None = None
    caps: str = "caps"
    full: bool = False
    stopped: bool = False
    damage: int = 0
    ends_at_rest: bool = False
    seconds_left: float = math.inf
    checks: deque[tuple[str, bool]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.note(roster_records.TeamFounded(team="t", at=0))
        for name in ("alice", "bob", "carol"):
            self.note(roster_records.Joined(name=name, at=0))
        # A lead begins before anyone joins.
        roster = None if self.me == LEAD else self.roster.number
        self.record(Started(name=self.me, prompt="begin", planning=self.planning, roster=roster))

    # -- the four streams ---------------------------------------------------------------------------

    def record(self, entry: Entry) -> None:
        number = self.memory.number + 1
        self.entries.append((number, entry))
        self.memory = remember(self.memory, number, entry)

    def note(self, event: Fact) -> None:
        self.roster = roster_fold.fold(self.roster, [Record(self.roster.number + 1, event.body())])

    def post(self, event: tasks.BoardEvent) -> bool:
        if refusal(self.board, event):
            return False
        self.board = board_fold.fold(self.board, [Record(self.board.number + 1, event.body())])
        return True

    def mail(self, sender: str, message: Message) -> None:
        self.letters += 1
        body = Envelope(f"m{self.letters}", sender, self.me, 0.0, message).body()
        self.record(Heard(box=f"mail/{self.me}", after=self.letters - 1, upto=self.letters, mail=(body,)))

    # -- the agent ------------------------------------------------------------------------------------

    @property
    def view(self) -> View:
        return View(
            me=self.roster.members[self.me],
            memory=self.memory,
            board=self.board,
            roster=self.roster,
            waited=self.waited,
            over=self.over,
            caps=self.caps,
            full=self.full,
            time_is_up=self.seconds_left <= 0,
            ends_at_rest=self.ends_at_rest,
        )

    def reload(self) -> None:
        """Die and come back: all that is left is what was written."""
        memory = EMPTY
        for number, entry in self.entries:
            again = read_entry(entry.body())
            assert not isinstance(again, Foreign)
            memory = remember(memory, number, again)
        self.memory = memory
        self.waited.clear()

    def step(self, rng: random.Random | None = None) -> Action:
        """Decide once and do it; without `rng` everything succeeds and the model answers in text alone."""
        action = decide(self.view)
        if isinstance(action, Rest):
            end = end_of_run(self.view, action, self.seconds_left) if self.ends_at_rest else action
            action = goal_check(self.view, action) or end
        match action:
            case Stop(reason=reason, agreed=agreed):
                self.note(roster_records.MemberLeft(name=self.me, reason=reason, agreed=agreed, at=0))
                self.stopped = True
            case Act(calls=calls):
                self._act(calls, rng)
            case Settle(calls=calls, text=text):
                for call in calls:
                    self.record(Did(call=call, text=text, ok=False))
            case Ask(call=call):
                self.record(PermissionAsked(call=call, request_id=call))
            case Agree(request_id=request_id):
                self.record(Agreed(request_id=request_id))
            case Park(reason=reason):
                self.record(AgentParked(reason=reason, caps=self.caps))
            case Compact():
                self.record(Compacted(upto=self.memory.number, summary="so far"))
                self.full = self.full and rng is None
            case Think():
                self.record(self._said(rng))
            case Notice(work_mode=WorkMode() as work_mode, closed=closed):
                self.record(Noticed(text="mode", work_mode=work_mode, closed=closed))
            case Permit(mode=mode):
                self.note(roster_records.PolicySet(by=USER, at=0, member=self.me, mode=mode))
            case Notice(lost=lost):
                self.record(Noticed(text="news", tasks=lost, roster=self.roster.number, board=self.board.number))
            case Take(task=task):
                self._take(task)
            case Reread(task=task):
                found = self.board.tasks[task]
                self.record(taken(found, self.board.number, changes_text(found, self.me, self.memory)))
            case Nudge(task=task):
                self.record(Nudged(task=task, epoch=self._epoch(task)))
            case Report(task=task):
                self.record(Reported(task=task, epoch=self._epoch(task)))
            case RemindOfCommands():
                self.record(Noticed(text="running", running=tuple(self.memory.background)))
            case RemindOfTeam(roster=roster, board=board):
                self.record(Noticed(text="quiet", roster=roster, board=board, quiet=True))
            case Dismiss(members=dismissed):
                self.record(Noticed(text="dismissed", dismissed=dismissed))
            case SeeOff():
                for member in self.roster.teammates:
                    self.note(roster_records.MemberLeft(name=member.name, agreed=True, at=0))
            case CheckGoal():
                assert self.memory.goal is not None
                mark, met = self.checks.popleft()
                self.record(Noticed(text="checked", goal=round_of(self.memory.goal, mark, met=met)))
            case Rest() | EndRun() | RunHooks():
                pass
            case unreachable:
                assert_never(unreachable)
        return action

    def _epoch(self, task: int) -> int:
        return self.board.tasks[task].epoch if task else self.memory.plan_round

    def _act(self, calls: tuple[str, ...], rng: random.Random | None) -> None:
        if any(not self.memory.calls[call].began for call in calls):
            self.record(Began(calls=calls))
        if rng and rng.random() < 0.2:
            return  # killed while they ran
        for call in calls:
            self.record(self._did(call, rng))

    def _did(self, call: str, rng: random.Random | None) -> Did:
        tool = self.memory.calls[call].tool
        if rng and tool == "ExitPlanMode":
            return Did(call=call, text="submitted", opened=Opened(request_id=call, shake=Shake.PLAN, asked=LEAD))
        if rng and tool == "SendMessage" and self.memory.demands:
            request = next(iter(self.memory.demands))
            return Did(call=call, text="answered", answered=Answered(request_id=request, approve=rng.random() < 0.5))
        if rng and tool == "SendMessage" and self.me == LEAD:
            return Did(call=call, text="asked", opened=Opened(request_id=call, shake=Shake.SHUTDOWN, asked="bob"))
        if rng and tool == "Task":
            return Did(call=call, text="started", background=f"b{call}")
        return Did(call=call, text="done")

    def _said(self, rng: random.Random | None) -> Said:
        if rng is None or rng.random() < 0.4:
            return Said(text="words")
        wanted = [Call(tool=rng.choice(TOOLS), arguments={}) for _ in range(rng.randint(1, 4))]
        return Said(text="words", calls=tuple(wanted), unfinished=rng.random() < 0.1)

    def _take(self, id_: int) -> None:
        task = self.board.tasks[id_]
        if task.status is tasks.TaskStatus.PENDING:
            assert self.post(Claimed(by=self.me, at=0, task=id_, epoch=task.epoch)), (
                "decide took what cannot be claimed"
            )
        epoch = self.board.tasks[id_].epoch
        self.record(Took(task=id_, epoch=epoch, text=task.subject, created_by=LEAD, board=self.board.number))

    # -- the outside ----------------------------------------------------------------------------------

    def disturb(self, rng: random.Random) -> None:
        """Let something happen outside."""
        rng.choice((self._write, self._answer, self._work, self._status, self._limits, self._break))(rng)

    def _write(self, rng: random.Random) -> None:
        sender = rng.choice((USER, LEAD, "bob", "carol"))
        if sender == self.me:
            return
        ask = ShutdownRequest(request_id=f"stop{self.letters}")
        self.mail(sender, rng.choice((Plain(content="words"), Plain(content="words"), Interrupt(), ask)))

    def _answer(self, rng: random.Random) -> None:
        if not self.memory.requests:
            return
        request = rng.choice(list(self.memory.requests.values()))
        kind = rng.choice((PlanResponse, ShutdownResponse, PermissionResponse))
        self.mail(rng.choice((USER, LEAD, "bob")), kind(request_id=request.id, approve=rng.random() < 0.5))

    def _work(self, rng: random.Random) -> None:
        by = rng.choice((LEAD, USER, "bob", "carol", self.me))
        known = list(self.board.tasks) or [1]
        id_ = rng.choice(known)
        epoch = self.board.tasks[id_].epoch if id_ in self.board.tasks else 0
        self.post(
            rng.choice(
                (
                    Created(by=by, at=0, task=self.board.next_id, subject="s", blocked_by=frozenset(known[-1:])),
                    Created(by=by, at=0, task=self.board.next_id, subject="s"),
                    Claimed(by=rng.choice(("bob", "carol")), at=0, task=id_, epoch=epoch),
                    Assigned(by=LEAD, at=0, task=id_, owner=rng.choice((self.me, "bob")), epoch=epoch),
                    Released(by=by, at=0, task=id_, epoch=epoch),
                    Completed(by=by, at=0, task=id_, epoch=epoch),
                    Deleted(by=by, at=0, task=id_),
                    TaskEdited(by=by, at=0, task=id_, description=f"as of {self.board.number}"),
                )
            )
        )

    def _status(self, rng: random.Random) -> None:
        name = rng.choice(("bob", "carol"))
        self.note(
            rng.choice(
                (
                    roster_records.MemberWorking(name=name, at=0),
                    roster_records.MemberIdle(name=name, at=0, only_words=rng.random() < 0.3),
                    roster_records.MemberWaiting(name=name, at=0, on="permission"),
                    roster_records.MemberParked(name=name, at=0, reason="r"),
                    roster_records.MemberLeft(name=name, at=0, agreed=rng.random() < 0.5)
                    if rng.random() < 0.1
                    else roster_records.MemberIdle(name=name, at=0),
                    roster_records.Joined(name=f"m{self.roster.number}", at=0),
                    roster_records.PolicySet(by=USER, at=0, attended=rng.random() < 0.5),
                    roster_records.PolicySet(
                        by=USER, at=0, mode=rng.choice((Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.DONT_ASK, Mode.BYPASS))
                    ),
                    roster_records.PolicySet(by=USER, at=0, member=self.me, mode=rng.choice((Mode.DEFAULT, Mode.PLAN))),
                    roster_records.PolicySet(by=USER, at=0, delegate=rng.random() < 0.5),
                )
            )
        )
        for background in list(self.memory.background)[:1]:
            self.record(Ended(background=background, status="done"))

    def _limits(self, rng: random.Random) -> None:
        self.over = rng.choice((None, None, "money"))
        self.caps = rng.choice(("caps", "more"))
        self.full = rng.random() < 0.2
        self.waited[WORDS] = rng.choice((0.0, 3.0))

    def _break(self, rng: random.Random) -> None:
        self.damage += 1
        if rng.random() < 0.9:
            self.reload()
        elif self.damage < 3:
            lost = Damaged(self.board.number + 1, "lost", "board.jsonl:1", "no record")
            self.board = board_fold.fold(self.board, [lost])


def idle(me: str = "alice", *, planning: bool = False) -> SimulatedTeam:
    """Return a world in which the agent has answered its prompt and has nothing to do."""
    world = SimulatedTeam(me, planning=planning)
    world.note(roster_records.PolicySet(by=USER, at=0, attended=True))
    world.record(Said(text="ready"))
    return world


def says(world: SimulatedTeam, *tools: str) -> list[str]:
    """Let the model ask for these tools; return the ids of the calls."""
    world.record(Said(calls=tuple(Call(tool=tool, arguments={}) for tool in tools)))
    return list(world.memory.calls)


def add_task(world: SimulatedTeam, **fields: Any) -> int:
    id_ = world.board.next_id
    assert world.post(Created(by=LEAD, at=0, task=id_, subject="s", **fields))
    return id_
