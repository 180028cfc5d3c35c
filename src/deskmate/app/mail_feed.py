"""The mail of a running team as it flows."""

from collections import deque

from deskmate.core.log.names import USER, mail
from deskmate.core.team.messages import envelope_in
from deskmate.queries.member_view import Letter
from deskmate.runtime.streams.read_positions import ReadPositions
from deskmate.runtime.team_state import TeamState

LETTERS_KEPT = 500


class MailFeed:
    """The last letters of all mailboxes, in the order they were written."""

    def __init__(self, team_state: TeamState) -> None:
        self._team_state, self._marks = team_state, ReadPositions(team_state)
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
        if self._marks.turned():
            self._letters.clear()
        owners = (USER, *self._team_state.roster.state.members)
        news = [one for name in owners for one in await self._read(mail(name))]
        self._letters.extend(sorted(news, key=lambda one: one.envelope.timestamp))

    async def _read(self, stream: str) -> list[Letter]:
        items = await self._marks.of(stream)
        return [Letter(item.number, envelope) for item in items if (envelope := envelope_in(item))]
