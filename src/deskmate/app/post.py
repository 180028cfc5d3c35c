"""The post: mail as it flows between the desks of a team that is played here. `session` above shows it."""

from collections import deque

from deskmate.app.listening import Letter, letter
from deskmate.core.messages import envelope_in
from deskmate.core.names import USER, mail
from deskmate.runtime.office import Office

LETTERS_KEPT = 500


class Post:
    """The last letters of all mailboxes, in the order they were written."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._team = ""
        self._read: dict[str, int] = {}
        self._letters: deque[Letter] = deque(maxlen=LETTERS_KEPT)

    @property
    def letters(self) -> tuple[Letter, ...]:
        """What was written last, the oldest first."""
        return tuple(self._letters)

    @property
    def since(self) -> dict[str, int]:
        """How far each mailbox was read."""
        return dict(self._read)

    async def refresh(self) -> None:
        """Read what is new in every mailbox."""
        roster = self._office.roster.state
        if roster.team != self._team:
            # Another team: its mailboxes bear the same names.
            self._team, self._read = roster.team, {}
            self._letters.clear()
        news = [one for name in (USER, *roster.members) for one in await self._news(mail(name))]
        self._letters.extend(sorted(news, key=lambda one: one.at))

    async def _news(self, stream: str) -> list[Letter]:
        # The lead may have gone to another team between two reads; the next refresh begins anew there.
        if self._office.roster.state.team != self._team:
            return []
        after = self._read.get(stream, 0)
        items = await self._office.pen.store.read(stream, after, sync=False)
        self._read[stream] = items[-1].number if items else after
        return [letter(item.number, envelope, None) for item in items if (envelope := envelope_in(item))]
