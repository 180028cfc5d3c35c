"""What a session shows of one team: roster, board, costs, open questions, mail."""

from collections import deque

from deskmate.core.log.names import BOARD, ROSTER, USER, mail
from deskmate.core.team.messages import envelope_in
from deskmate.queries.member_view import Letter
from deskmate.runtime.streams.question_list import QuestionList
from deskmate.runtime.streams.read_positions import ReadPositions
from deskmate.runtime.team_state import TeamState

LETTERS_KEPT = 500


class MailFeed:
    """The last letters of all mailboxes, in the order they were written."""

    def __init__(self, team_state: TeamState) -> None:
        self._team_state, self._marks = team_state, ReadPositions(team_state.writer.store)
        self._letters: deque[Letter] = deque(maxlen=LETTERS_KEPT)

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The latest letters, oldest first."""
        return tuple(self._letters)

    @property
    def since(self) -> dict[str, int]:
        """How far each mailbox was read."""
        return self._marks.since

    async def refresh(self) -> None:
        """Read what is new in every mailbox."""
        owners = (USER, *self._team_state.roster.state.members)
        news = [one for name in owners for one in await self._read(mail(name))]
        self._letters.extend(sorted(news, key=lambda one: one.envelope.timestamp))

    async def _read(self, stream: str) -> list[Letter]:
        items = await self._marks.of(stream)
        return [Letter(item.number, envelope) for item in items if (envelope := envelope_in(item))]


class ShownTeam:
    """One team as of the last look."""

    def __init__(self, team_state: TeamState) -> None:
        self.team_state = team_state
        self.questions, self.mail = QuestionList(team_state), MailFeed(team_state)

    async def look(self) -> None:
        """Read what is new."""
        await self.team_state.roster.refresh()
        await self.team_state.board.refresh()
        await self.team_state.budget.refresh()
        await self.questions.refresh()
        await self.mail.refresh()

    async def changed(self) -> None:
        """Return once something may be new since the last look."""
        since = {ROSTER: self.team_state.roster.state.number, BOARD: self.team_state.board.state.number}
        await self.team_state.writer.store.changed({**self.mail.since, **self.questions.since, **since})
