"""What a session shows of one team: roster, board, costs, open questions, mail."""

from collections import deque
from dataclasses import replace

from deskmate.core.log.names import BOARD, IN_CHARGE, LEAD, ROSTER, USER, agent_id, mail
from deskmate.core.team.messages import Envelope, envelope_in
from deskmate.core.team.open_questions import Question
from deskmate.queries.member_view import Letter
from deskmate.runtime.streams.question_list import QuestionList
from deskmate.runtime.streams.read_positions import ReadPositions
from deskmate.runtime.team_state import TeamState

LETTERS_KEPT = 500


class MailFeed:
    """The last letters of all mailboxes, in the order they were written."""

    def __init__(self, team_state: TeamState, *, is_home: bool) -> None:
        self._team_state, self._marks, self._is_home = team_state, ReadPositions(team_state.writer.store), is_home
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
        """Read what is new in every mailbox. The user's own is shared by all teams of a lead."""
        owners = (*([] if self._is_home else [USER]), *self._team_state.roster.state.members)
        news = [one for name in owners for one in await self._read(mail(name))]
        self._letters.extend(sorted(news, key=lambda one: one.envelope.timestamp))

    async def _read(self, stream: str) -> list[Letter]:
        items = await self._marks.of(stream)
        return [Letter(item.number, envelope) for item in items if (envelope := envelope_in(item))]


class ShownTeam:
    """One team as of the last look. `is_home`: the lead works in another one, so names here are `name@team`."""

    def __init__(self, team_state: TeamState, *, is_home: bool = False) -> None:
        self.team_state, self._is_home = team_state, is_home
        self.questions, self.mail = QuestionList(team_state), MailFeed(team_state, is_home=is_home)

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """The questions that wait for the user, in the order they were asked."""
        return tuple(replace(one, member=self._name(one.member)) for one in self.questions.open)

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The latest mail, oldest first."""
        if not self._is_home:
            return tuple(replace(one, envelope=self._from_team(one.envelope)) for one in self.mail.letters)
        return tuple(replace(one, envelope=self._with_names(one.envelope)) for one in self.mail.letters)

    def _name(self, name: str) -> str:
        if not self._is_home or name in IN_CHARGE:
            return name
        return agent_id(name, self.team_state.roster.state.team)

    def _with_names(self, envelope: Envelope) -> Envelope:
        return replace(envelope, sender=self._name(envelope.sender), recipient=self._name(envelope.recipient))

    def _from_team(self, envelope: Envelope) -> Envelope:
        """Return an envelope whose sender is named as from this team. Mail to the user may be from another one."""
        is_here = envelope.team in ("", self.team_state.roster.state.team) or envelope.sender == LEAD
        return envelope if is_here else replace(envelope, sender=agent_id(envelope.sender, envelope.team))

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
