"""Make the golden files of version 1: one line of every kind that a team leaves on disk, and damage of each sort.

Run by hand from the top of the repository, only to begin a version of the format:

    python -m tests.formats.make

The same bytes come out every time. Once a version is released its folder is never made again: whoever changes a
format adds a folder beside it and keeps reading this one.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Answered,
    Began,
    Call,
    Cleared,
    Compacted,
    Did,
    Ended,
    Heard,
    Noticed,
    Nudged,
    Opened,
    PermissionAsked,
    Reported,
    Said,
    Started,
    Took,
)
from deskmate.core.log.facts import Fact
from deskmate.core.log.records import encode
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team import board_fold, members, roster_fold, roster_records, tasks
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    Message,
    PermissionRequest,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
)
from deskmate.core.team.spending import Spent
from deskmate.core.team.tasks import Assigned, Claimed, Completed, Created, Deleted, Receipt, Released, TaskEdited
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.line_format import Position, items, seal

HERE = Path(__file__).parent / "v1"
RUN = "5eed5eed5eed5eed"
T = 1_700_000_000.0
F = TypeVar("F", bound=Fact)

# A line is a fact, an envelope, a record of a kind nobody knows yet, or bytes that are no record.
Line = Fact | Envelope | dict[str, Any] | bytes


def and_more(fact: F, **unknown: Any) -> F:
    """Return a fact with fields that this version does not know."""
    return type(fact).model_validate({**fact.body(), **unknown})


def envelope(id_: str, sender: str, recipient: str, message: Message) -> Envelope:
    return Envelope(id_, sender, recipient, T + 0.25, message)


ROSTER: list[Line] = [
    roster_records.TeamFounded(team="demo", description="REST → GraphQL", home="main", at=T),
    roster_records.Joined(
        name="alice",
        agent_type=AgentType.GENERAL,
        role="backend",
        prompt="Write the schema.\nAsk if unsure.",
        model="scripted:one",
        mode=Mode.PLAN,
        launcher="process",
        isolation="worktree",
        at=T + 1,
        cause="lead:3.0",
    ),
    roster_records.Joined(name="bob", agent_type=AgentType.EXPLORE, at=T + 2),
    roster_records.MemberWorking(name="alice", at=T + 3),
    roster_records.MemberIdle(
        name="alice", words="größer 漢字", peers=("to bob: schema final",), only_words=True, heard=2, at=T + 4
    ),
    roster_records.MemberWaiting(name="alice", on="plan", heard=2, at=T + 5),
    b'{"type":"member_working","name":"al <torn>',
    {"type": "member_promoted", "name": "bob", "to": ["captain", None]},
    and_more(roster_records.MemberParked(name="bob", reason="over budget", heard=1, at=T + 8), mood={"calm": None}),
    roster_records.MemberLeft(name="bob", reason="forced", agreed=True, heard=1, at=T + 9),
    roster_records.PolicySet(
        by="user", mode=Mode.ACCEPT_EDITS, add_rules=("allow bash(git *)", "deny bash"), attended=True, at=T + 10
    ),
    roster_records.PolicySet(by="lead", member="alice", mode=Mode.DONT_ASK, remove_rules=("deny bash",), at=T + 11),
    b'{"type":"member_working","name":"alice","at":1700000012.0,"run":"x","ord":13,"n":13,"crc":"00000000"}',
    roster_records.RosterLossAccepted(by="user", number=13, at=T + 13),
]

RECEIPT = Receipt(command="make test", workspace="/repo", commit="0123abc", exit=0, output="3 passed\n")
BOARD: list[Line] = [
    Created(
        by="lead",
        at=T,
        task=1,
        subject="schema: größer 漢字",
        description="All types.",
        active_form="writing the schema",
        role="backend",
        verify="make test",
    ),
    Created(by="lead", at=T + 1, cause="lead:3.1", task=2, subject="resolvers", blocked_by=frozenset({1})),
    Created(by="user", at=T + 2, task=3, subject="docs", owner="bob"),
    Created(by="alice", at=T + 3, task=4, subject="old"),
    TaskEdited(
        by="lead",
        at=T + 4,
        task=2,
        subject="the resolvers",
        description="all of them",
        active_form="resolving",
        role="backend",
        verify="make lint",
        add_blocked_by=frozenset({4}),
        remove_blocked_by=frozenset({1}),
        add_blocks=frozenset({3}),
    ),
    Claimed(by="alice", at=T + 5, task=1, epoch=0),
    Released(by="alice", at=T + 6, task=1, epoch=1, note="types are there, tests are not"),
    Assigned(by="lead", at=T + 7, task=1, owner="alice", epoch=2),
    Claimed(by="alice", at=T + 8, task=1, epoch=3),
    Completed(by="alice", at=T + 9, task=1, epoch=3, receipt=RECEIPT),
    b'{"type":"task_created","by":"lead","a <torn>',
    {"type": "task_estimated", "by": "lead", "at": T + 11, "task": 2, "days": 2.5},
    and_more(Deleted(by="user", at=T + 12, task=4), why="obsolete", was=None),
    b"not a record at all",
    tasks.BoardLossAccepted(by="user", at=T + 14, number=14),
]

PLAIN = envelope(
    "bob:0f",
    "bob",
    "alice",
    and_more(
        Plain(content='one\ntwo\u2028"three" </teammate-message>', summary="three words"), thread=[1, {"a": None}]
    ),
)
PLAN_YES = envelope("lead:5.0", "lead", "alice", PlanResponse(request_id="alice:2.0", approve=True, content="go on"))
ALLOWED = envelope("user:1", "user", "alice", PermissionResponse(request_id="alice:9.0", approve=True, content="ok"))
STOP = envelope("lead:9.0", "lead", "alice", ShutdownRequest(request_id="lead:9.0", content="we are done"))
CUT = envelope("user:2", "user", "alice", Interrupt(content="wait"))
BACK = envelope(
    "undeliverable/alice:9.1/bob",
    "bob",
    "alice",
    Undeliverable(
        reason="'bob' left before hearing it",
        original=envelope("alice:9.1/bob", "alice", "bob", Broadcast(content="v1 is gone")).body(),
    ),
)
MAIL: dict[str, list[Line]] = {
    "alice": [
        PLAIN,
        PLAN_YES,
        b'{"type":"message","sender":"bob","content":"ha <torn>',
        envelope("lead:6.0/alice", "lead", "alice", Broadcast(content="stop using v1", summary="v1 is gone")),
        {"type": "telegram", "sender": "bob", "recipient": "alice", "content": "STOP", "timestamp": T, "id": "bob:1f"},
        ALLOWED,
        STOP,
        CUT,
        BACK,
        b'{"type":"message","sender":"lead"}',
    ],
    "lead": [
        envelope("alice:2.0", "alice", "lead", PlanRequest(request_id="alice:2.0", content="1. types\n2. tests")),
        envelope(
            "alice:9.2", "alice", "lead", ShutdownResponse(request_id="lead:9.0", approve=False, content="still on #1")
        ),
    ],
    "user": [
        envelope(
            "alice:9.0",
            "alice",
            "user",
            PermissionRequest(
                request_id="alice:9.0", tool="bash", arguments={"command": "make", "timeout": None}, reason="runs"
            ),
        )
    ],
}

TRANSCRIPT: list[Line] = [
    Started(name="alice", prompt="Write the schema.", planning=True, made_of={"members": ["lead"], "agents_md": None}),
    Said(
        text="Here is my plan.",
        calls=(Call(tool="ExitPlanMode", arguments={"plan": "1. types\n2. tests"}),),
        blocks=({"type": "thinking", "thinking": "hm", "signature": "s"},),
        usage={"input": 12, "output": 5, "cost": 0.25},
    ),
    Began(calls=("alice:2.0",)),
    Did(
        call="alice:2.0",
        text="submitted",
        opened=Opened(request_id="alice:2.0", shake=Shake.PLAN, asked="lead"),
    ),
    Heard(
        box="mail/alice",
        after=0,
        upto=3,
        mail=(PLAIN.body(), PLAN_YES.body()),
        damage=("record 3: never finished",),
    ),
    b'{"type":"said","text":"I will <torn>',
    {"type": "dreamt", "of": ["sheep"]},
    Took(task=1, epoch=3, text="#1 schema: größer 漢字"),
    Said(
        calls=(
            Call(tool="bash", arguments={"command": "make", "timeout": None}, flaw="no JSON object"),
            Call(tool="SendMessage", arguments={"type": "broadcast", "content": "v1 is gone"}),
        ),
        unfinished=True,
    ),
    PermissionAsked(call="alice:9.0", request_id="alice:9.0"),
    Heard(box="mail/alice", after=3, upto=9, mail=(ALLOWED.body(), STOP.body(), CUT.body())),
    Began(calls=("alice:9.0", "alice:9.1"), fixed={"alice:9.1": ["lead", "bob"]}),
    Did(
        call="alice:9.0",
        text="started b00c0de",
        shown="--- a\n+++ b",
        images=({"media_type": "image/png", "blob": ".teams/demo/blobs/alice-9-0.png"},),
        files={"src/a.py": "0123456789abcdef"},
        background="b00c0de",
    ),
    Did(
        call="alice:9.1",
        text="nobody was reached",
        ok=False,
        answered=Answered(request_id="lead:9.0", approve=False),
        tasks={1: None, 2: 1},
    ),
    Noticed(text="#2 is no longer yours", roster=8, board=9, tasks=(2,)),
    Nudged(task=1, epoch=3, text="#1 is still yours"),
    Reported(task=1, epoch=3),
    Ended(background="b00c0de", status="exit 0", text="ok", blob="blobs/b00c0de.txt"),
    Compacted(upto=10, summary="The schema stands."),
    Cleared(upto=12),
    and_more(AgentParked(reason="over budget", caps="5 USD"), until=None, since=[T]),
    Agreed(request_id="user:5"),
]
SUBAGENT: list[Line] = [Started(name="lead:4.0", prompt="Find all callers of v1.")]
SEAT = "process 4711 on desk\n"


def body_of(line: Fact | Envelope | dict[str, Any] | bytes, number: int) -> dict[str, Any]:
    """Return the record's body as it is read back."""
    assert not isinstance(line, bytes)
    body = line if isinstance(line, dict) else line.body()
    return {**body, "run": RUN, "ord": number}


def file_of(stream: Sequence[Line]) -> bytes:
    lines = [
        line + b"\n" if isinstance(line, bytes) else seal(encode(body_of(line, number)), number)
        for number, line in enumerate(stream, start=1)
    ]
    return b"".join(lines)


SPEND: list[Line] = [
    Spent(
        member="alice",
        model="anthropic:claude-sonnet-4-5",
        input=12,
        output=5,
        cache_read=900,
        cache_write=80,
        cost=0.25,
        at=T,
    ),
    and_more(Spent(member="lead:4.0", model="openai:llama3.1", at=T), seconds=1.5),
    {"type": "refunded", "cost": 0.25},
]

STREAMS: dict[str, tuple[str, list[Line]]] = {
    "roster": ("teams/demo/roster.jsonl", ROSTER),
    "board": ("tasks/demo/board.jsonl", BOARD),
    "spend": ("teams/demo/spend.jsonl", SPEND),
    "log/alice": ("teams/demo/alice_transcript.jsonl", TRANSCRIPT),
    "log/lead:4.0": ("teams/demo/subagents/lead-4.0_transcript.jsonl", SUBAGENT),
    **{f"mail/{name}": (f"teams/demo/{name}_inbox.jsonl", mail) for name, mail in MAIL.items()},
}


def files() -> dict[str, bytes]:
    """Return every golden file: its path below the version's folder, and its bytes."""
    streams = {path: file_of(stream) for path, stream in STREAMS.values()}
    return {**streams, **projections(streams), "teams/demo/lead.seat": SEAT.encode()}


def projections(streams: dict[str, bytes]) -> dict[str, bytes]:
    """Return the readable copies that today's code makes of roster and board."""
    roster = roster_fold.fold(members.EMPTY, items(Position(), streams["teams/demo/roster.jsonl"], 0, "roster.jsonl"))
    board = board_fold.fold(tasks.EMPTY, items(Position(), streams["tasks/demo/board.jsonl"], 0, "board.jsonl"))
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore.open(Path(folder), "demo", create=True)
        store.projections().write(roster, board)
        store.close()
        written = sorted(Path(folder).glob(".t*/demo/*.json"))
        return {str(path.relative_to(folder)).removeprefix("."): path.read_bytes() for path in written}


def main() -> None:
    for path, data in files().items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(data)


if __name__ == "__main__":
    main()
