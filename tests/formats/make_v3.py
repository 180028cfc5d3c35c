"""Make the golden files of the version after 0.2: only the kinds and fields that 0.2 does not have.

Run by hand from the top of the repository, only until that version is released:

    python -m tests.formats.make_v3

After that its folder is never made again.
"""

import hashlib
from pathlib import Path

from deskmate.core.agent.entries import (
    Call,
    Compacted,
    Did,
    Heard,
    Hooked,
    Noticed,
    Opened,
    Overflowed,
    PicturesRefused,
    Said,
    Started,
    SummaryDropped,
    SummaryRequested,
)
from deskmate.core.goals import GoalRound
from deskmate.core.hosts.host_records import (
    HostCame,
    HostDraining,
    HostFreed,
    HostLeft,
    HostLoaded,
    HostTook,
    TeamCalled,
    TeamDropped,
)
from deskmate.core.mcp.forms import FormField
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.schedule.schedules import (
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleDone,
    ScheduleDue,
    ScheduleSkipped,
)
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Envelope,
    InputRequest,
    InputResponse,
    PermissionRequest,
    Plain,
    PlanRequest,
    Scheduled,
    SentImage,
)
from deskmate.core.team.roster_records import (
    Joined,
    MemberPlaced,
    MemberRecalled,
    MemberReturned,
    PolicySet,
    TeamDescribed,
    TeamFounded,
)
from deskmate.core.team.spending import Spent
from deskmate.core.team.tasks import Claimed, Completed, Created, Offered, OverlapsSeen, Receipt, Returned
from deskmate.core.travel.code_records import BranchAt, BundleSent, CodeReady, CodeRefused, CodeWanted, Payload
from deskmate.core.travel.payload_chunks import START, ChunkPosition, chunk_of
from tests.formats.make import Line, and_more, file_of

HERE = Path(__file__).parent / "v3"

SHOT = SentImage(
    media_type="image/png",
    blob=".teams/demo/blobs/lead-0123456789012345-678901.png",
    name="größer 漢字.png",
    size=84_213,
    width=1024,
    height=768,
)
SEEN = Envelope("user:1", "user", "lead", 1760000068.5, Plain(content="what is wrong in @shot.png?", images=(SHOT,)))

ASKED = Envelope("alice:4.0", "alice", "lead", 1760000069.5, PlanRequest(request_id="alice:4.0", content="1. größer"))
REQUEST = PermissionRequest(request_id="alice:5.0", tool="bash", arguments={"command": "make"}, reason="not allowed")
FORM = (
    FormField(name="größe", kind="number", about="How tall?", required=True, least=0.5, most=3.0),
    FormField(name="colour", kind="choice", choices=("red", "grün"), default="red"),
)
ASKS = InputRequest(request_id="alice:5.1.input-1", call="alice:5.1", server="shop", content="größer?", fields=FORM)
LINKS = InputRequest(
    request_id="alice:5.1.input-2", call="alice:5.1", server="shop", content="pay", url="https://a.example"
)
CHOOSES = InputRequest(
    request_id="alice:6.0",
    call="alice:6.0",
    server="",
    content="Welche Größe?",
    fields=(
        FormField(
            name="größe",
            kind="choices",
            about="Welche Größe?",
            required=True,
            choices=("klein", "groß"),
            notes=("1 m", ""),
            least=1,
            free=True,
        ),
    ),
)
INSTALLS = InputRequest(
    request_id="alice:5.2.host-1",
    call="alice:5.2",
    server="",
    content="pip install größer",
    host="pypi.example",
    rule="allow network(pypi.example)",
)
QUESTIONS = [
    Envelope(f"ask/{one.request_id}", "alice", "user", 1760000070.7, one, "demo")
    for one in (ASKS, LINKS, CHOOSES, INSTALLS)
]
GIVEN = InputResponse(request_id=ASKS.request_id, approve=True, values={"größe": 1.8, "colour": "grün"})
CHOSEN = InputResponse(request_id=CHOOSES.request_id, approve=True, values={"größe": ["groß", "漢字"]})
REFUSED = InputResponse(request_id=LINKS.request_id, approve=False, content="too dear")
QUESTION = Envelope("ask/alice:5.0", "alice", "user", 1760000070.5, REQUEST, "demo")
BY_CLOCK = Envelope(
    "schedule/2/1",
    "user",
    "lead",
    1760000071.5,
    Scheduled(schedule=2, content="Is the build green?", due="2026-11-19 09:00:00 CET", missed=1),
)
AT_HOME = Opened(request_id="lead:11.0", shake=Shake.SHUTDOWN, asked="alice")

_USED = {"input": 12, "output": 34, "model": "anthropic:claude-sonnet-5-5", "cost": 0.01, "seconds": 3.25}
LEAD: list[Line] = [
    Started(name="lead", prompt="Make the tests pass.", roster=1),
    Heard(box="mail/lead", after=0, upto=1, mail=(SEEN.body(),)),
    Said(text="I read them all."),
    SummaryRequested(focus="the schema: größer 漢字"),
    SummaryDropped(),
    SummaryRequested(focus="the schema"),
    Overflowed(),
    PicturesRefused(names=("shot.png",)),
    Noticed(text="You lead team 'web' now.", away="web", roster=2),
    Heard(box="mail/lead", after=1, upto=2, mail=(ASKED.body(),), team="demo"),
    Said(calls=(Call(tool="SendMessage", arguments={"type": "shutdown_request", "recipient": "alice@demo"}),)),
    Did(call="lead:11.0", text="Asked alice@demo to leave.", opened=AT_HOME, team="demo"),
    Noticed(text="In team 'demo', since you last looked:", roster=4, board=3, team="demo"),
    Noticed(text="Both teams are idle.", roster=2, quiet=True, home=4),
    Noticed(text="Dismissed.", dismissed=("bob", "alice@demo")),
    Compacted(upto=14, summary="two teams", roster=2, home=4, usage=_USED),
    SummaryRequested(focus="the schema"),
    Hooked(
        event="PreToolUse",
        about="lead:3.0",
        decision="ask",
        reason="look at größe.py first",
        arguments={"path": "größe.py", "content": "1\n"},
        context=("the formatter is black",),
        shown=("formatted",),
    ),
    Hooked(event="UserPromptSubmit", about="user:1", decision="deny", reason="no keys here", withheld=("user:1",)),
    Hooked(event="PostToolUse", about="lead:3.0", stop="the disk is full"),
    Hooked(
        event="PostToolUse", about="lead:3.0", shown=("`lint` of settings.toml failed with exit code 1",), late=True
    ),
    Noticed(text="goal", goal=GoalRound(until="größe prüfen", judge=True)),
    Noticed(text="goal", goal=GoalRound(until="größe prüfen", judge=True, round=1, mark="5eed", ended="3 rounds")),
    Noticed(text="goal", goal=GoalRound(until="größe prüfen", round=2, mark="5eee", met=True)),
    Noticed(text="The finished work of deskmate/demo is in your workspace now.", handed_over=True),
    and_more(Said(text="I go on.", usage=_USED), at=1_700_000_012.75),
]
USER: list[Line] = [QUESTION, *QUESTIONS]
# Alice, who asked.
ANSWERS: list[Line] = [
    Envelope(f"user:{number}", "user", "alice", 1760000071.0, one)
    for number, one in enumerate((GIVEN, REFUSED, CHOSEN), 7)
]

_AT = 1_700_000_000.0
_RECEIPT = Receipt(command="pytest -q", workspace="/trees/demo/alice", exit=0, output="3 passed")
_COMMITS = ("1f" * 20, "2e" * 20, "3d" * 20)
MEETS = Overlap(kind="edits", members=("alice", "bob"), files=("größe.py",))
BOARD: list[Line] = [
    Created(by="lead", at=_AT, task=1, subject="Write the parser", owner="alice", verify="pytest -q"),
    Claimed(by="alice", at=_AT + 1, task=1, epoch=0),
    Offered(by="alice", at=_AT + 2, cause="alice:4.0", task=1, epoch=0, commit=_COMMITS[0], receipt=_RECEIPT),
    Returned(by="alice", at=_AT + 3, task=1, offer=3, reason="It conflicts with deskmate/demo in größe.py."),
    Offered(by="alice", at=_AT + 4, cause="alice:6.0", task=1, epoch=0, commit=_COMMITS[1], receipt=_RECEIPT),
    Completed(by="alice", at=_AT + 5, task=1, epoch=0, receipt=_RECEIPT, merged=_COMMITS[2]),
    OverlapsSeen(by="lead", at=_AT + 6, overlaps=(MEETS,)),
]

ROSTER: list[Line] = [
    PolicySet(by="user", mode=Mode.ACCEPT_EDITS, at=_AT),
    PolicySet(by="user", mode=Mode.PLAN, before_plan=Mode.DEFAULT, at=_AT + 1),
    TeamFounded(team="demo", fork_of="main", copied=2, at=_AT + 2),
    TeamDescribed(file=".deskmate/teams/web.toml", text='words = "Größer!"\n', words="Größer!", at=_AT + 2),
    Joined(
        name="alice",
        agent_type=AgentType.EXPLORE,
        custom_type="code-reviewer",
        instructions="Read the diff.\n\nSay what is wrong: größer 漢字.",
        tools=("read_file", "grep"),
        skills=("release",),
        colour="magenta",
        role="code-reviewer",
        prompt="Review task 1.",
        at=_AT + 3,
    ),
    Joined(name="bob", isolation="own", at=_AT + 4),
    Joined(name="carol", shared_because="this repository has no commit yet", at=_AT + 5),
    Joined(name="dora", launcher="host", host="gpu1", labels=("gpu", "linux"), first_host="gpu1", at=_AT + 6),
    MemberPlaced(name="dora", host="gpu1", at=_AT + 7),
    MemberReturned(name="dora", placed=9, error="ended with exit code 1: größer", records_changed=True, at=_AT + 8),
    MemberPlaced(name="dora", host="gpu2", at=_AT + 9),
    MemberRecalled(name="dora", at=_AT + 10),
    MemberReturned(name="dora", placed=11, at=_AT + 11),
    MemberPlaced(name="dora", at=_AT + 12),
]

HOSTS: list[Line] = [
    HostCame(name="gpu1", labels=("gpu", "linux"), slots=8, machine="node-größe", at=_AT),
    TeamCalled(team="demo", limits={"max_cost": 2.5, "max_steps": 200}, seconds=12.5, at=_AT + 1),
    HostTook(name="gpu1", member="dora@demo", at=_AT + 2),
    HostLoaded(name="gpu1", load=0.75, at=_AT + 3),
    HostTook(name="gpu1", member="emil@demo", at=_AT + 4),
    HostDraining(name="gpu1", at=_AT + 5),
    HostFreed(name="gpu1", member="emil@demo", at=_AT + 6),
    HostCame(name="cpu1", slots=1, at=_AT + 7),
    HostLeft(name="cpu1", at=_AT + 8),
    TeamCalled(team="web", at=_AT + 9),
    TeamDropped(name="gpu1", team="web", at=_AT + 10),
]

SPEND: list[Line] = [
    Spent(member="lead", model="anthropic:claude-sonnet-5-5", input=12, output=34, seconds=3.25, at=_AT + 9)
]

SCHEDULE: list[Line] = [
    ScheduleCreated(
        schedule=1,
        by="lead",
        at=_AT,
        cause="lead:3.0",
        cron="0 9 * * 1-5",
        zone="Europe/Berlin",
        repeats=False,
        content="Größe prüfen",
        subject="Check",
        missed="skip",
    ),
    ScheduleCreated(schedule=2, by="user", at=_AT + 1, every=600.0, zone="UTC", content="Is the build green?"),
    ScheduleDue(schedule=2, due=_AT + 1201, missed=1, at=_AT + 1202),
    ScheduleDone(schedule=2, times=1, at=_AT + 1202),
    ScheduleSkipped(schedule=1, due=_AT + 9000, missed=1, at=_AT + 9500),
    ScheduleDue(schedule=2, due=_AT + 9001, at=_AT + 9500),
    ScheduleDone(schedule=2, times=2, task=4, flaw="'lead' left", at=_AT + 9500),
    ScheduleDeleted(schedule=2, by="lead", at=_AT + 9600, cause="lead:9.0"),
]

SENT_FILE = "größer 漢字\n".encode()
SENT = Payload(sha256=hashlib.sha256(SENT_FILE).hexdigest(), size=len(SENT_FILE))
_FIRST, _SECOND, _THIRD = "1a" * 20, "2b" * 20, "3c" * 20

CODE: list[Line] = [
    BundleSent(tip=_FIRST, payload=SENT, at=_AT),
    CodeReady(member="alice", wanted=1, tip=_FIRST, own=_THIRD, files=SENT, at=_AT + 1),
    BundleSent(tip=_SECOND, needs=(_FIRST,), payload=SENT, at=_AT + 2),
    BranchAt(tip=_SECOND, at=_AT + 3),
    CodeRefused(member="größer", wanted=2, reason="this repository is a shallow clone", at=_AT + 4),
]
ALICES_CODE: list[Line] = [
    CodeWanted(has=(_FIRST,), at=_AT),
    BundleSent(tip=_THIRD, needs=(_SECOND,), payload=SENT, at=_AT + 5),
]

STREAMS: dict[str, tuple[str, list[Line]]] = {
    "log/lead": ("teams/demo/lead_transcript.jsonl", LEAD),
    "roster": ("teams/demo/roster.jsonl", ROSTER),
    "board": ("tasks/demo/board.jsonl", BOARD),
    "spend": ("teams/demo/spend.jsonl", SPEND),
    "mail/lead": ("teams/demo/lead_inbox.jsonl", [SEEN, ASKED, BY_CLOCK]),
    "schedule": ("teams/demo/schedule.jsonl", SCHEDULE),
    "hosts": ("teams/demo/hosts.jsonl", HOSTS),
    "code": ("teams/demo/code.jsonl", CODE),
    "code/alice": ("teams/demo/alice_code.jsonl", ALICES_CODE),
    f"chunks/{SENT.sha256}-0": (
        f"teams/demo/chunks/{SENT.sha256}-0.jsonl",
        [chunk_of(START, SENT_FILE[:8], more=True)],
    ),
    f"chunks/{SENT.sha256}-1": (
        f"teams/demo/chunks/{SENT.sha256}-1.jsonl",
        [chunk_of(ChunkPosition(size=8), SENT_FILE[8:], more=False)],
    ),
    "mail/alice": ("teams/demo/alice_inbox.jsonl", ANSWERS),
    "mail/user": ("teams/demo/user_inbox.jsonl", USER),
}


def files() -> dict[str, bytes]:
    """Return every golden file: its path below the version's folder, and its bytes."""
    return {path: file_of(stream) for path, stream in STREAMS.values()}


def main() -> None:
    for path, data in files().items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(data)


if __name__ == "__main__":
    main()
