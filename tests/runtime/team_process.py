"""TeamProcess: the live mailbox, board, roster and transcripts of one process, without agents, on any store.

`FaultyStore` lets a test do something before or after any append or read: fail, die, or write something else first.
"""

from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, TypeAlias, TypeVar

import anyio
import anyio.lowlevel

from deskmate.core.agent.entries import Heard
from deskmate.core.log.names import mail
from deskmate.core.log.records import Item, Json, Make
from deskmate.core.team.messages import Envelope, read_envelope
from deskmate.core.team.roster_records import Joined
from deskmate.errors import StoreUnavailable
from deskmate.ports import Seat, Store
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import FakeClock
from tests.fact_loop import wait_for

SOON = 20
T = TypeVar("T")
Deed: TypeAlias = Callable[[], Awaitable[object]]
Moment: TypeAlias = Literal["before append", "after append", "before read", "after read"]


class Killed(Exception):
    """The process died at this point."""


async def die() -> None:
    raise Killed


async def fail() -> None:
    raise StoreUnavailable("the wire was cut; try the same again")


async def let_pass() -> None:
    """Let one call pass."""


class FaultyStore:
    """A store that does what a test says before or after a call. Each deed happens once, one at a call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._deeds: defaultdict[tuple[Moment, str], deque[Deed]] = defaultdict(deque)
        self.appended: list[str] = []

    def at(self, moment: Moment, stream: str, *deeds: Deed) -> None:
        self._deeds[moment, stream].extend(deeds)

    def forget(self) -> None:
        self._deeds.clear()

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        await self._meddle("before append", stream)
        numbers = await self._store.append(stream, *records, expect=expect, sync=sync)
        self.appended.append(stream)
        await self._meddle("after append", stream)
        return numbers

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        await self._meddle("before read", stream)
        items = await self._store.read(stream, after, sync=sync)
        await self._meddle("after read", stream)
        return items

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        await self._meddle("before append", stream)
        number, outcome = await self._store.decide(stream, after, make, sync=sync)
        if number is not None:
            self.appended.append(stream)
        await self._meddle("after append", stream)
        return number, outcome

    async def changed(self, since: Mapping[str, int]) -> None:
        await self._store.changed(since)

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        return self._store.hold(name, note, wait=wait)

    async def _meddle(self, moment: Moment, stream: str) -> None:
        if deeds := self._deeds[moment, stream]:
            await deeds.popleft()()


class TeamProcess:
    """One process of a team: its own handle on the store, its own writer and folds."""

    def __init__(self, open_: Callable[[], Store], clock: FakeClock, store: Store | None = None) -> None:
        self._open = open_
        self.clock = clock
        self.store = store or open_()
        self.writer = LogWriter(self.store, clock)
        self.roster = Roster(self.writer)
        self.board = Board(self.writer, self.roster)

    def another(self) -> "TeamProcess":
        """Return a process beside this one."""
        return TeamProcess(self._open, self.clock)

    def meddled(self) -> tuple["TeamProcess", FaultyStore]:
        """Return a process beside this one, and its wire."""
        wire = FaultyStore(self._open())
        return TeamProcess(self._open, self.clock, wire), wire

    def mailbox(self, name: str) -> Mailbox:
        return Mailbox(name, self.writer, self.roster)

    async def transcript(self, name: str) -> Transcript:
        return await Transcript.load(self.writer, name)

    async def join(self, *names: str) -> None:
        for name in names:
            await self.roster.join(Joined(name=name, at=self.clock.timestamp()))

    async def leave(self, name: str) -> None:
        """Record that a member left, with what it had heard; what it had not is not given back yet."""
        cursors = (await self.transcript(name)).memory.cursors
        await self.roster.leave(name, "done", heard=cursors.get(mail(name), 0))

    async def leave_and_give_back(self, name: str) -> int:
        await self.leave(name)
        return await self.mailbox(name).give_back()

    async def hear(self, name: str) -> list[Envelope]:
        """Return all that a member, started just now, hears of what it had not heard."""
        transcript = await self.transcript(name)
        heard = []
        while batch := await self.mailbox(name).hear(transcript):
            heard += envelopes(batch)
        return heard


def envelopes(heard: Heard) -> list[Envelope]:
    found = [read_envelope(body) for body in heard.mail]
    assert all(isinstance(envelope, Envelope) for envelope in found)
    return [envelope for envelope in found if isinstance(envelope, Envelope)]


def contents(envelopes: Sequence[Envelope]) -> list[str]:
    return [str(envelope.message.body().get("content")) for envelope in envelopes]


async def until(fact: Callable[[], object]) -> None:
    """Return once something holds."""
    with anyio.fail_after(SOON):
        await wait_for(fact)


@asynccontextmanager
async def passing(clock: FakeClock) -> AsyncIterator[None]:
    """Let time pass for everything that waits for the clock."""

    async def tick() -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            await wait_for(lambda: clock.sleeping)
            clock.advance(1.0)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        yield
        tasks.cancel_scope.cancel()
