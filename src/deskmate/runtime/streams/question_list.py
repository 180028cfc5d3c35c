"""The open questions of a team.

This reads the streams. `core.team.open_questions` decides from them what is open.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.log.records import Item
from deskmate.core.team import open_questions
from deskmate.core.team.open_questions import Question
from deskmate.errors import StoreCorrupt
from deskmate.runtime.streams.read_positions import ReadPositions
from deskmate.runtime.team_state import TeamState


class QuestionList:
    """The open questions of a team, as last read."""

    def __init__(self, team_state: TeamState) -> None:
        self._team_state, self._marks = team_state, ReadPositions(team_state.writer.store)
        self._state = open_questions.EMPTY
        self._closed: set[tuple[str, str]] = set()

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions that wait for an answer, in the order they were asked."""
        return tuple(one for one in self._state.open(self._team_state.roster.state) if one.key not in self._closed)

    @property
    def since(self) -> dict[str, int]:
        """How far each stream with questions was read."""
        return self._marks.since

    @contextmanager
    def closing(self, question: Question) -> Iterator[None]:
        """Count a question as answered before its answer is read back. If this fails, it is open again."""
        self._closed.add(question.key)
        try:
            yield
        except BaseException:
            self._closed.discard(question.key)
            raise

    async def refresh(self) -> tuple[Question, ...]:
        """Read what is new and return the open questions."""
        for owner in (USER, LEAD):
            await self._hear(owner)
        for question in self._state.open(self._team_state.roster.state):
            if question.member != LEAD:
                await self._hear(question.member)
            for stream, behind in open_questions.journals(question).items():
                if items := await self._journal(stream, behind):
                    self._state = open_questions.read_log(self._state, items)
        self._closed.intersection_update(one.key for one in self._state.asked.values())
        return self.open

    async def _hear(self, owner: str) -> None:
        # There is mostly nothing new, and reading would copy everything known so far.
        if items := await self._marks.of(mail(owner)):
            self._state = open_questions.read_mail(self._state, self._team_state.roster.state, items)

    async def _journal(self, stream: str, behind: int) -> Sequence[Item]:
        try:
            return await self._marks.of(stream, behind)
        except StoreCorrupt:
            # The stream ends before the record that the question names. That record was invented, or the end is lost.
            return ()
