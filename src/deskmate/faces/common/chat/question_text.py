"""Questions as they are shown."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deskmate.app import Question
from deskmate.faces.common.listings import sender_of
from deskmate.faces.common.terminal_text import TAB_CELLS, exact, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine

if TYPE_CHECKING:
    from deskmate.app.session import Answer

NUMBERS = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")


def asker(question: Question) -> str:
    """Return the name of the asker. A subagent has no name, so it is shown as `SENDER (subagent)`."""
    sender = sender_of(question.member)
    return one_line(sender if sender == question.member else f"{sender} (subagent)")


def subject(question: Question) -> str:
    """Return one line that says what is asked for."""
    if question.shake == "plan":
        return f"a plan: {one_line(question.plan)}"
    values = (exact(value_text(value)) for value in question.arguments.values())
    return f"{exact(question.tool)} {'; '.join(values)}".rstrip()


def content_of(question: Question) -> str:
    """Return everything in a question except who asks and when, for comparing questions."""
    asked = [question.shake, question.tool, question.arguments, question.plan, question.reason, question.rule]
    return json.dumps(asked, sort_keys=True, default=str)


def shell_lines(question: Question, colours: Mapping[str, str]) -> list[CleanLine]:
    """Return a complete question for answering from a shell, by its id."""
    what = " hands in a plan" if question.shake == "plan" else f" asks: may I use {exact(question.tool)}?"
    name = Cell(asker(question), colours.get(sender_of(question.member)))
    id_ = exact(question.id)
    always = f", always ({means})" if (means := _always(question)) else ""
    return [
        (Cell(f"{id_}: "), name, Cell(what)),
        *((Cell(f"    {line}".rstrip()),) for line in _details(question)),
        (Cell(f"answer with: deskmate answer {id_} yes{always} or no WORDS"),),
    ]


def question_lines(
    number: int, question: Question, colours: Mapping[str, str], same: Sequence[int] = ()
) -> list[CleanLine]:
    """Return a complete question: every argument unchanged, the reason, and the possible answers.

    `same`: numbers of questions shown earlier that ask for the same. If there are any, the question takes two lines.
    """
    plan = question.shake == "plan"
    if same:
        what = f" {'hands in' if plan else 'asks'} the same as question {same[0]}: {subject(question)}"
        details: Iterable[str] = ()
    else:
        what = " hands in a plan" if plan else f" asks: may I use {exact(question.tool)}?"
        details = _details(question)
    name = Cell(asker(question), colours.get(sender_of(question.member)))
    return [
        (Cell(f"question {number}: "), name, Cell(what)),
        *((Cell(f"    {line}".rstrip()),) for line in details),
        (Cell(_answers(",".join(map(str, (*same, number))), question)),),
    ]


def _details(question: Question) -> Iterator[str]:
    if question.plan:
        yield from _exact_lines(question.plan)
    for name, value in question.arguments.items():
        lines = _exact_lines(value_text(value))
        if len(lines) == 1:
            yield f"{exact(name)}: {lines[0]}"
        else:
            yield f"{exact(name)}:"
            yield from (f"    {line}" for line in lines)
    if question.reason:
        yield f"because {one_line(question.reason)}"


def _exact_lines(text: str) -> list[str]:
    return [exact(line) for line in text.expandtabs(TAB_CELLS).split("\n")]


def _answers(numbers: str, question: Question) -> str:
    all_ = "answer all of them" if "," in numbers else "answer"
    always = f", a {numbers} ({means})" if (means := _always(question)) else ""
    return f"{all_} with y {numbers}{always} or n {numbers} WORDS"


def _always(question: Question) -> str:
    """Return what `always` does beyond a yes, or "" if it is not an answer to this question."""
    if question.shake == "plan":
        return "yes, and accept edits"
    return f"adds the rule: {exact(question.rule)}" if question.rule is not None else ""


def answered_line(question: Question, answer: "Answer", team: str = "") -> str:
    """Return the line that confirms an answer."""
    whom = f"{asker(question)}@{team}" if team else asker(question)
    if question.shake == "plan":
        word = "yes, and accept edits," if answer == "always" else answer
        return f"{word} to {whom}: {subject(question)}"
    rule = f"; from now on: {one_line(question.rule or '')}" if answer == "always" else ""
    return f"{answer} to {whom}: {subject(question)}{rule}"


# Short answers, as people type them in any shell.
_SHORT: dict[str, "Answer"] = {"y": "yes", "yes": "yes", "a": "always", "always": "always", "n": "no", "no": "no"}


def short_answer(text: str) -> "tuple[Answer, str] | None":
    """Return the answer that a text gives and the words after it, or None if the text is not an answer.

    Only a no may have words after it: "yes, but use tabs" is more than a yes.
    """
    first, *rest = text.split(None, 1) or [""]
    answer, words = _SHORT.get(first.lower().rstrip(",.:;!")), rest[0] if rest else ""
    if answer is None or (words and answer != "no" and not NUMBERS.fullmatch(words)):
        return None
    return answer, words


def value_text(value: Any, indent: int | None = None) -> str:
    """Return an argument as text. A value that is not a string becomes JSON, indented by `indent` if given."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=indent, default=str)
