"""Carries out one line: a message, or a slash command.

Faces with a conversation call `await Talk(session).carry_out(line)` and show the result. `chat_commands` lists what
can be typed. `deskmate.app.session` does the work.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio.to_thread

from deskmate.core.log.names import ALL, LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.chat.budget_command import budget_lines, parked_line, set_cap
from deskmate.faces.common.chat.chat_commands import COMMANDS, ChatCommand, nearest
from deskmate.faces.common.chat.completions import is_path
from deskmate.faces.common.chat.question_text import (
    NUMBERS,
    answered_line,
    question_lines,
    short_answer,
)
from deskmate.faces.common.error_log import error_lines
from deskmate.faces.common.items.member_items import MemberItem, colours_of, member_items, sender_of, shown_name
from deskmate.faces.common.items.question_items import content_of, question_item
from deskmate.faces.common.listings import board_lines, cost_lines, inbox_lines, member_lines, sandbox_of
from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet
from deskmate.queries.member_view import look_at_inbox
from deskmate.queries.team_view import look_at_cost

if TYPE_CHECKING:
    from deskmate.app.session import Answer, Session
    from deskmate.core.team.open_questions import Question


@dataclass(frozen=True, slots=True)
class Feedback:
    """What to show for a typed line.

    `lines`: cells side by side, already cleaned, some in the colour of a member. `leaves`: the conversation is over.
    `refused`: the line could not be carried out.
    """

    lines: tuple[CleanLine, ...] = ()
    leaves: bool = False
    refused: bool = False


Lines: TypeAlias = "list[CleanLine]"


class Talk:
    """The typed side of a conversation. `cells`: returns how wide lines may be, or None for any width."""

    def __init__(self, session: "Session", cells: Callable[[], int | None] = lambda: None) -> None:
        self._session, self._cells = session, cells
        self._numbers: dict[tuple[str, str], int] = {}
        self._shown: tuple[str, str] | None = None
        self._front: tuple[str, str] | None = None
        self._seen: set[tuple[str, str]] = set()

    async def carry_out(self, line: str) -> Feedback:
        """Carry out a typed line. If that is not possible, nothing changes and the feedback says why."""
        text = line.strip()
        try:
            if text == "/quit":
                return Feedback(leaves=True)
            return Feedback(tuple(await self._carry_out(text)))
        except DeskmateError as error:
            return Feedback(tuple(line for text in error_lines(error) for line in _plain(text)), refused=True)

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
        return tuple(question_lines(number, question, self._colours, same))

    def shown(self, question: "Question") -> None:
        """Mark a question as the one in front of the person. An answer without a number is then meant for it."""
        self._take_as_seen(question)
        self._front = question.key

    def _take_as_seen(self, question: "Question") -> None:
        self._shown = question.key
        self._seen.add(question.key)

    # -- words and commands -----------------------------------------------------------------------

    async def _carry_out(self, text: str) -> Lines:
        if text[:2] in ("//", "@@"):
            text = text[1:]
        elif text.startswith("/"):
            return await self._command(text)
        elif text.startswith("@"):
            return await self._tell(text)
        return await self._speak(text, LEAD) if text else []

    async def _tell(self, text: str) -> Lines:
        name, words = _parted(text[1:])
        if not name or not words:
            raise Refused(
                "@ needs a name and a message",
                "To write to a teammate: @NAME WORDS\nTo send this text to the lead, start it with @@.",
            )
        name = self._session.spelled(name)
        if name == USER:
            raise Refused("'user' is you")
        if self._is_file(name):
            return await self._speak(text[1:], LEAD)
        if name.lower() == ALL:
            reached = await self._session.say_to_all(words)
            return _plain(f"said to {', '.join(reached)}")
        return await self._speak(words, name)

    def _is_file(self, name: str) -> bool:
        """Return whether a mention means a file of the workspace, not somebody on the team."""
        known = {ALL, *(member.name for member in self._session.members)}
        return name not in known and is_path(self._session.workspace, name)

    async def _speak(self, words: str, to: str) -> Lines:
        """Answer an open question if the words are a short answer to it. Otherwise send them. Questions stay open."""
        short = short_answer(words)
        if short and (answered := await self._answer_short(*short, to)) is not None:
            return answered
        await self._session.say(words, to=to)
        said: Lines = [] if to == LEAD else [(Cell("said to "), Cell(to, self._colours.get(to)))]
        if short and (unanswered := self._unanswered(to)):
            said = unanswered
        return [*said, *self._still_open(to), *self._capped(to)]

    async def _command(self, text: str) -> Lines:
        name, rest = _parted(text[1:])
        command = COMMANDS.get(name)
        if command is None:
            near = nearest(name)
            hint = f"Did you mean /{near.name}?" if near else "To see all commands: /help"
            raise Refused(
                f"There is no command '/{name[:80]}'", f"{hint}\nTo send this text to the lead: //{name[:80]}"
            )
        words = rest.split()
        if not command.fits(words):
            raise _usage(command)
        match name:
            case "team" | "tasks" | "inbox" | "cost" | "questions" | "help":
                return await self._show(name, words)
            case "yes" | "always" | "no":
                return await self._answer(name, rest)
            case "mode":
                return await self._mode(rest)
            case "interrupt" | "resume" | "stop":
                return await self._direct(name, words[0] if words else LEAD)
            case "model":
                return self._model(rest)
            case "budget":
                return await self._budget(words)
            case _:
                await self._session.make_room(rest)
                return _plain("The lead's conversation is summarised as soon as no tool call is running")

    # -- what is shown ----------------------------------------------------------------------------

    async def _show(self, name: str, words: list[str]) -> Lines:
        session, sheet = self._session, Sheet(self._cells(), colour=False)
        match name:
            case "team":
                return member_lines(session.team, self._members, sheet, time.time())
            case "tasks":
                return board_lines(session.team, session.board, self._colours, sheet)
            case "inbox":
                look = partial(look_at_inbox, session.workspace, session.team, words[0] if words else LEAD)
                seen = await anyio.to_thread.run_sync(look)
                return [*inbox_lines(seen, time.time()), *_damage(seen.damage)]
            case "cost":
                cost = await anyio.to_thread.run_sync(look_at_cost, session.workspace, session.team)
                return [*cost_lines(cost, sheet), *_damage(cost.damage)]
            case "questions":
                shown = [line for one in session.questions for line in self.question(one)]
                return shown or _plain("No question is open")
            case _:
                return _help(sheet)

    @property
    def _members(self) -> list[MemberItem]:
        return member_items(self._session.members, self._session.board, self._session.spending)

    @property
    def _colours(self) -> dict[str, str]:
        return colours_of(self._session.members)

    # -- what is changed --------------------------------------------------------------------------

    async def _answer(self, answer: "Answer", rest: str) -> Lines:
        numbers, words = _numbered(rest)
        if rest and not numbers and answer != "no":
            raise _usage(COMMANDS[answer])
        # Look up every question before answering the first, so an unknown number changes nothing.
        questions = [self._asked(number) for number in dict.fromkeys(numbers)] or [self._asked(None)]
        return [line for one in questions for line in await self._answer_one(answer, one, words if numbers else rest)]

    async def _answer_one(self, answer: "Answer", question: "Question", words: str) -> Lines:
        # The rule added by an earlier answer may already have allowed this one.
        if answer != "always" or question in self._session.questions:
            await self._session.answer(question, answer, words)
        return _plain(answered_line(question, answer))

    async def _answer_short(self, answer: "Answer", rest: str, to: str) -> "Lines | None":
        """Carry out a short answer. Return None if it names no open question and its recipient asks nothing."""
        numbers, _ = _numbered(rest)
        asked = [one for one in self._session.questions if sender_of(one.member) == to]
        named = bool(numbers) and self._open.keys() >= set(numbers)
        if named or (asked and numbers and answer != "no"):
            return await self._answer(answer, rest)
        return await self._answer_one(answer, self._meant(asked), rest) if asked else None

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
        return meant[0]

    def _still_open(self, name: str) -> Lines:
        """Return a line saying which questions of a member are still open after a message to it."""
        asked = [one for one in self._session.questions if sender_of(one.member) == name]
        if not asked:
            return []
        numbers = ", ".join(str(self.number(one)) for one in asked)
        which = f"question {numbers} is" if len(asked) == 1 else f"questions {numbers} are"
        always = ", a" if any(question_item(one).always for one in asked) else ""
        return _plain(f"{which} still open: y{always} or n")

    def _unanswered(self, name: str) -> Lines:
        """Return a line saying which questions are open, after a short answer to a member that asks nothing."""
        asked = [f"question {number} of {one_line(shown_name(one.member))}" for number, one in self._open.items()]
        which = "it" if len(asked) == 1 else "one"
        number = next(iter(self._open), 0)
        line = f"said to {name}. Still open: {', '.join(asked)}. To answer {which}: y {number}"
        return _plain(line) if asked else []

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
        return only

    async def _direct(self, deed: str, name: str) -> Lines:
        session = self._session
        match deed:
            case "interrupt":
                await session.interrupt(name)
                return _plain(f"{name} is interrupted. It waits until you write to it")
            case "resume":
                if capped := self._capped(name):
                    return capped
                await session.go_on(name)
                return _plain(f"{name} continues")
            case _:
                await session.stop(name)
                return _plain(f"{name} was asked to leave. To see whether it has: /team")

    def _capped(self, name: str) -> Lines:
        """Return a line naming the cap that keeps a member from answering, if there is one."""
        why = self._session.capped(name)
        return _plain(parked_line(name, why)) if why else []

    async def _budget(self, words: list[str]) -> Lines:
        if len(words) == 1:
            raise _usage(COMMANDS["budget"])
        lines = await set_cap(self._session, *words) if words else budget_lines(self._session)
        return [line for text in lines for line in _plain(text)]

    async def _mode(self, rest: str) -> Lines:
        first, second = _parted(rest)
        if not first:
            return self._permitted()
        if first == "drop":
            return await self._drop(second)
        if first == "delegate":
            return await self._delegate(second)
        modes = [mode.value for mode in Mode]
        if first not in modes:
            raise Refused(f"There is no mode '{one_line(first)[:80]}'", f"Modes: {', '.join(modes)}, delegate")
        if len(second.split()) > 1:
            raise _usage(COMMANDS["mode"])
        await self._session.set_mode(Mode(first), second or None)
        return _plain(f"mode of {second or 'the team'} from now on: {first}")

    async def _delegate(self, rest: str) -> Lines:
        if rest not in ("", "on", "off"):
            raise Refused("Usage: /mode delegate, or /mode delegate off")
        delegates = rest != "off"
        await self._session.delegate(delegates)
        if delegates:
            return _plain("The lead now delegates: its teammates do the work. To end it: /mode delegate off")
        return _plain("The lead no longer delegates")

    async def _drop(self, rule: str) -> Lines:
        rules = self._session.permitted.rules
        if rule not in rules:
            if rule in self._session.permitted.own:
                raise Refused(
                    f"The rule '{one_line(rule)[:80]}' is in your settings", "Remove it from the settings file."
                )
            there = f"Rules: {', '.join(rules)}" if rules else "There are no rules."
            raise Refused(f"There is no rule '{one_line(rule)[:80]}'", there)
        await self._session.drop_rules([rule])
        return _plain(f"removed the rule: {rule}")

    def _permitted(self) -> Lines:
        permitted = self._session.permitted
        own = [f"{name}: {mode.value}" for name, mode in permitted.modes.items()]
        rules = [f"rule: {rule}" for rule in permitted.rules]
        rules += [f"rule in your settings: {rule}" for rule in permitted.own]
        head = [f"mode: {permitted.mode.value}", f"commands: {sandbox_of(permitted.sandbox)}"]
        planning = [f"in plan mode: {', '.join(permitted.planning)}"] if permitted.planning else []
        planning += ["the lead delegates"] if permitted.delegates else []
        return [line for text in [*head, *own, *planning, *rules] for line in _plain(text)]

    def _model(self, name: str) -> Lines:
        if not name:
            return _plain(f"model: {self._session.model}")
        return _plain(f"model from now on: {self._session.choose_model(name)}")


def _parted(text: str) -> tuple[str, str]:
    """Return the first word of a text, and the rest as it was typed."""
    word, *rest = text.split(None, 1) or [""]
    return word, rest[0] if rest else ""


def _numbered(text: str) -> tuple[list[int], str]:
    """Return the question numbers at the start of a text, and the text after its first word."""
    first, rest = _parted(text)
    return ([int(number) for number in first.split(",")], rest) if NUMBERS.fullmatch(first) else ([], rest)


def _plain(text: str) -> Lines:
    return [(Cell(line),) for line in clean(text).splitlines()]


def _damage(damage: tuple[str, ...]) -> Lines:
    return [(Cell(one_line(f"damaged: {words}")),) for words in damage]


def _usage(command: ChatCommand) -> Refused:
    return Refused(f"Usage: {command.usage} ({command.about})")


def _help(sheet: Sheet) -> Lines:
    words = [["WORDS", "say something to the lead"], ["@NAME WORDS", "say something to a teammate"]]
    words.append(["@all WORDS", "say something to everybody on the team"])
    rows = [*words, *([command.usage, command.about] for command in COMMANDS.values())]
    return sheet.lines([*rows, ["//WORDS, @@WORDS", "say something that begins with / or @"]], gives=1)
