"""What the agents of one team share in a process."""

from dataclasses import field

import anyio

from deskmate.core.values import frozen
from deskmate.ports import Store
from deskmate.runtime.events import Changed, Feed, TeamEvent
from deskmate.runtime.perform.calls.host_questions import HostAnswers
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.inbox_folds import InboxFolds
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster


class Starting:
    """The teammates that this process is starting, and that have not shown a status since.

    Until then, their status on the roster is from an earlier process.
    """

    def __init__(self, feed: Feed) -> None:
        self._names = frozenset[str]()
        self._moved = anyio.Event()
        feed.listen(self._hear)

    @property
    def names(self) -> frozenset[str]:
        """The teammates being started. Read this before the roster, because a status is written there first."""
        return self._names

    def begin(self, name: str) -> None:
        """Count a teammate as starting until it shows a status on the feed, or `end`."""
        self._set(self._names | {name})

    def end(self, name: str) -> None:
        """Count a teammate as started, or as given up."""
        self._set(self._names - {name})

    async def changed(self, since: frozenset[str]) -> None:
        """Return once the set of starting teammates differs from `since`."""
        while self._names == since:
            await self._moved.wait()

    def _hear(self, event: TeamEvent) -> None:
        if isinstance(event, Changed):
            self.end(event.member)

    def _set(self, names: frozenset[str]) -> None:
        if names != self._names:
            self._names = names
            self._moved.set()
            self._moved = anyio.Event()


@frozen
class TeamState:
    """One log writer, one fold of each shared stream and of each mailbox that others look at, one feed.

    A lead with two teams has one of these for each. Both feeds have the same outer listeners.
    """

    writer: LogWriter
    roster: Roster
    board: Board
    budget: Budget
    feed: Feed
    starting: Starting = field(init=False)
    inboxes: InboxFolds = field(init=False)
    host_answers: HostAnswers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starting", Starting(self.feed))
        object.__setattr__(self, "inboxes", InboxFolds(self.writer))
        object.__setattr__(self, "host_answers", HostAnswers())

    def beside(self, store: Store) -> "TeamState":
        """Return the state of another team of the same lead, in the same process."""
        writer = self.writer.into(store)
        roster = Roster(writer)
        budget = self.budget.beside(writer, roster)
        return TeamState(writer, roster, Board(writer, roster), budget, self.feed.of_team())
