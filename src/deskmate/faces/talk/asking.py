"""Questions as they are shown: who asks, exactly what for, and what can be answered. `talk` and faces show them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from deskmate.app import Question
from deskmate.faces.cli.tables import Cell, Line
from deskmate.faces.cli.texts import exact, one_line

_TAB_CELLS = 4


def asker(question: Question) -> str:
    """Return who asks in words: a subagent has no name, and is known by who sent it."""
    sender, colon, _ = question.member.partition(":")
    return one_line(f"{sender} (subagent)" if colon else sender)


def subject(question: Question) -> str:
    """Return on one line what is asked for."""
    if question.shake == "plan":
        return f"a plan: {one_line(question.plan)}"
    values = (exact(_text(value)) for value in question.arguments.values())
    return f"{exact(question.tool)} {'; '.join(values)}".rstrip()


def question_lines(number: int, question: Question, colours: Mapping[str, str]) -> list[Line]:
    """Return a question whole: every argument as it is, the reason, and what to answer with."""
    sender = question.member.partition(":")[0]
    what = "hands in a plan" if question.shake == "plan" else f"asks: may I use {exact(question.tool)}?"
    head = (Cell(f"question {number}: "), Cell(asker(question), colours.get(sender)), Cell(f" {what}"))
    return [
        head,
        *((Cell(f"    {line}".rstrip()),) for line in _details(question)),
        (Cell(_answers(number, question)),),
    ]


def _details(question: Question) -> Iterator[str]:
    if question.plan:
        yield from _exact_lines(question.plan)
    for name, value in question.arguments.items():
        lines = _exact_lines(_text(value))
        if len(lines) == 1:
            yield f"{exact(name)}: {lines[0]}"
        else:
            yield f"{exact(name)}:"
            yield from (f"    {line}" for line in lines)
    if question.reason:
        yield f"because {one_line(question.reason)}"


def _exact_lines(text: str) -> list[str]:
    return [exact(line) for line in text.expandtabs(_TAB_CELLS).split("\n")]


def _answers(number: int, question: Question) -> str:
    always = f", /always {number} (adds the rule: {exact(question.rule)})" if question.rule is not None else ""
    return f"answer with /yes {number}{always} or /no {number} WORDS"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
