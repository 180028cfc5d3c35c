"""TeamRun: what a team did in a scenario: its answer, tasks, mail and transcripts."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from deskmate.app import Outcome
from deskmate.core.agent.entries import Did, Entry, Heard, Noticed, Said, read_entry
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, call_id, log
from deskmate.core.log.records import Item, Record
from deskmate.core.prompt.rendering import envelopes
from deskmate.core.team import board_fold, members, roster_fold, tasks
from deskmate.core.team.messages import Broadcast, Envelope, Plain
from deskmate.core.team.status import Left
from deskmate.errors import StoreCorrupt
from deskmate.ports import Store
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.scripts import Asked
from deskmate.testing.team_scripts import member_of

FIRST_TEAM = "main"
E = TypeVar("E", bound=Fact)


@dataclass(frozen=True)
class TeamStreams:
    """What a team has written: roster, board, and the transcript of each member."""

    roster_items: tuple[Item, ...]
    board_items: tuple[Item, ...]
    logs: dict[str, tuple[Item, ...]]

    @property
    def roster(self) -> members.RosterState:
        """The roster at the end."""
        return roster_fold.fold(members.EMPTY, self.roster_items)

    def roster_at(self, number: int) -> members.RosterState:
        """Return the roster as it was after a record."""
        return roster_fold.fold(members.EMPTY, [item for item in self.roster_items if item.number <= number])

    @property
    def board(self) -> tasks.BoardState:
        """The board at the end."""
        return board_fold.fold(tasks.EMPTY, self.board_items)

    @property
    def board_events(self) -> list[tasks.BoardEvent]:
        """Everything that happened on the board."""
        events = [tasks.read_event(item.body) for item in self.board_items if isinstance(item, Record)]
        assert len(events) == len(self.board_items), "the board is damaged"
        return [event for event in events if not isinstance(event, Foreign)]

    def entries(self, name: str) -> list[Entry]:
        """Return a member's transcript."""
        entries = [read_entry(item.body) for item in self.logs[name] if isinstance(item, Record)]
        assert len(entries) == len(self.logs[name]), f"the transcript of {name} is damaged"
        return [entry for entry in entries if not isinstance(entry, Foreign)]


async def read_streams(workspace: Path, team: str = FIRST_TEAM, url: str | None = None) -> TeamStreams:
    """Return what a team has written. The lead's transcript is in its first team. `url`: as in the setting `store`.

    A transcript that cannot be opened counts as empty.
    """
    with (
        closing(engine_of(url, workspace)) as engine,
        closing(engine.open(team)) as store,
        closing(engine.open(FIRST_TEAM)) as first,
    ):
        roster, board = await store.read(ROSTER), await store.read(BOARD)
        names = roster_fold.fold(members.EMPTY, roster).members
        logs = {name: tuple(await _log(first if name == LEAD else store, name)) for name in names}
    return TeamStreams(tuple(roster), tuple(board), logs)


async def _log(store: Store, name: str) -> Sequence[Item]:
    try:
        return await store.read(log(name))
    except StoreCorrupt:
        return ()


@dataclass(frozen=True)
class TeamRun:
    """How a run ended, what each model was asked, and what the team wrote."""

    outcome: Outcome
    requests: Sequence[Asked]
    streams: TeamStreams
    goal: str | None = None

    @property
    def answer(self) -> str:
        """What the lead answered at the end."""
        return self.outcome.text

    @property
    def roster(self) -> members.RosterState:
        """The roster at the end."""
        return self.streams.roster

    @property
    def board(self) -> tasks.BoardState:
        """The board at the end."""
        return self.streams.board

    @property
    def owners(self) -> dict[str, str | None]:
        """Who owns each task at the end, by subject."""
        return {task.subject: task.owner for task in self._tasks}

    @property
    def statuses(self) -> dict[str, str]:
        """The status of each task at the end, by subject."""
        return {task.subject: task.status.value for task in self._tasks}

    @property
    def _tasks(self) -> list[tasks.Task]:
        return [task for task in self.board.tasks.values() if task.status is not tasks.TaskStatus.DELETED]

    @property
    def everyone_left(self) -> bool:
        """Whether every teammate agreed to stop and left."""
        return all(isinstance(member.status, Left) and member.status.agreed for member in self.roster.teammates)

    def entries_of(self, name: str, kind: type[E]) -> list[E]:
        """Return the entries of one kind in a member's transcript."""
        return [entry for entry in self.streams.entries(name) if isinstance(entry, kind)]

    def requests_of(self, name: str) -> list[Asked]:
        """Return every request of a member's model."""
        return [asked for asked in self.requests if member_of(asked) == name]

    def envelopes_of(self, name: str) -> list[Envelope]:
        """Return the mail in a member's transcript, with senders and ids."""
        return [envelope for entry in self.entries_of(name, Heard) for envelope in envelopes(entry)]

    def mail_to(self, name: str) -> list[tuple[str, str]]:
        """Return the messages that a member has read, each with its sender. The goal of the run is left out."""
        messages = [(envelope.sender, envelope.message) for envelope in self.envelopes_of(name)]
        texts = [(sender, message.content) for sender, message in messages if isinstance(message, Plain | Broadcast)]
        return [text for text in texts if text != (USER, self.goal)]

    def results_of(self, name: str) -> list[tuple[bool, str]]:
        """Return the results of a member's tool calls in the order of the calls: whether it succeeded, and the text."""
        items = [(item.number, read_entry(item.body)) for item in self.streams.logs[name] if isinstance(item, Record)]
        ids = [call_id(name, n, i) for n, entry in items if isinstance(entry, Said) for i in range(len(entry.calls))]
        found = [entry for _, entry in items if isinstance(entry, Did)]
        assert sorted(did.call for did in found) == sorted(ids), f"a call of {name} has no result, or two"
        return [(did.ok, did.text) for did in sorted(found, key=lambda did: ids.index(did.call))]

    def texts_of(self, name: str) -> list[str]:
        """Return the texts that a member's model said, in order."""
        return [entry.text for entry in self.entries_of(name, Said) if entry.text]

    @property
    def notices(self) -> list[Noticed]:
        """What the lead was told about its team."""
        return self.entries_of(LEAD, Noticed)
