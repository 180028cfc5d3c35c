"""Questions with choices that a member asks the user with `AskUser`, as the form in which they are answered."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from deskmate.core.mcp.forms import FormField
from deskmate.core.team.messages import InputRequest
from deskmate.errors import BadInput

MOST_ASKED = 4
_FEWEST, _MOST_OPTIONS = 2, 6
_TEXT, _LABEL, _NOTE, _HEADER = 2_000, 100, 500, 40


def _printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("write it on one line, with characters that can be seen")
    return text.strip()


_Line = Annotated[str, AfterValidator(_printable)]


class Option(BaseModel):
    """A choice. `description`: what it means."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    label: _Line = Field(max_length=_LABEL)
    description: str = Field("", max_length=_NOTE)


class UserQuestion(BaseModel):
    """One question. `header`: a name for it, which models trained on similar tools give. `multi_select`: several
    options may be chosen.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)

    question: str = Field(min_length=1, max_length=_TEXT)
    header: SkipJsonSchema[_Line | None] = Field(None, max_length=_HEADER)
    options: tuple[Option, ...] = Field(min_length=_FEWEST, max_length=_MOST_OPTIONS)
    multi_select: bool = Field(False, validation_alias=AliasChoices("multi_select", "multiSelect"))


def check_questions(questions: Sequence[UserQuestion]) -> None:
    """Raise BadInput if answers to these questions could not be told apart."""
    for what, names in [
        ("questions", _names(questions)),
        *(("options", [option.label for option in one.options]) for one in questions),
    ]:
        folded = [name.casefold() for name in names]
        if same := next((name for name in names if folded.count(name.casefold()) > 1), None):
            raise BadInput(f"Two {what} have the same name: {same[:_LABEL]}", "Give each its own.")


def input_request(call: str, arguments: Mapping[str, Any]) -> InputRequest:
    """Return what to ask the user for a call with these arguments."""
    questions = [UserQuestion.model_validate(one) for one in arguments["questions"]]
    content = " ".join(one.question.strip() for one in questions)
    fields = tuple(map(_field, _names(questions), questions))
    return InputRequest(request_id=call, call=call, server="", content=content, fields=fields)


def _field(name: str, question: UserQuestion) -> FormField:
    return FormField(
        name=name,
        kind="choices" if question.multi_select else "choice",
        about=question.question.strip(),
        required=True,
        choices=tuple(option.label for option in question.options),
        notes=tuple(" ".join(option.description.split()) for option in question.options),
        # An empty list answers nothing.
        least=1 if question.multi_select else None,
        free=True,
    )


def _names(questions: Sequence[UserQuestion]) -> list[str]:
    """Return the headers as words that a person can type, or q1, q2, … if there are none."""
    headers = [re.sub(r"\W+", "_", one.header or "").strip("_").lower() for one in questions]
    return [header or f"q{number}" for number, header in enumerate(headers, 1)]
