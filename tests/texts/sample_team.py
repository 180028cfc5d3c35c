"""A team at one moment, in records and entries: what notices and summaries in golden files are made of."""

from collections.abc import Iterable, Sequence

from deskmate.core.agent.entries import Call, Did, Entry, Heard, Noticed, Opened, Said, Started, WorkMode
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.notices import taken
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Record
from deskmate.core.prompt.rendering import Numbered
from deskmate.core.team import board_fold, roster_fold
from deskmate.core.team.handshakes import PlanVerdict, Shake
from deskmate.core.team.members import EMPTY as NOBODY
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Envelope, Message, Plain, PlanRequest, ShutdownRequest
from deskmate.core.team.roster_records import (
    Event,
    Joined,
    MemberIdle,
    MemberLeft,
    MemberParked,
    MemberWaiting,
    MemberWorking,
    TeamFounded,
)
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from deskmate.core.team.tasks import BoardEvent, BoardState, Claimed, Completed, Created, Deleted, Released, TaskEdited

FOUNDED = TeamFounded(team="main", at=0)
JOINS = (
    Joined(name="alice", role="backend", at=0),
    Joined(name="bob", role="tests", plan=True, at=0),
    Joined(name="carol", role="docs", at=0),
    Joined(name="dave", role="research", at=0),
    Joined(name="erin", at=0),
    Joined(name="frank", role="frontend", at=0),
    Joined(name="grace", role="release", at=0),
)
JOINED = 1 + len(JOINS)
AFTERWARDS = (
    MemberIdle(name="alice", words="I found the bug in line 7.", only_words=True, at=1),
    MemberIdle(name="alice", words="All tests pass.", peers=("to carol: the schema is final",), at=2),
    MemberWorking(name="bob", plan=PlanVerdict(request_id="bob:3.0", by=USER, approve=False), at=2),
    MemberWaiting(name="bob", on="plan", at=3),
    MemberParked(name="carol", reason="the provider is overloaded", at=3),
    MemberLeft(name="dave", reason="agreed to a shutdown request", agreed=True, at=3),
    MemberIdle(name="erin", held=True, at=3),
    MemberWorking(name="frank", plan=PlanVerdict(request_id="frank:5.0", by=USER, approve=True), at=3),
    MemberParked(name="grace", reason="its records were cut or changed", only_user=True, at=3),
)
WORK = (
    Created(by=LEAD, at=0, task=1, subject="Write the schema"),
    Created(by=LEAD, at=0, task=2, subject="Write the resolvers", verify="make test", blocked_by=frozenset({1})),
    Created(by=LEAD, at=0, task=3, subject="Read about subscriptions", role="research"),
    Created(by=LEAD, at=0, task=4, subject="Describe the service"),
    Created(by=LEAD, at=0, task=5, subject="Remove the REST routes"),
    Created(by=LEAD, at=0, task=6, subject="Check the result"),
)
CREATED = len(WORK)
DONE = (
    Claimed(by="alice", at=1, task=1, epoch=0),
    Completed(by="alice", at=2, task=1, epoch=1),
    Claimed(by="alice", at=2, task=2, epoch=0),
    TaskEdited(by="carol", at=2, task=2, description="One for each type.\nUse the loaders."),
    Deleted(by=USER, at=3, task=5),
    Claimed(by=LEAD, at=3, task=6, epoch=0),
)


def roster_of(*events: Event) -> RosterState:
    """Return the roster after these events."""
    return roster_fold.fold(NOBODY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


def board_of(*events: BoardEvent) -> BoardState:
    """Return the board after these events, which must all count."""
    board = board_fold.fold(NO_TASKS, [Record(number, event.body()) for number, event in enumerate(events, 1)])
    assert board.skipped == ()
    return board


TEAM = roster_of(FOUNDED, *JOINS, *AFTERWARDS)
BOARD = board_of(*WORK, *DONE)
LOST = board_of(
    *WORK,
    *DONE,
    Released(by="alice", at=4, task=2, epoch=1),
    Claimed(by="erin", at=4, task=4, epoch=0),
)


def remembered(entries: Iterable[Numbered]) -> Memory:
    """Return what an agent with this transcript remembers."""
    memory = EMPTY
    for number, entry in entries:
        memory = remember(memory, number, entry)
    return memory


def numbered(*entries: Entry) -> list[Numbered]:
    """Return entries with their numbers in a transcript."""
    return list(enumerate(entries, start=1))


def heard(name: str, after: int, *mail: tuple[str, Message]) -> Heard:
    """Return that an agent heard mail, each with its sender."""
    bodies = [Envelope(f"m{after}.{place}", by, name, 0.0, one).body() for place, (by, one) in enumerate(mail)]
    return Heard(box=f"mail/{name}", after=after, upto=after + len(mail), mail=tuple(bodies))


def _lead() -> list[Entry]:
    stop = Call(tool="SendMessage", arguments={"type": "shutdown_request", "recipient": "carol"})
    plan = PlanRequest(request_id="bob:7.0", content="I test the schema first, then the resolvers.")
    return [
        Started(name=LEAD),
        heard(LEAD, 0, (USER, Plain(content="Move the service from REST to GraphQL."))),
        Noticed(text="", work_mode=WorkMode(delegating=True, attended=True, barred=())),
        heard(LEAD, 1, ("bob", plan)),
        Said(calls=(stop,)),
        Did(call="lead:5.0", text="", opened=Opened(request_id="lead:5.0", shake=Shake.SHUTDOWN, asked="carol")),
        Did(call="lead:5.1", text="", files={"src/app.py": "d", "README.md": "d"}, background="b000001"),
        Said(text="I wait."),
        heard(
            LEAD, 2, (USER, Plain(content="Keep the old routes for a week.")), ("alice", Plain(content="Which port?"))
        ),
    ]


def _teammate() -> list[Entry]:
    task = BOARD.tasks[2]
    return [
        Started(name="alice", prompt="Own the service."),
        Noticed(text="", work_mode=WorkMode(attended=False, barred=("write_file",))),
        taken(task, BOARD.number),
        Said(text="I begin."),
        heard("alice", 0, (LEAD, ShutdownRequest(request_id="lead:9.0", content="We are done."))),
        Noticed(text="hank (loaders) joined the team.", roster=TEAM.number, board=BOARD.number),
    ]


def _planner() -> list[Entry]:
    plan = Call(tool="ExitPlanMode", arguments={"plan": "I test the schema first."})
    return [
        Started(name="bob", prompt="Own the tests.", planning=True),
        Said(calls=(plan,)),
        Did(call="bob:2.0", text="", opened=Opened(request_id="bob:2.0", shake=Shake.PLAN, asked=LEAD)),
        Said(text="My plan is submitted."),
    ]


TRANSCRIPTS: dict[str, Sequence[Entry]] = {"lead": _lead(), "teammate": _teammate(), "planner": _planner()}
