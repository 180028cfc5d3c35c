"""Make the golden files of version 0.2: every kind of record, with every field that this version knows.

Run by hand from the top of the repository, only until 0.2.0 is released:

    python -m tests.formats.make_v2

After that its folder is never made again. The files of version 0.1 have every sort of damage and unknown kinds.
"""

from pathlib import Path

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
    WorkMode,
)
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team import roster_records, tasks
from deskmate.core.team.caps import CapsSet
from deskmate.core.team.handshakes import PlanVerdict, Shake
from deskmate.core.team.messages import (
    Broadcast,
    Interrupt,
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
from tests.formats.make import Line, T, envelope, file_of, projections

HERE = Path(__file__).parent / "v2"
LOST = b"not a record at all"
VERDICT = PlanVerdict(request_id="alice:2.0", by="lead", approve=True, accept_edits=True)
CAPS = CapsSet(cost=5.0, tokens=1_000_000, seconds=600.0, members=4, steps=50)
WORK_MODE = WorkMode(planning=True, delegating=True, attended=False, barred=("bash",))

ROSTER: list[Line] = [
    roster_records.TeamFounded(team="demo", description="Make the tests pass", home="main", at=T),
    roster_records.PolicySet(by="lead", mode=Mode.DEFAULT, attended=True, sandbox="bubblewrap", at=T + 1),
    roster_records.Joined(
        name="alice",
        role="backend",
        prompt="Write the schema.",
        model="scripted:one",
        mode=Mode.ACCEPT_EDITS,
        plan=True,
        launcher="process",
        isolation="worktree",
        at=T + 2,
        cause="lead:3.0",
    ),
    roster_records.Joined(name="前端", agent_type=AgentType.PLAN, plan=True, at=T + 3),
    roster_records.MemberWorking(name="alice", plans=True, at=T + 4),
    roster_records.MemberIdle(name="alice", words="I plan first.", plans=True, heard=1, at=T + 5),
    roster_records.MemberWaiting(name="alice", on="plan", plans=True, heard=1, at=T + 6),
    roster_records.MemberWorking(name="alice", plan=VERDICT, at=T + 7),
    roster_records.MemberIdle(
        name="alice",
        words="Half of it is done.",
        peers=("to 前端: schema final",),
        only_words=True,
        rests_on=((1, 1),),
        held=True,
        heard=2,
        at=T + 8,
    ),
    roster_records.MemberParked(
        name="前端", reason="budget: 5 USD", plans=True, heard=1, known=3, only_user=True, at=T + 9
    ),
    LOST,
    roster_records.RosterLossAccepted(number=11, at=T + 11),
    roster_records.PolicySet(by="user", delegate=True, caps=CAPS, at=T + 12),
    roster_records.PolicySet(by="user", add_rules=("allow bash(make *)", "deny bash"), at=T + 13),
    roster_records.PolicySet(by="user", member="alice", mode=Mode.PLAN, remove_rules=("deny bash",), at=T + 14),
    roster_records.MemberLeft(name="前端", reason="agreed to a shutdown request", agreed=True, heard=4, at=T + 15),
]

RECEIPT = Receipt(command="make test", workspace="/repo", commit="0123abc", clean=True, exit=0, output="3 passed\n")
BOARD: list[Line] = [
    Created(
        by="lead",
        at=T,
        cause="lead:3.1",
        task=1,
        subject="Write the schema",
        description="All types.",
        active_form="Writing the schema",
        role="backend",
        verify="make test",
    ),
    Created(by="user", at=T + 1, task=2, subject="Write the page", owner="前端", blocked_by=frozenset({1})),
    Created(by="前端", at=T + 2, task=3, subject="Sweep"),
    TaskEdited(
        by="lead",
        at=T + 3,
        cause="lead:5.0",
        task=2,
        subject="Write the first page",
        description="One request.",
        active_form="Writing the page",
        role="frontend",
        verify="make lint",
        add_blocked_by=frozenset({3}),
        remove_blocked_by=frozenset({1}),
    ),
    TaskEdited(by="user", at=T + 4, task=1, add_blocks=frozenset({2})),
    Claimed(by="alice", at=T + 5, cause="alice:8.0", task=1, epoch=0),
    Released(by="alice", at=T + 6, cause="alice:8.1", task=1, epoch=1, note="types are there, tests are not"),
    Assigned(by="lead", at=T + 7, cause="lead:7.0", task=1, owner="alice", epoch=2),
    Claimed(by="alice", at=T + 8, task=1, epoch=3),
    Completed(by="alice", at=T + 9, cause="alice:9.0", task=1, epoch=3, receipt=RECEIPT),
    Deleted(by="lead", at=T + 10, cause="lead:9.0", task=3),
    LOST,
    tasks.BoardLossAccepted(by="user", at=T + 12, number=12),
]

PLAN = envelope("alice:2.0", "alice", "lead", PlanRequest(request_id="alice:2.0", content="1. types\n2. tests"))
PLAN_YES = envelope(
    "lead:5.1",
    "lead",
    "alice",
    PlanResponse(request_id="alice:2.0", approve=True, accept_edits=True, content="go on"),
)
FINAL = envelope("前端:4.0", "前端", "alice", Plain(content="The schema is final.", summary="schema final"))
GONE = envelope("lead:6.0/alice", "lead", "alice", Broadcast(content="v1 is gone", summary="v1 is gone"))
ALLOWED = envelope("user:1", "user", "alice", PermissionResponse(request_id="alice:8.0", approve=True, content="ok"))
WAIT = envelope("user:2", "user", "alice", Interrupt(content="wait"))
STOP = envelope("lead:9.1", "lead", "alice", ShutdownRequest(request_id="lead:9.1", content="we are done", force=True))
BACK = envelope(
    "undeliverable/alice:8.1/前端",
    "前端",
    "alice",
    Undeliverable(
        reason="'前端' left before hearing it",
        original=envelope("alice:8.1/前端", "alice", "前端", Plain(content="are you there?")).body(),
    ),
)
AGREES = envelope("alice:9.2", "alice", "lead", ShutdownResponse(request_id="lead:9.1", approve=True, content="bye"))
MAY_I = envelope(
    "alice:8.0",
    "alice",
    "user",
    PermissionRequest(
        request_id="alice:8.0",
        tool="bash",
        arguments={"command": "make", "timeout": None},
        reason="runs",
        rule="allow bash(make *)",
    ),
)
HELLO = envelope("user:0", "user", "lead", Plain(content="Make the tests pass", summary="Make the tests pass"))
MAIL: dict[str, list[Line]] = {
    "alice": [FINAL, PLAN_YES, GONE, ALLOWED, WAIT, STOP, BACK],
    "lead": [HELLO, PLAN, AGREES],
    "user": [MAY_I],
}

ALICE: list[Line] = [
    Started(name="alice", prompt="Write the schema.", planning=True, roster=3, made_of={"members": ["lead"]}),
    Said(
        text="Here is my plan.",
        calls=(Call(tool="ExitPlanMode", arguments={"plan": "1. types\n2. tests"}),),
        blocks=({"type": "thinking", "thinking": "hm", "signature": "s"},),
        usage={"input": 12, "output": 5, "cost": 0.25},
    ),
    Began(calls=("alice:2.0",)),
    Did(call="alice:2.0", text="sent", opened=Opened(request_id="alice:2.0", shake=Shake.PLAN, asked="lead")),
    Heard(box="mail/alice", after=0, upto=2, mail=(FINAL.body(), PLAN_YES.body()), damage=("record 3: lost",)),
    Noticed(
        text="You may edit files now.",
        work_mode=WorkMode(attended=True, barred=("bash",)),
        closed=("alice:1.0",),
    ),
    Took(
        task=1,
        epoch=1,
        text="#1 Write the schema",
        created_by="lead",
        edited_by=("user",),
        notes=({"by": "alice", "text": "types are there"},),
        board=6,
        changes="user changed the task.",
    ),
    Said(
        text="I run the te",
        calls=(
            Call(tool="bash", arguments={"command": "make", "timeout": None}, redacted=True),
            Call(tool="SendMessage", arguments={}, flaw="no JSON object"),
        ),
        unfinished=True,
        stopped=True,
    ),
    PermissionAsked(call="alice:8.0", request_id="alice:8.0"),
    Heard(box="mail/alice", after=2, upto=5, mail=(GONE.body(), ALLOWED.body(), WAIT.body())),
    Began(calls=("alice:8.0", "alice:8.1"), fixed={"alice:8.1": ["lead"]}),
    Did(
        call="alice:8.0",
        text="started b00c0de",
        shown="$ make",
        images=({"media_type": "image/png", "blob": ".teams/demo/blobs/alice-8-0.png"},),
        files={"src/a.py": "0123456789abcdef"},
        background="b00c0de",
        framed=True,
        lines=300,
    ),
    Did(call="alice:8.1", text="#1 is yours", ok=False, tasks={1: 3, 2: None}, board=9, roster=10),
    Ended(background="b00c0de", status="exit 0", text="ok", blob="blobs/b00c0de.txt"),
    Nudged(task=1, epoch=3, text="#1 is still yours"),
    Reported(task=1, epoch=3),
    Compacted(upto=10, summary="The schema is half done.", roster=10),
    Cleared(upto=12),
    Heard(box="mail/alice", after=5, upto=7, mail=(STOP.body(), BACK.body())),
    AgentParked(reason="budget: 5 USD", caps="cost 5.0, steps 50"),
    Agreed(request_id="lead:9.1"),
]
LEAD: list[Line] = [
    Started(name="lead", roster=1, made_of={"members": []}),
    Heard(box="mail/lead", after=0, upto=2, mail=(HELLO.body(), PLAN.body())),
    Said(text="I hire.", calls=(Call(tool="SendMessage", arguments={"to": "alice"}),)),
    Began(calls=("lead:3.0",)),
    Did(call="lead:3.0", text="sent", answered=Answered(request_id="alice:2.0", approve=True)),
    Noticed(text="alice joined.", roster=8, board=5, tasks=(2,)),
    Noticed(text="Delegate from now on.", delegate=True),
    Noticed(text="Only plan from now on.", work_mode=WORK_MODE),
    Noticed(text="b00c0de still runs.", running=("b00c0de",)),
    Noticed(text="前端 was dismissed.", dismissed=("前端",)),
    Noticed(text="Your team is quiet.", quiet=True, roster=10),
    Noticed(text="You work in the team shop now.", roster=2, board=3, away="shop"),
]
SUBAGENT: list[Line] = [Started(name="lead:4.0", prompt="Find all callers of v1.")]
SPEND: list[Line] = [
    Spent(
        member="alice",
        model="anthropic:claude-sonnet-5-5",
        input=12,
        output=5,
        cache_read=900,
        cache_write=80,
        cost=0.25,
        at=T,
    ),
    Spent(member="lead:4.0", model="openai:llama3.1", input=3, output=1, at=T + 1),
]

STREAMS: dict[str, tuple[str, list[Line]]] = {
    "roster": ("teams/demo/roster.jsonl", ROSTER),
    "board": ("tasks/demo/board.jsonl", BOARD),
    "spend": ("teams/demo/spend.jsonl", SPEND),
    "log/alice": ("teams/demo/alice_transcript.jsonl", ALICE),
    "log/lead": ("teams/demo/lead_transcript.jsonl", LEAD),
    "log/lead:4.0": ("teams/demo/subagents/lead-4.0_transcript.jsonl", SUBAGENT),
    **{f"mail/{name}": (f"teams/demo/{name}_inbox.jsonl", mail) for name, mail in MAIL.items()},
}


def files() -> dict[str, bytes]:
    """Return every golden file: its path below the version's folder, and its bytes."""
    streams = {path: file_of(stream) for path, stream in STREAMS.values()}
    return {**streams, **projections(streams)}


def main() -> None:
    for path, data in files().items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(data)


if __name__ == "__main__":
    main()
