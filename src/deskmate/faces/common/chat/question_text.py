"""Questions as lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from deskmate.core.log.names import agent_id
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.items.question_items import QuestionItem, question_item
from deskmate.faces.common.terminal_text import TAB_CELLS, exact, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine

if TYPE_CHECKING:
    from deskmate.app.user_answers import Answer

NUMBERS = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")


def shell_lines(question: Question, colours: Mapping[str, str]) -> list[CleanLine]:
    """Return a complete question for answering from a shell, by its id."""
    item, id_ = question_item(question), exact(question.id)
    always = f", always ({exact(item.always.effect)})" if item.always else ""
    words = "" if question.of_server else " WORDS"
    return [
        _head(f"{id_}: ", item, item.asks, colours),
        *detail_lines(item),
        (Cell(f"answer with: deskmate answer {id_} yes{_typed(item)}{always} or no{words}"),),
    ]


def question_lines(
    number: int, question: Question, colours: Mapping[str, str], same: Sequence[int] = ()
) -> list[CleanLine]:
    """Return a complete question: every argument unchanged, the reason, and the possible answers.

    `same`: numbers of questions shown earlier that ask for the same. If there are any, the question takes two lines.
    """
    item, numbers = question_item(question), ",".join(map(str, (*same, number)))
    always = f", a {numbers} ({exact(item.always.effect)})" if item.always else ""
    words = "" if question.of_server else " WORDS"
    asks = f"asks the same as question {same[0]}: {subject_line(item)}" if same else item.asks
    return [
        _head(f"question {number}: ", item, asks, colours),
        *(() if same else detail_lines(item)),
        (Cell(f"answer{' all of them' if same else ''} with y {numbers}{_typed(item)}{always} or n {numbers}{words}"),),
    ]


def _typed(item: QuestionItem) -> str:
    """Return what to type after a yes, for a form."""
    return f" {exact(item.example)}" if item.example else ""


def _head(before: str, item: QuestionItem, asks: str, colours: Mapping[str, str]) -> CleanLine:
    return Cell(before), Cell(one_line(item.asker), colours.get(item.sender)), Cell(f" {exact(asks)}")


def detail_lines(item: QuestionItem) -> Iterator[CleanLine]:
    """Yield everything that is asked for, indented: the plan, or each argument, what would change, and the reason."""
    for line in _details(item):
        yield (Cell(f"    {line}".rstrip()),)


def _details(item: QuestionItem) -> Iterator[str]:
    if item.question.plan:
        yield from _exact_lines(item.question.plan)
    for name, value in item.arguments:
        lines = _exact_lines(value)
        if len(lines) == 1:
            yield f"{exact(name)}: {lines[0]}"
        else:
            yield f"{exact(name)}:"
            yield from (f"    {line}" for line in lines)
    if item.diff:
        yield from (f"{line[:1]} {_exact_lines(line[1:])[0]}" for line in item.diff.split("\n"))
    if item.reason:
        yield f"because {one_line(item.reason)}"


def _exact_lines(text: str) -> list[str]:
    return [exact(line) for line in text.expandtabs(TAB_CELLS).split("\n")]


def answered_line(question: Question, answer: "Answer", team: str = "") -> str:
    """Return the line that confirms an answer."""
    item = question_item(question)
    whom = one_line(agent_id(item.asker, team) if team else item.asker)
    effect = exact(item.always.effect) if item.always and answer == "always" else ""
    if question.shake is Shake.PLAN:
        return f"{f'{effect},' if effect else answer} to {whom}: {subject_line(item)}"
    return f"{answer} to {whom}: {subject_line(item)}{f' ({effect})' if effect else ''}"


def subject_line(item: QuestionItem) -> str:
    """Return one line that says what is asked for, with invisible characters written out."""
    return " ".join(exact(item.subject.replace("\n", " ").replace("\t", " ")).split())


# Short answers, as people type them in any shell.
_SHORT: dict[str, "Answer"] = {"y": "yes", "yes": "yes", "a": "always", "always": "always", "n": "no", "no": "no"}


def short_answer(text: str, *, fills_in: bool = False) -> "tuple[Answer, str] | None":
    """Return the answer that a text gives and the words after it, or None if the text is not an answer.

    Only a no may have words after it: "yes, but use tabs" is more than a yes. With `fills_in`, a form is open: then
    a yes with the number of the question may have words, too.
    """
    first, *rest = text.split(None, 1) or [""]
    answer, words = _SHORT.get(first.lower().rstrip(",.:;!")), rest[0] if rest else ""
    number = words.partition(" ")[0] if fills_in else words
    if answer is None or (words and answer != "no" and not NUMBERS.fullmatch(number)):
        return None
    return answer, words
