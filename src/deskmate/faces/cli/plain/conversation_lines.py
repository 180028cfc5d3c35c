"""The conversation as it is printed.

It listens to the feed and the session. `progress_lines` prints what the team does.
"""

import time
from collections.abc import Callable

from deskmate.app import Changed, Recorded, Streamed, TeamEvent
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.agent.entries import Compacted, Entry, Said
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.prompts import RetryDelta, TextDelta
from deskmate.core.team.messages import InputRequest, PermissionRequest, PlanRequest
from deskmate.core.team.status import Parked, Waiting, Working
from deskmate.faces.common.chat.budget_command import with_way_on
from deskmate.faces.common.chat.chat_lines import Talk
from deskmate.faces.common.items.mail_items import mail_items
from deskmate.faces.common.items.member_items import colours_of
from deskmate.faces.common.listings import mail_lines
from deskmate.faces.common.progress_lines import Progress
from deskmate.faces.common.terminal_text import clean
from deskmate.faces.common.text_tables import Cell
from deskmate.queries.member_view import Letter

SUMMARY = "(this is the lead's summary of the conversation so far)"


class Teller:
    """Print what happens. `words`: prints the lead's text. `streams`: print it line by line as it arrives."""

    def __init__(self, progress: Progress, words: Callable[[str], None], *, streams: bool) -> None:
        self._progress, self._words, self._streams = progress, words, streams
        self._line, self._shown = "", ""
        # Why members stopped, as far as that was printed.
        self.stops: dict[str, str] = {}

    def hear(self, event: TeamEvent) -> None:
        """Print an event if it is worth a line."""
        match event:
            case Streamed(member, TextDelta(text)) if member == LEAD:
                self._stream(text)
                # A complete line is printed already, so it is not live any more.
                if self._line.strip():
                    self._progress.hear(event)
            case Streamed(member, delta) if member == LEAD:
                self._flush()
                if isinstance(delta, RetryDelta):
                    self._shown = ""
                self._progress.hear(event)
            case Changed(member, status):
                if member == LEAD and not isinstance(status, Working):
                    # A reply that was cut short does not count as said.
                    self._flush()
                    self._shown = ""
                # The question itself is shown instead.
                if isinstance(status, Parked):
                    self.stops[member] = status.reason
                    self._progress.hear(Changed(member, Parked(with_way_on(status.reason, member))))
                elif status != Waiting("permission"):
                    self._progress.hear(event)
            case Recorded(member, number, entry) if member == LEAD:
                self._record(number, entry)
            case _:
                self._progress.hear(event)

    def _record(self, number: int, entry: Entry) -> None:
        if isinstance(entry, Said):
            self._say(entry.text)
        elif isinstance(entry, Compacted):
            self._flush()
            if self._shown:
                self._progress.note(SUMMARY)
            self._shown = ""
        # The lead's words are printed already. The rest of the entry is progress.
        self._progress.hear_entry(LEAD, number, entry, words=False)

    def _stream(self, text: str) -> None:
        self._line += text
        if self._streams and "\n" in self._line:
            whole, _, self._line = self._line.rpartition("\n")
            self._print(whole)

    def _flush(self) -> None:
        """Print the unfinished line, because something else follows."""
        line, self._line = self._line, ""
        if self._streams and line:
            self._print(line)

    def _print(self, whole: str) -> None:
        self._shown += whole
        self._words(clean(whole))

    def _say(self, text: str) -> None:
        """Print a reply, except for what was printed while it arrived."""
        rest = clean(_behind(self._shown, text)).strip("\n").rstrip()
        self._line, self._shown = "", ""
        if rest:
            self._words(rest)


def _behind(shown: str, text: str) -> str:
    """Return the part of a text not shown yet, or all of it if something else was shown. White space is ignored."""
    place = 0
    for character in "".join(shown.split()):
        while text[place : place + 1].isspace():
            place += 1
        if text[place : place + 1] != character:
            return text
        place += 1
    return text[place:]


class Letters:
    """Print mail to the user, and questions, as they arrive. `is_typing`: whether something is being typed."""

    def __init__(
        self, session: TeamSession, talk: Talk, progress: Progress, is_typing: Callable[[], bool] = lambda: False
    ) -> None:
        self._session, self._talk, self._progress, self._is_typing = session, talk, progress, is_typing
        self._asked: set[tuple[str, str]] = set()
        # The user has one mailbox, whichever team the lead moves to.
        self._read = max((letter.number for letter in self._mail()), default=0)

    def look(self) -> None:
        """Print new mail and questions."""
        session = self._session
        colours = colours_of(session.members)
        for letter in self._mail():
            if letter.number > self._read:
                self._read = letter.number
                for item in mail_items([letter]):
                    self._progress.put([(Cell("mail to you:"),), *mail_lines(item, session.team, colours, time.time())])
        for question in session.questions:
            if question.key not in self._asked:
                self._asked.add(question.key)
                self._progress.put(self._talk.answers.question(question))
                if self._is_typing():
                    self._talk.answers.surprise(question)

    def _mail(self) -> list[Letter]:
        """Return mail to the user, without questions."""
        mail = (letter for letter in self._session.letters if letter.envelope.recipient == USER)
        questions = PermissionRequest | PlanRequest | InputRequest
        return [letter for letter in mail if not isinstance(letter.envelope.message, questions)]
