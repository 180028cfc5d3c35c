"""The conversation as it is printed.

It listens to the feed and the session. `progress_lines` prints what the team does.
"""

import time
from collections.abc import Callable, Iterable

from deskmate.app import (
    LEAD,
    USER,
    Changed,
    Entry,
    Parked,
    Recorded,
    RetryDelta,
    Streamed,
    TeamEvent,
    TextDelta,
    Waiting,
    Working,
)
from deskmate.app.session import Session
from deskmate.faces.common.chat.budget_command import with_way_on
from deskmate.faces.common.chat.chat_lines import Talk
from deskmate.faces.common.listings import colours_of, letter_lines
from deskmate.faces.common.progress_lines import Progress
from deskmate.faces.common.terminal_text import clean
from deskmate.faces.common.text_tables import Cell, CleanLine
from deskmate.queries.member_view import Letter

_QUESTIONS = ("permission_request", "plan_approval_request")
SUMMARY = "(this is the lead's summary of the conversation so far)"


class Teller:
    """Print what happens. `words`: prints the lead's text. `streams`: print it line by line as it arrives."""

    def __init__(self, progress: Progress, words: Callable[[str], None], *, streams: bool) -> None:
        self._progress, self._words, self._streams = progress, words, streams
        self._line, self._shown = "", ""

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
                    self._progress.hear(Changed(member, Parked(with_way_on(status.reason))))
                elif status != Waiting("permission"):
                    self._progress.hear(event)
            case Recorded(member, number, entry) if member == LEAD:
                self._record(number, entry)
            case _:
                self._progress.hear(event)

    def put(self, lines: Iterable[CleanLine]) -> None:
        """Print the program's own lines."""
        self._progress.put(lines)

    def _record(self, number: int, entry: Entry) -> None:
        if entry.type == "said":
            self._say(entry.text)
            # The text is printed already. The rest of the entry is progress.
            entry = entry.model_copy(update={"text": ""})
        elif entry.type == "compacted":
            self._flush()
            if self._shown:
                self._progress.note(SUMMARY)
            self._shown = ""
        self._progress.hear(Recorded(LEAD, number, entry))

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
    """Print mail to the user, and questions, as they arrive."""

    def __init__(self, session: Session, talk: Talk, teller: Teller) -> None:
        self._session, self._talk, self._teller = session, talk, teller
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
                self._teller.put([(Cell("mail to you:"),), *letter_lines(letter, session.team, colours, time.time())])
        for question in session.questions:
            if question.key not in self._asked:
                self._asked.add(question.key)
                self._teller.put(self._talk.question(question))

    def _mail(self) -> list[Letter]:
        """Return mail to the user, without questions."""
        mail = (letter for letter in self._session.letters if letter.recipient == USER)
        return [letter for letter in mail if letter.kind not in _QUESTIONS]
