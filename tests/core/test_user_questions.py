"""Questions with choices: what a member may ask, and what a person may answer."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from deskmate.core.agent.entries import PermissionAsked
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.mcp.forms import FormField, Value, example, read_values
from deskmate.core.team.messages import InputResponse, Message, PermissionResponse
from deskmate.core.user_questions import input_request
from deskmate.errors import BadInput
from deskmate.tools.team.ask_user import QuestionArguments
from tests.core.agent.test_memory import CALLING, after, changed, heard

pytestmark = pytest.mark.behaviour("ask-user")

STORE = {"label": "SQLite", "description": "one file"}
DATABASE = {"question": "Which database?", "options": [STORE, {"label": "Postgres, managed"}]}
PARTS = {"question": "Which parts?", "options": [{"label": "API"}, {"label": "Web"}], "multi_select": True}


def fields(*questions: dict[str, Any]) -> tuple[FormField, ...]:
    return input_request("lead:2.0", {"questions": questions}).fields or ()


def test_a_question_shows_its_options_with_their_numbers_and_what_they_mean() -> None:
    (field,) = fields(DATABASE)
    assert field.shown == "Which database?\n1. SQLite: one file\n2. Postgres, managed\nor your own words"


@pytest.mark.parametrize(
    ("asked", "typed", "expected"),
    [
        ([DATABASE], "1", {"q1": "SQLite"}),
        ([DATABASE], "sqlite", {"q1": "SQLite"}),
        ([DATABASE], "Postgres, managed", {"q1": "Postgres, managed"}),
        ([DATABASE], "None: we're a=b free", {"q1": "None: we're a=b free"}),
        ([DATABASE], "3", {"q1": "3"}),
        ([PARTS], "2, 1", {"q1": ["Web", "API"]}),
        ([PARTS], "web, and the docs", {"q1": ["Web", "and the docs"]}),
        ([DATABASE, PARTS], "q1=2 q2=1", {"q1": "Postgres, managed", "q2": ["API"]}),
        ([DATABASE, PARTS], "q1=what you like q2=1,2", {"q1": "what you like", "q2": ["API", "Web"]}),
        ([DATABASE, PARTS], '{"q1": "a=1", "q2": ["Web", "x, y"]}', {"q1": "a=1", "q2": ["Web", "x, y"]}),
        ([{**DATABASE, "header": "Data base!"}, PARTS], "data_base=1 q2=1", {"data_base": "SQLite", "q2": ["API"]}),
    ],
)
def test_an_answer_is_a_number_an_option_or_any_words(
    asked: list[dict[str, Any]], typed: str, expected: dict[str, Value]
) -> None:
    assert read_values(fields(*asked), typed) == expected


@pytest.mark.parametrize(
    ("asked", "typed", "why"),
    [
        ([DATABASE], "", "Missing: q1"),
        ([DATABASE, PARTS], "q1=1", "Missing: q2"),
        ([DATABASE, PARTS], "1", "names no field"),
        ([DATABASE, PARTS], "q1= q2=1", "has no answer"),
        ([PARTS], '{"q1": []}', "too small"),
    ],
)
def test_every_question_wants_an_answer(asked: list[dict[str, Any]], typed: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_values(fields(*asked), typed)


def test_what_to_type_is_shown() -> None:
    assert (example(fields(DATABASE)), example(fields(DATABASE, PARTS))) == ("NUMBER", "q1=NUMBER q2=NUMBERS")


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [DATABASE] * 5,
        [{**DATABASE, "options": [STORE]}],
        [{**DATABASE, "options": [STORE, STORE]}],
        [{**DATABASE, "options": [STORE, {"label": "a\nb"}]}],
        [{**DATABASE, "options": [STORE, {"label": " "}]}],
        [{**DATABASE, "header": "a"}, {**PARTS, "header": "A"}],
    ],
)
def test_questions_that_cannot_be_answered_are_refused(questions: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError):
        QuestionArguments.model_validate({"questions": questions})


def test_the_names_that_models_know_from_other_tools_work() -> None:
    given = {**PARTS, "header": "Parts", "multiSelect": True}
    del given["multi_select"]
    (asked,) = QuestionArguments.model_validate({"questions": [given]}).questions
    assert (asked.multi_select, asked.header) == (True, "Parts")


# -- in memory ------------------------------------------------------------------------------------

CALL = OpenCall("alice:2.0", "AskUser", {"questions": [DATABASE]})
ASKED = after(
    PermissionAsked(call=CALL.id, request_id=CALL.id), memory=replace(CALLING, calls={**CALLING.calls, CALL.id: CALL})
)


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (
            InputResponse(request_id="alice:2.0", approve=True, values={"q1": "SQLite", "q2": ["API", "x, y"]}),
            "The user answered:\nq1: SQLite\nq2: API; x, y",
        ),
        (
            InputResponse(request_id="alice:2.0", approve=False, content="ask Ann"),
            "The user gave no answer and says: ask Ann. Decide yourself.",
        ),
        (InputResponse(request_id="alice:2.0", approve=False), "The user gave no answer. Decide yourself."),
    ],
)
def test_the_answer_is_kept_for_the_call_that_asked(message: InputResponse, answer: str) -> None:
    calls = changed(ASKED, heard("user", message))["calls"]
    assert (calls["alice:2.0"].allowed, calls["alice:2.0"].answer) == (True, answer)


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        ("bob", InputResponse(request_id="alice:2.0", approve=True, values={"q1": "SQLite"})),
        ("user", InputResponse(request_id="alice:9.9", approve=True, values={"q1": "SQLite"})),
        ("user", PermissionResponse(request_id="alice:2.0", approve=True)),
    ],
)
def test_nothing_else_answers_it(sender: str, message: Message) -> None:
    assert changed(ASKED, heard(sender, message)) == {}
