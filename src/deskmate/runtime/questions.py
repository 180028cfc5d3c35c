"""Questions, live: what waits for a person's word anywhere in the team. `app` shows them to whoever is there.

`core.questions` says what is open; here the streams are read that tell it.
"""

from collections.abc import Sequence
from dataclasses import replace

from deskmate.core import questions
from deskmate.core.names import LEAD, USER, mail
from deskmate.core.questions import Question
from deskmate.core.records import Item
from deskmate.errors import StoreCorrupt
from deskmate.runtime.office import Office


class Questions:
    """The open questions of a team, as last read."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._team = ""
        self._read: dict[str, int] = {}
        self._state = questions.EMPTY

    @property
    def open(self) -> tuple[Question, ...]:
        """What waits for a word, in the order it was asked."""
        return self._state.open(self._office.roster.state)

    @property
    def since(self) -> dict[str, int]:
        """How far each stream was read that tells of questions."""
        return dict(self._read)

    def close(self, question: Question) -> None:
        """Take a question for answered before its answer was read back."""
        self._state = replace(self._state, over=self._state.over | {question.id})

    async def refresh(self) -> tuple[Question, ...]:
        """Read what is new and return what waits for a word."""
        team = self._office.roster.state.team
        if team != self._team:
            # Another team: its mailboxes bear the same names.
            self._team, self._read, self._state = team, {}, questions.EMPTY
        for owner in (USER, LEAD):
            self._state = questions.read_mail(self._state, await self._news(mail(owner)))
        for question in self.open:
            if question.member != LEAD:
                self._state = questions.read_mail(self._state, await self._news(mail(question.member)))
            for stream, behind in questions.journals(question).items():
                self._state = questions.read_log(self._state, await self._journal(stream, behind))
        return self.open

    async def _journal(self, stream: str, behind: int) -> Sequence[Item]:
        try:
            return await self._news(stream, behind)
        except StoreCorrupt:
            # It ends before the record that the question names: somebody made that up, or the end of it is lost.
            return ()

    async def _news(self, stream: str, behind: int = 0) -> Sequence[Item]:
        # The lead may have gone to another team between two reads; the next refresh begins anew there.
        if self._office.roster.state.team != self._team:
            return ()
        after = self._read.get(stream, behind)
        items = await self._office.pen.store.read(stream, after, sync=False)
        self._read[stream] = items[-1].number if items else after
        return items
