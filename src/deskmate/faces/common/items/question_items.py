"""Questions as items."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from deskmate.core.mcp.forms import FormField, example
from deskmate.core.mcp.server_logins import shown_host
from deskmate.core.policy.permissions import edits_files
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import InputRequest
from deskmate.core.team.open_questions import Question
from deskmate.core.values import frozen
from deskmate.faces.common.items.call_summaries import TELLING
from deskmate.faces.common.items.member_items import sender_of, shown_name
from deskmate.faces.common.items.text_changes import diff_of, other_arguments

if TYPE_CHECKING:
    from deskmate.app.user_answers import Answer

_INDENT = 2
# One line has far less room.
_SUBJECT_CHARS = 1000


@frozen
class Choice:
    """A possible answer. `effect`: what it does beyond a yes or a no."""

    answer: "Answer"
    effect: str = ""


@frozen
class QuestionItem:
    """A question. Its plan, arguments, diff and reason together leave out nothing that would be allowed.

    `asks`: what the asker does. `request`: what it wants to know. `subject`: what it asks for, in short. `always`: the
    answer that also decides later questions, if there is one. `current`: the file that a call would change, if known.
    """

    question: Question
    asks: str
    request: str
    subject: str
    always: Choice | None
    current: str = ""

    @property
    def sender(self) -> str:
        """The member that asks, or that started the subagent that asks."""
        return sender_of(self.question.member)

    @property
    def asker(self) -> str:
        """Who asks."""
        return shown_name(self.question.member)

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """Each argument that the diff does not show, with its value as text."""
        if self.question.input:
            return list(_input_lines(self.question.input))
        others = other_arguments(self.question.tool, self.question.arguments)
        return [(name, value_text(value, _INDENT)) for name, value in others.items()]

    @property
    def diff(self) -> str:
        """What the call would change in a file; empty if nothing."""
        return diff_of(self.question.tool, self.question.arguments, self.current)

    @property
    def reason(self) -> str:
        """Why it is asked; empty if that only repeats what the tool does."""
        if self.question.is_choice:
            return ""
        if asked := self.question.input:
            if asked.host is not None:
                return _WAITS
            return _KEPT if asked.fields is not None else _LINK
        return "" if self.question.reason == edits_files(self.question.tool) else self.question.reason

    @property
    def fields(self) -> tuple[FormField, ...]:
        """The fields of the form to fill in, if there is one."""
        return (self.question.input.fields or ()) if self.question.input else ()

    @property
    def example(self) -> str:
        """What to type after a yes, empty if nothing."""
        return example(self.fields) if self.fields else ""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The possible answers."""
        return (Choice("yes"), *((self.always,) if self.always else ()), Choice("no"))


def question_item(question: Question, current: str = "") -> QuestionItem:
    """Return a question as an item. `current`: the file that a call would change, if known."""
    match question.shake:
        case Shake.PLAN:
            subject, always = f"a plan: {question.plan}"[:_SUBJECT_CHARS], Choice("always", "yes, and accept edits")
            return QuestionItem(question, "submits a plan", "a plan", subject, always)
        case Shake.PERMISSION:
            rule = None if question.rule is None else Choice("always", f"adds the rule: {question.rule}")
            request = f"may I use {question.tool}?"
            return QuestionItem(question, f"asks: {request}", request, _subject(question), rule, current)
        case Shake.INPUT:
            asked = question.input
            assert asked is not None, "it asks for input"
            if question.is_choice:
                count = len(asked.fields or ())
                what = "a question" if count == 1 else f"{count} questions"
                return QuestionItem(question, f"asks you {what}", what, asked.content[:_SUBJECT_CHARS], None)
            if asked.host is not None:
                return _host_item(question, asked, asked.host)
            wants = "an answer" if asked.fields is not None else "a page to be opened"
            asks = f"asks for the MCP server {asked.server}, which wants {wants}"
            subject = f"{asked.server}: {asked.content}"[:_SUBJECT_CHARS]
            return QuestionItem(question, asks, f"may the MCP server {asked.server} have {wants}?", subject, None)
        case unreachable:
            assert_never(unreachable)


def _host_item(question: Question, asked: InputRequest, host: str) -> QuestionItem:
    request = f"may a command reach {host}?"
    always = Choice("always", f"adds the rule: {question.rule}") if question.rule else None
    return QuestionItem(question, f"asks: {request}", request, f"{host}: {asked.content}"[:_SUBJECT_CHARS], always)


def _input_lines(asked: InputRequest) -> Iterator[tuple[str, str]]:
    if asked.host is not None:
        yield "host", asked.host
        yield "command", asked.content
        return
    if asked.server:
        yield "the server says", asked.content
    if asked.url is not None:
        yield "it wants you to open", asked.url
        yield "which leads to", shown_host(asked.url)
    for field in asked.fields or ():
        yield field.name, field.shown


_WAITS = "the command runs and waits. A yes holds until Deskmate ends"
_KEPT = "the answer goes to the server and into the records of the team. Never type a password here"
_LINK = "Deskmate does not open the link. If you trust it, open it yourself, then answer yes"


def _subject(question: Question) -> str:
    """Return the tool and its arguments, the most important first."""
    arguments = question.arguments
    names = dict.fromkeys(name for name in (*TELLING, *arguments) if name in arguments)
    values = "; ".join(value_text(arguments[name])[:_SUBJECT_CHARS] for name in names)
    return f"{question.tool} {values}"[:_SUBJECT_CHARS].rstrip()


def content_of(question: Question) -> str:
    """Return everything in a question except who asks and when, for comparing questions."""
    # A server that asks several times wants several answers.
    each = (question.input.host or question.id) if question.input else None
    asked = [question.shake, question.tool, question.arguments, question.plan, question.reason, question.rule, each]
    return json.dumps(asked, sort_keys=True, default=str)


Group: TypeAlias = tuple[Question, ...]


def question_groups(questions: Iterable[Question]) -> list[Group]:
    """Return questions grouped by content, so that a group differs only in who asks.

    The first of each sets the order.
    """
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(content_of(question), []).append(question)
    return [tuple(group) for group in found.values()]


def value_text(value: Any, indent: int | None = None) -> str:
    """Return an argument as text. A value that is not a string becomes JSON, indented by `indent` if given."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=indent, default=str)
