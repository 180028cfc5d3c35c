"""Forms of MCP servers: what a server may ask for, and what the user may type."""

import pytest

from deskmate.core.mcp.forms import FormField, example, read_form, read_values
from deskmate.errors import BadInput

pytestmark = pytest.mark.behaviour("mcp-input")
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Who are you?", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "height": {"type": "number"},
        "member": {"type": "boolean", "default": False},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "small"}, {"const": "l", "title": "large"}]},
        "days": {"type": "array", "items": {"type": "string", "enum": ["Mon", "Tue"]}, "maxItems": 2},
    },
    "required": ["name", "colour"],
}
FORM = read_form(SCHEMA)


def test_simple_fields_are_read() -> None:
    assert FORM[0] == FormField(name="name", kind="text", about="Name Who are you?", required=True, least=2)
    assert [(field.name, field.kind) for field in FORM[1:]] == [
        ("age", "integer"),
        ("height", "number"),
        ("member", "boolean"),
        ("colour", "choice"),
        ("size", "choice"),
        ("days", "choices"),
    ]
    assert (FORM[3].default, FORM[4].choices, FORM[5].choices, FORM[6].most) == (False, ("red", "green"), ("s", "l"), 2)


def test_a_field_says_what_to_type() -> None:
    assert FORM[0].shown == "a text (2). Name Who are you?"
    assert FORM[1].shown == "a whole number (0 to 150), optional"
    assert FORM[3].shown == "yes or no, optional, otherwise false"
    assert FORM[4].shown == "one of red or green"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": []},
        {"properties": {"a": {"type": "object", "properties": {}}}},
        {"properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        {"properties": {"a": {"type": ["string", "null"]}}},
        {"properties": {"a": "string"}},
        {"properties": {"": {"type": "string"}}},
        {"properties": {"a\x1b[2J": {"type": "string"}}},
        {"properties": {"a" * 200: {"type": "string"}}},
        {"properties": {"a": {"enum": [1, 2]}}},
        {"properties": {"a": {"enum": [str(number) for number in range(200)]}}},
        {"properties": {f"a{number}": {"type": "string"} for number in range(21)}},
        {"properties": {"a": {"type": "integer", "default": "many"}}},
        {"properties": {"a": {"type": "string"}}, "required": "a"},
    ],
)
def test_anything_but_simple_fields_is_refused(schema: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        read_form(schema)


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("name=Ann colour=red", {"name": "Ann", "colour": "red", "member": False}),
        ('name="Ann Lee" colour=GREEN age=3', {"name": "Ann Lee", "colour": "green", "age": 3, "member": False}),
        (
            '{"name": "Ann", "colour": "red", "height": 1.7, "member": true, "days": ["Mon"]}',
            {"name": "Ann", "colour": "red", "height": 1.7, "member": True, "days": ["Mon"]},
        ),
        (
            "name=Ann colour=red size=l days=mon,Tue member=yes",
            {"name": "Ann", "colour": "red", "size": "l", "days": ["Mon", "Tue"], "member": True},
        ),
        ('{"name": "Ann", "colour": "red", "age": null}', {"name": "Ann", "colour": "red", "member": False}),
    ],
)
def test_what_is_typed_becomes_values(typed: str, values: dict[str, object]) -> None:
    assert read_values(FORM, typed) == values


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "Missing: name, colour"),
        ("name=Ann", "Missing: colour"),
        ("name=A colour=red", "too small"),
        ("name=Ann colour=blue", "must be one of red, green"),
        ("name=Ann colour=red age=old", "must be a number"),
        ("name=Ann colour=red age=1.5", "must be a whole number"),
        ("name=Ann colour=red age=200", "too large"),
        ("name=Ann colour=red age=nan", "must be a"),
        ("name=Ann colour=red member=perhaps", "must be yes or no"),
        ("name=Ann colour=red days=Mon,Mon,Tue", "too large"),
        ("name=Ann colour=red shoe=43", "no field"),
        ("Ann red", "names no field"),
        ('name="Ann', "quote is not closed"),
        ("{", "not JSON"),
        (f"name={'a' * 20_000} colour=red", "at most 10,000"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(typed: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_values(FORM, typed)


def test_a_form_with_one_field_takes_the_value_alone() -> None:
    form = read_form({"properties": {"city": {"type": "string"}}, "required": ["city"]})
    assert read_values(form, "New York") == {"city": "New York"}
    assert read_values(form, "city=Rome") == {"city": "Rome"}
    assert example(form) == "TEXT"


def test_an_example_names_every_field() -> None:
    assert example(FORM[:2]) == "name=TEXT age=INTEGER"
