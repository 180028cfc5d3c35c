"""A team on disk with something in every panel: who works, waits, rests, is parked and left, and what the lead did."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskmate.core.agent.entries import AgentParked, Began, Call, Did, Entry, PermissionAsked, Said, Started
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import MemberIdle, MemberWaiting, MemberWorking
from deskmate.core.team.roster_records import MemberParked as IsParked
from deskmate.core.team.task_fields import NewTask
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import FakeClock
from tests.faces.disk_teams import OpenTeam
from tests.faces.tui.idle_sessions import ask, made

MEMBERS = (("alice", "schema"), ("bob", "dev"), ("carol", "dev"), ("dave", "dev"), ("erin", "tests"))
DIFF = "--- api.py\n+++ api.py\n@@ -1,3 +1,3 @@\n import shop\n-PORT = 80\n+PORT = 8080\n run()"
LOG = "".join(f"test {number} passed\n" for number in range(30))


async def record(hands: OpenTeam, who: str, *entries: Entry) -> int:
    """Add to a transcript; return the number of the last."""
    transcript = await Transcript.load(hands.writer, who)
    number = 0
    for entry in entries:
        number = await transcript.record(entry)
    return number


async def call(hands: OpenTeam, who: str, tool: str, arguments: dict[str, Any], result: Did | None = None) -> None:
    """Have somebody make a call, which runs until it has a result."""
    said = await record(hands, who, Said(calls=(Call(tool=tool, arguments=arguments),)))
    await record(hands, who, Began(calls=(f"{who}:{said}.0",)))
    if result is not None:
        await record(hands, who, result.model_copy(update={"call": f"{who}:{said}.0"}))


async def lead_works(hands: OpenTeam) -> None:
    """Give the lead a conversation with one of each."""
    await hands.mailbox("user").send("lead", Plain(content="Serve the shop on port 8080.\nAnd test it, please."))
    await record(hands, "lead", Started(name="lead"))
    await hands.mailbox("lead").hear(await Transcript.load(hands.writer, "lead"))
    thought = {"type": "thinking", "text": "A small change.\nThen the tests.", "signature": "s", "sealed": False}
    words = {"type": "text", "text": "I change the port first."}
    await record(hands, "lead", Said(text=words["text"], blocks=(thought, words)))
    edit = {"path": "api.py", "old_text": "80", "new_text": "8080"}
    await call(hands, "lead", "edit_file", edit, Did(call="", text="edited", shown=DIFF))
    await call(hands, "lead", "bash", {"command": "make test"}, Did(call="", text=LOG))
    await call(hands, "lead", "bash", {"command": "make lint"}, Did(call="", text="lint\nE501 too long", ok=False))
    await hands.mailbox("alice").send("lead", Plain(content="The schema is done, 漢字 included."))
    await hands.mailbox("lead").hear(await Transcript.load(hands.writer, "lead"))
    await record(hands, "lead", Said(text="Alice is done; Bob waits for your word. I look at the rest."))
    await call(hands, "lead", "bash", {"command": "make serve"})


async def works(hands: OpenTeam, clock: FakeClock) -> None:
    """Have a team at work."""
    board, members = hands.board, hands.roster.state.members
    for subject, blocked_by in (("write the schema", []), ("port the page", [1]), ("tell the users", [2])):
        await board.create("lead", NewTask(subject, blocked_by=blocked_by))
    await board.claim(members["alice"], 1)
    clock.advance(100)
    await lead_works(hands)
    await ask(hands, "bob", "bash", {"command": "rm -rf build"}, "no rule allows it", "allow bash(rm:*)")
    await record(hands, "bob", PermissionAsked(call="bob:2.0", request_id="bob:2.0"))
    await hands.mailbox("carol").send("bob", Plain(content="Which port?"))
    for member, cost in (("lead", 0.1234), ("alice", 0.05), ("bob", None)):
        await hands.spend(member, "claude", cost)
    at = clock.timestamp()
    await hands.roster.status(MemberWorking(name="lead", at=at))
    await hands.roster.status(MemberWorking(name="alice", at=at))
    await hands.roster.status(MemberWaiting(name="bob", on="permission", at=at))
    await hands.roster.status(MemberIdle(name="carol", words="The page is ported.", at=at))
    await hands.roster.status(IsParked(name="dave", reason="no money left", at=at))
    await record(hands, "dave", Started(name="dave", prompt="Be quick."), AgentParked(reason="no money left"))
    await hands.roster.leave("erin", "agreed", heard=0, agreed=True)


async def at_work(folder: Path, members: Sequence[tuple[str, str]] = MEMBERS) -> Path:
    """Return the workspace of a team at work."""
    place = folder / "shop"
    place.mkdir()
    return await made(place, works, *members)
