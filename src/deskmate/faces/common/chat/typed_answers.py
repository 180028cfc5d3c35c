"""Answers that are typed, and which question each of them means."""

from typing import TYPE_CHECKING

from deskmate.core.log.names import LEAD
from deskmate.errors import Refused
from deskmate.faces.common.chat.chat_commands import COMMANDS
from deskmate.faces.common.chat.mode_command import usage_error
from deskmate.faces.common.chat.question_text import NUMBERS, answered_line, question_lines
from deskmate.faces.common.handover.merge_question import MergeQuestion
from deskmate.faces.common.items.member_items import colours_of, sender_of, shown_name
from deskmate.faces.common.items.question_items import content_of, question_item
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import CleanLine

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession
    from deskmate.app.user_answers import Answer
    from deskmate.core.team.open_questions import Question


class TypedAnswers:
    """The open questions of a session, as one person has seen them. `merges`: whether finished work is merged."""

    def __init__(self, session: "TeamSession") -> None:
        self._session, self.merges = session, MergeQuestion(session)
        self._numbers: dict[tuple[str, str], int] = {}
        self._shown: tuple[str, str] | None = None
        self._front: tuple[str, str] | None = None
        self._seen: set[tuple[str, str]] = set()
        self._surprising: set[tuple[str, str]] = set()

    def number(self, question: "Question") -> int:
        """Return the number that answers a question here. A question keeps its number as long as this object exists."""
        for one in (*self._session.questions, question):
            self._numbers.setdefault(one.key, len(self._numbers) + 1)
        return self._numbers[question.key]

    def question(self, question: "Question") -> tuple[CleanLine, ...]:
        """Return the lines that show a question: who asks, for exactly what, and the possible answers."""
        self._take_as_seen(question)
        number = self.number(question)
        same = [n for n, one in self._open.items() if n < number and content_of(one) == content_of(question)]
        return tuple(question_lines(number, question, colours_of(self._session.members), same))

    def shown(self, question: "Question") -> None:
        """Mark a question as the one in front of the person. An answer without a number is then meant for it."""
        self._take_as_seen(question)
        self._front = question.key

    def _take_as_seen(self, question: "Question") -> None:
        self._shown = question.key
        self._seen.add(question.key)

    def surprise(self, question: "Question") -> None:
        """Mark a question that came while something was typed. The next answer must name it by its number."""
        self._surprising.add(question.key)

    def text_ended(self) -> None:
        """Forget what came while the text that is now carried out was typed."""
        self._surprising.clear()

    async def answer(self, answer: "Answer", rest: str) -> list[str]:
        """Carry out /yes, /always or /no with the rest of its line. Return the lines to show. Raises Refused."""
        numbers, words = _numbered(rest)
        if answer != "no" and ((rest and not numbers) or (words and not self.fills_in)):
            raise usage_error(COMMANDS[answer])
        # Look up every question before answering the first, so an unknown number changes nothing.
        questions = [self._asked(number) for number in dict.fromkeys(numbers)] or [self._asked(None)]
        return [line for one in questions for line in await self._answer_one(answer, one, words if numbers else rest)]

    async def _answer_one(self, answer: "Answer", question: "Question", words: str) -> list[str]:
        # The rule added by an earlier answer may already have allowed this one.
        if answer != "always" or question in self._session.questions:
            await self._session.answer(question, answer, words)
        return [answered_line(question, answer)]

    async def answer_words(self, words: str, short: "tuple[Answer, str] | None", to: str) -> list[str] | None:
        """Carry out words that answer a question, and return the lines to show. None if they answer none.

        `short`: the answer that they give to a question of a member, if any.
        """
        if to == LEAD and not self._session.questions and (merged := await self.merges.answer(words)) is not None:
            return merged
        return await self.answer_short(*short, to) if short else None

    async def answer_short(self, answer: "Answer", rest: str, to: str) -> list[str] | None:
        """Carry out a short answer and return the lines to show.

        Return None if it names no open question and its recipient asks nothing.
        """
        numbers, _ = _numbered(rest)
        asked = [one for one in self._session.questions if sender_of(one.member) == to]
        named = bool(numbers) and self._open.keys() >= set(numbers)
        if named or (asked and numbers and answer != "no"):
            return await self.answer(answer, rest)
        return await self._answer_one(answer, self._meant(asked), rest) if asked else None

    @property
    def fills_in(self) -> bool:
        """Whether a form is open, which takes words with a yes."""
        return any(one.input and one.input.fields for one in self._session.questions)

    def _meant(self, asked: "list[Question]") -> "Question":
        """Return the question that an answer without a number means: it was shown, and no other fits.

        On a screen it is the one in front. Raises Refused if no single question is meant.
        """
        front = [one for one in self._session.questions if one.key == self._front]
        meant = [one for one in asked if one in front] if front else asked
        if len(meant) != 1 or meant[0].key not in self._seen:
            numbers = [self.number(one) for one in asked]
            open_ = ", ".join(map(str, self._open))
            raise Refused(
                "More than one question may be meant", f"Add its number, as in: y {numbers[0]}. Open: {open_}"
            )
        return self._expected(meant[0])

    def _expected(self, question: "Question") -> "Question":
        """Return a question that an answer without a number means. Raises Refused if it came while that was typed."""
        if question.key in self._surprising:
            number = self.number(question)
            raise Refused(f"Question {number} came while you were typing", f"To answer it: y {number} or n {number}")
        return question

    def still_open(self, name: str) -> list[str]:
        """Return a line saying which questions of a member are still open after a message to it."""
        asked = [one for one in self._session.questions if sender_of(one.member) == name]
        if not asked:
            return []
        numbers = ", ".join(str(self.number(one)) for one in asked)
        which = f"question {numbers} is" if len(asked) == 1 else f"questions {numbers} are"
        always = ", a" if any(question_item(one).always for one in asked) else ""
        return [f"{which} still open: y{always} or n"]

    def unanswered(self, name: str) -> list[str]:
        """Return a line saying which questions are open, after a short answer to a member that asks nothing."""
        asked = [f"question {number} of {one_line(shown_name(one.member))}" for number, one in self._open.items()]
        which = "it" if len(asked) == 1 else "one"
        number = next(iter(self._open), 0)
        line = f"said to {name}. Still open: {', '.join(asked)}. To answer {which}: y {number}"
        return [line] if asked else []

    @property
    def _open(self) -> dict[int, "Question"]:
        return {self.number(question): question for question in self._session.questions}

    def _asked(self, number: int | None) -> "Question":
        """Return the open question with this number, or the only open one if the number is None.

        Without a number, it must be the question shown last. This way nobody answers a question they have not read.
        """
        there = self._open
        if not there:
            raise Refused("No question is open")
        if number is not None and number not in there:
            raise Refused(f"Question {number} is not open", f"Open: {', '.join(map(str, there))}")
        if number is not None:
            return there[number]
        only = next(iter(there.values()))
        if len(there) > 1 or self._shown != only.key:
            raise Refused("More than one question may be meant", f"Add its number. Open: {', '.join(map(str, there))}")
        return self._expected(only)


def _numbered(text: str) -> tuple[list[int], str]:
    """Return the question numbers at the start of a text, and the text after its first word."""
    first, rest = (*text.split(None, 1), "", "")[:2]
    return ([int(number) for number in first.split(",")], rest) if NUMBERS.fullmatch(first) else ([], rest)
