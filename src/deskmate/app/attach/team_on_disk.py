"""A team in any state, as somebody looks at it: running, stopped or finished.

It only reads. What the user does to the team goes through `app.user_actions` and `app.question_answers`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import to_thread

from deskmate.app.build import team_state_of
from deskmate.app.sessions.shown_team import ShownTeam
from deskmate.config import Settings
from deskmate.core.agent.entries import Entry
from deskmate.core.log.names import BOARD, ROSTER, SPEND, log
from deskmate.core.log.records import Item, Record
from deskmate.core.team.members import RosterState
from deskmate.core.team.open_questions import Question
from deskmate.core.team.spending import Spending, Spent, read_spent
from deskmate.core.team.tasks import BoardState
from deskmate.queries.member_view import Letter, entries_in
from deskmate.queries.stream_reader import Reading, reading_of, telling
from deskmate.runtime.events import Feed
from deskmate.runtime.team_state import TeamState
from deskmate.trust.folders import open_store


class TeamOnDisk:
    """One team as of the last look."""

    def __init__(self, reading: Reading, team_state: TeamState) -> None:
        self._reading, self._state = reading, team_state
        self._shown = ShownTeam(team_state)
        self.running = False

    async def look(self) -> None:
        """Read what is new."""
        await self._shown.look()
        self.running = await to_thread.run_sync(self._reading.holder) is not None

    async def changed(self, logs: Mapping[str, int]) -> None:
        """Return once something may be new since the last look, or in the transcripts of these members."""
        state = self._state
        since = {ROSTER: state.roster.state.number, BOARD: state.board.state.number, SPEND: state.budget.state.number}
        shown = {**self._shown.mail.since, **self._shown.questions.since}
        await state.writer.store.changed({**shown, **since, **{log(name): number for name, number in logs.items()}})

    @property
    def team(self) -> str:
        """The name of the team."""
        return self._reading.team

    @property
    def roster(self) -> RosterState:
        """Who is on the team, and what is permitted."""
        return self._state.roster.state

    @property
    def board(self) -> BoardState:
        """The board."""
        return self._state.board.state

    @property
    def spending(self) -> Spending:
        """What the team and each member have spent."""
        return self._state.budget.state

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions that wait for the user, in the order they were asked."""
        return self._shown.questions.open

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The latest mail, oldest first."""
        return self._shown.mail.letters

    @property
    def mail_positions(self) -> dict[str, int]:
        """How far each mailbox was read. The mail is the same as long as this is."""
        return dict(self._shown.mail.since)

    async def entries(self, name: str, after: int = 0) -> Sequence[tuple[int, Entry]]:
        """Return a member's entries after a number."""
        return list(entries_in(await self.records(log(name), after)))

    async def calls(self, after: int = 0) -> Sequence[tuple[int, Spent]]:
        """Return the model calls of the team after a number."""
        items = await self.records(SPEND, after)
        return [
            (item.number, spent)
            for item in items
            if isinstance(item, Record) and isinstance(spent := read_spent(item.body), Spent)
        ]

    async def records(self, stream: str, after: int = 0) -> Sequence[Item]:
        """Return the records of a stream after a number."""
        return await self._state.writer.store.read(stream, after, sync=False)


@asynccontextmanager
async def watched(folder: Path | None, team: str | None, settings: Settings) -> AsyncIterator[TeamOnDisk]:
    """Open a team to look at it, by default the one last written to. Raises Refused or StoreError."""
    reading = reading_of(folder, team)
    with telling(reading.workspace), open_store(reading.workspace, reading.team) as store:
        opened = TeamOnDisk(reading, team_state_of(store, settings, Feed()))
        await opened.look()
        yield opened
