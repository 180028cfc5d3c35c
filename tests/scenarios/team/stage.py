"""The stage: a folder in which the product plays a team whose models are scripted, and what can be told afterwards."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import anyio
import pytest

from deskmate.app import Feed, Listener, Outcome, Wanted, load, resume, run
from deskmate.core.agent.entries import Did, Entry, Heard, Noticed, Said, read_entry
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import BOARD, LEAD, ROSTER, call_id, log, mail
from deskmate.core.log.records import Item, Record
from deskmate.core.prompt.rendering import envelopes
from deskmate.core.team import board_fold, members, roster_fold, tasks
from deskmate.core.team.messages import Broadcast, Envelope, Message, Plain, envelope_in
from deskmate.core.team.tasks import BoardEvent
from deskmate.errors import StoreCorrupt
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Plan
from deskmate.testing.scripts import Asked
from tests.scenarios.team.parts import Part, Parts, who

TEAM = "main"
GOAL = "Go."
SOON = 50
NO_FAULTS: Plan = MappingProxyType({})


@dataclass(frozen=True)
class Stage:
    """Where a team is played: a workspace and a home of this test's own, and how teammates are launched."""

    place: Path
    launcher: str
    environ: pytest.MonkeyPatch

    async def play(
        self,
        parts: Parts | Part,
        *listeners: Listener,
        faults: Plan = NO_FAULTS,
        team: str = TEAM,
        goal: str = GOAL,
        **flags: object,
    ) -> "Played":
        """Let the product run to its end, bounded, and return what came of a team: its first, or one it founded."""
        return await self._play(run, goal, parts, listeners, faults, team, flags)

    async def resume(
        self,
        parts: Parts | Part,
        *listeners: Listener,
        faults: Plan = NO_FAULTS,
        goal: str | None = None,
        **flags: object,
    ) -> "Played":
        """Resume the first team, play it to its end, bounded, and return what came of it."""
        return await self._play(resume, goal, parts, listeners, faults, TEAM, flags)

    async def _play(
        self,
        playing: Callable[[Wanted, Feed], Awaitable[Outcome]],
        goal: str | None,
        parts: Parts | Part,
        listeners: Sequence[Listener],
        faults: Plan,
        team: str,
        flags: Mapping[str, object],
    ) -> "Played":
        feed = Feed()
        for listener in listeners:
            feed.listen(listener)
        script = parts if callable(parts) else (lambda asked: parts[who(asked)](asked))
        async with FakeProvider(script, faults=faults) as provider:
            self.connect(provider)
            settings = load(
                os.environ, {"permission_mode": "dontAsk", "sandbox": False, "launcher": self.launcher, **flags}
            )
            with anyio.fail_after(SOON):
                outcome = await playing(Wanted(self.place, goal, None, settings), feed)
        assert provider.complaints == []
        return Played(outcome, provider.requests, await self.read(team))

    def connect(self, provider: FakeProvider) -> None:
        """Let every process that is started from here on ask this provider."""
        self.environ.setenv("ANTHROPIC_API_KEY", "sk-test")
        self.environ.setenv("ANTHROPIC_BASE_URL", provider.url)

    async def read(self, team: str = TEAM) -> "Streams":
        """Return what a team has written; nothing in it may be damaged. The lead's transcript is in its home.

        A transcript that cannot be opened counts as empty.
        """
        with closing(JsonlStore.open(self.place, team)) as store, closing(JsonlStore.open(self.place, TEAM)) as home:
            roster, board = await store.read(ROSTER), await store.read(BOARD)
            names = roster_fold.fold(members.EMPTY, roster).members
            logs = {name: await _log(home if name == LEAD else store, name) for name in names}
        return Streams(tuple(roster), tuple(board), {name: tuple(items) for name, items in logs.items()})

    async def mail_of(self, name: str) -> list[Envelope]:
        """Return all that lies in a member's mailbox."""
        with closing(JsonlStore.open(self.place, TEAM)) as store:
            found = [envelope_in(item) for item in await store.read(mail(name))]
        return [envelope for envelope in found if envelope]

    def in_between(self, deed: Callable[[LogWriter, Roster], Awaitable[object]]) -> None:
        """Do something to the team's streams as another process would, while this one stands still."""

        async def do() -> None:
            with closing(JsonlStore.open(self.place, TEAM)) as store:
                writer = LogWriter(store, SystemClock())
                await deed(writer, Roster(writer))

        # A loop of its own: whoever calls this is told something by an agent, which waits until it was told.
        thread = Thread(target=anyio.run, args=(do,))
        thread.start()
        thread.join()

    def send(self, sender: str, recipient: str, message: Message) -> None:
        """Send something in a member's name, while this process stands still."""
        self.in_between(lambda writer, roster: Mailbox(sender, writer, roster).send(recipient, message))

    def file(self, path: str) -> str:
        """Return what a file of the workspace holds."""
        return (self.place / path).read_text()


async def _log(store: JsonlStore, name: str) -> Sequence[Item]:
    try:
        return await store.read(log(name))
    except StoreCorrupt:
        return ()


@dataclass(frozen=True)
class Streams:
    """What a team has written."""

    roster_items: tuple[Item, ...]
    board_items: tuple[Item, ...]
    logs: dict[str, tuple[Item, ...]]

    @property
    def roster(self) -> members.RosterState:
        """The roster as it is at the end."""
        return roster_fold.fold(members.EMPTY, self.roster_items)

    def roster_at(self, number: int) -> members.RosterState:
        """Return the roster as it was after a record."""
        return roster_fold.fold(members.EMPTY, [item for item in self.roster_items if item.number <= number])

    @property
    def board(self) -> tasks.BoardState:
        """The board as it is at the end."""
        return board_fold.fold(tasks.EMPTY, self.board_items)

    @property
    def board_events(self) -> list[BoardEvent]:
        """All that happened on the board."""
        events = [tasks.read_event(item.body) for item in self.board_items if isinstance(item, Record)]
        assert len(events) == len(self.board_items)
        return [event for event in events if not isinstance(event, Foreign)]

    def entries(self, name: str) -> list[Entry]:
        """Return a member's transcript."""
        entries = [read_entry(item.body) for item in self.logs[name] if isinstance(item, Record)]
        assert len(entries) == len(self.logs[name])
        return [entry for entry in entries if not isinstance(entry, Foreign)]

    def of(self, name: str, kind: type[Entry]) -> list[Entry]:
        """Return the entries of one kind in a member's transcript."""
        return [entry for entry in self.entries(name) if isinstance(entry, kind)]


@dataclass(frozen=True)
class Played:
    """What came of a run."""

    outcome: Outcome
    requests: Sequence[Asked]
    streams: Streams

    @property
    def roster(self) -> members.RosterState:
        """The roster at the end."""
        return self.streams.roster

    @property
    def board(self) -> tasks.BoardState:
        """The board at the end."""
        return self.streams.board

    def calls(self, name: str) -> list[Asked]:
        """Return how a member's model was asked, each time."""
        return [asked for asked in self.requests if who(asked) == name]

    def heard(self, name: str) -> list[Envelope]:
        """Return the mail in a member's transcript."""
        found = [entry for entry in self.streams.entries(name) if isinstance(entry, Heard)]
        return [envelope for entry in found for envelope in envelopes(entry)]

    def letters(self, name: str) -> list[tuple[str, str]]:
        """Return the words a member heard from others, each with its sender; the user's first goal left out."""
        letters = [(envelope.sender, envelope.message) for envelope in self.heard(name)]
        words = [(sender, message.content) for sender, message in letters if isinstance(message, Plain | Broadcast)]
        return [letter for letter in words if letter != ("user", GOAL)]

    def results(self, name: str) -> list[tuple[bool, str]]:
        """Return what came of a member's calls, in the order in which they were asked for, each exactly once."""
        items = [(item.number, read_entry(item.body)) for item in self.streams.logs[name] if isinstance(item, Record)]
        ids = [call_id(name, n, i) for n, entry in items if isinstance(entry, Said) for i in range(len(entry.calls))]
        found = [entry for _, entry in items if isinstance(entry, Did)]
        assert sorted(did.call for did in found) == sorted(ids)
        return [(did.ok, did.text) for did in sorted(found, key=lambda did: ids.index(did.call))]

    def words(self, name: str) -> list[str]:
        """Return what a member said in words, one after the other."""
        return [entry.text for entry in self.streams.entries(name) if isinstance(entry, Said) and entry.text]

    def news(self) -> list[Noticed]:
        """Return what the lead was told of its team."""
        return [entry for entry in self.streams.entries(LEAD) if isinstance(entry, Noticed)]

    @property
    def everyone_left(self) -> bool:
        """Whether every teammate left, having agreed to."""
        return all(member.agreed and not member.here for member in self.roster.teammates)
