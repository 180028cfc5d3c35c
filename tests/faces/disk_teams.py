"""Teams in real folders, made with the library, for commands to look at and act on."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.from_thread import start_blocking_portal

from deskmate import JsonlStore
from deskmate.app import state_folder
from deskmate.core.agent.entries import Began, Call, Did, Said, Started
from deskmate.core.log.names import mail
from deskmate.core.log.records import Record
from deskmate.core.team.messages import Envelope, Plain, read_envelope
from deskmate.core.team.roster_records import Joined, MemberWaiting
from deskmate.core.team.spending import Spent
from deskmate.core.team.task_fields import NewTask
from deskmate.ports import Clock
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock
from deskmate.trust.team_signature import Signing
from tests.faces.fake_app import Ended, Env, run_command

T = TypeVar("T")
# Every way to look.
LOOKS = (
    ["teams"],
    ["teams", "-v"],
    ["teams", "--json"],
    ["board"],
    ["board", "--json"],
    ["conflicts"],
    ["conflicts", "--json"],
    ["inbox", "alice"],
    ["inbox", "user"],
    ["inbox", "lead", "--json"],
    ["tail", "alice"],
    ["tail", "alice", "--json"],
    ["tail", "lead"],
    ["cost"],
    ["cost", "--json"],
)
SECRET = "\x1b[31mred\x1b[0m \x07bell"


@dataclass(frozen=True)
class OpenTeam:
    """The live objects of one team."""

    writer: LogWriter
    roster: Roster
    board: Board

    def mailbox(self, name: str) -> Mailbox:
        return Mailbox(name, self.writer, self.roster)

    async def mail_of(self, name: str) -> list[Envelope]:
        items = [item.body for item in await self.writer.store.read(mail(name)) if isinstance(item, Record)]
        return [found for found in map(read_envelope, items) if isinstance(found, Envelope)]

    async def spend(self, member: str, model: str, cost: float | None) -> None:
        await self.writer.append(
            "spend", Spent(member=member, model=model, input=1000, output=50, cost=cost, at=1.0).body()
        )


@asynccontextmanager
async def hands(folder: Path, team: str = "main", clock: Clock | None = None) -> AsyncIterator[OpenTeam]:
    store = JsonlStore.open(folder, team, create=True)
    try:
        writer = LogWriter(store, clock or SystemClock())
        roster = Roster(writer)
        await roster.refresh()
        yield OpenTeam(writer, roster, Board(writer, roster))
    finally:
        store.close()


def in_team(
    folder: Path, deed: Callable[[OpenTeam], Awaitable[T]], team: str = "main", clock: Clock | None = None
) -> T:
    """Do something to a team that nobody plays."""

    async def do() -> T:
        async with hands(folder, team, clock) as opened:
            return await deed(opened)

    return anyio.run(do)


def founded(folder: Path, team: str = "main", *members: str, home: str | None = None) -> Path:
    """Found a team; return its workspace."""

    async def found(opened: OpenTeam) -> None:
        await opened.roster.found(team, home=home)
        for name in members:
            await opened.roster.join(Joined(name=name, role="dev", at=1.0))

    in_team(folder, found, team)
    return folder


def worked(folder: Path) -> Path:
    """Found a team that has done something in every stream; return its workspace."""

    async def work(opened: OpenTeam) -> None:
        board, roster = opened.board, opened.roster
        await board.create("lead", NewTask("read the API"))
        await board.create("lead", NewTask("write the schema", blocked_by=[1], role="dev", verify="test -f schema.txt"))
        await board.create("lead", NewTask("port the page", blocked_by=[2], owner="bob"))
        await board.claim(roster.state.members["alice"], 1)
        await opened.mailbox("lead").send("alice", Plain(content="in UTF-8,\nplease"))
        transcript = await Transcript.load(opened.writer, "alice")
        await transcript.record(Started(name="alice", prompt="You know APIs."))
        await opened.mailbox("alice").hear(transcript)
        said = await transcript.record(Said(text="I look.", calls=(Call(tool="bash", arguments={"command": "ls"}),)))
        await transcript.record(Began(calls=(f"alice:{said}.0",)))
        await transcript.record(Did(call=f"alice:{said}.0", text="a.py\nb.py"))
        await opened.mailbox("lead").send("alice", Plain(content="and soon"))
        await roster.status(MemberWaiting(name="alice", on="permission", at=1.0))
        for member, cost in (("lead", 0.01), ("alice", 0.02), ("alice:3.0", None)):
            await opened.spend(member, "claude", cost)

    founded(folder, "main", "alice", "bob")
    in_team(folder, work)
    return folder


@contextmanager
def played(
    folder: Path, plays: Callable[[OpenTeam], Coroutine[Any, Any, None]] | None = None, team: str = "main"
) -> Iterator[None]:
    """Hold the lead's seat of a team meanwhile, and let somebody play in it, from another thread."""

    @asynccontextmanager
    async def playing() -> AsyncIterator[None]:
        async with (
            hands(folder, team) as opened,
            opened.writer.store.hold("lead", "process 7"),
            anyio.create_task_group() as tasks,
        ):
            if plays is not None:
                tasks.start_soon(plays, opened)
            yield
            tasks.cancel_scope.cancel()

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(playing()):
        yield


async def first_mail(opened: OpenTeam, name: str) -> Envelope:
    """Wait until somebody writes to a member."""
    while not (found := await opened.mail_of(name)):
        await opened.writer.store.changed({mail(name): 0})
    return found[0]


def at(folder: Path, *args: str, env: Env, stdin: str = "") -> Ended:
    """Type a command in a workspace, whose teams are all the user's own."""
    sign(folder, env)
    return run_command("-C", str(folder), *args, env=env, stdin=stdin)


def sign(folder: Path, env: Env) -> None:
    """Have all teams of a workspace be those of a user."""
    state = state_folder({name: value for name, value in env.items() if value is not None})
    for team in folder.glob(".teams/*/"):
        Signing(state, folder).sign(team.name)


def files(folder: Path) -> dict[str, bytes]:
    """Return all that a team's streams hold."""
    found = itertools.chain(folder.glob(".teams/*/*.jsonl"), folder.glob(".tasks/*/*.jsonl"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def obeyed(text: str) -> list[str]:
    """Return what a terminal would obey of a text."""
    return [character for character in text if character not in "\n\t" and _is_control(character)]


def _is_control(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069


def spoil(file: Path, line: int) -> None:
    """Make a line of a stream unreadable."""
    lines = file.read_bytes().split(b"\n")
    lines[line] = b"{garbage" + b"\x1b[2J" + lines[line][13:]
    file.write_bytes(b"\n".join(lines))


@contextlib.contextmanager
def put_aside(path: Path) -> Iterator[None]:
    """Have something out of the way meanwhile."""
    aside = path.with_name(path.name + ".aside")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)
