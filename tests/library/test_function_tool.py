"""A typed function becomes a tool: arguments from annotations, description from the docstring."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

import pytest
from pydantic import BaseModel, Field

from deskmate import BadInput, Team, ToolContext, ToolError, tool
from deskmate.testing import Say, ScriptedModel, Use
from deskmate.tools import spec

pytestmark = pytest.mark.anyio


class Line(BaseModel):
    item: str
    parts: list["Line"] = []


class Order(BaseModel):
    lines: list[Line]


@dataclass
class Place:
    shelf: int


@tool
def lookup(order_id: str, places: Annotated[int, Field(description="How many places to name.")] = 1) -> str:
    """Return the status of an order."""
    return f"{order_id} is late"


def test_the_model_sees_name_docstring_and_annotations() -> None:
    seen = spec(lookup)
    assert (seen.name, seen.text) == ("lookup", "Return the status of an order.")
    assert seen.schema == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "places": {"type": "integer", "default": 1, "description": "How many places to name."},
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }


def test_a_tool_can_still_be_called_as_a_function() -> None:
    assert lookup("7") == "7 is late"


def test_every_part_of_a_type_reaches_the_model() -> None:
    @tool
    def many(
        keys: list[int | str],
        shelves: dict[str, Place],
        pair: tuple[Place, Place],
        count: Annotated[int, Field(ge=1, le=10)],
        limit: int | None,
        order: Order,
        copy: bool = False,
    ) -> None:
        """Take many."""

    schema = spec(many).schema
    properties: dict[str, Any] = dict(schema["properties"])
    assert properties["keys"] == {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
    assert properties["count"] == {"type": "integer", "minimum": 1, "maximum": 10}
    assert properties["limit"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties["copy"] == {"type": "boolean", "default": False}
    # References lead somewhere, also in a type that contains itself.
    assert schema["$defs"].keys() == {"Place", "Line", "Order"}
    assert many.arguments.model_validate({"keys": [], "shelves": {}, "pair": [{"shelf": 1}, {"shelf": 2}], "count": 1,
                                          "limit": None, "order": {"lines": []}})  # fmt: skip


def unknown_type(order: "Unknown") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take an unknown type."""


def unchecked_type(file: TextIO) -> None:
    """Take a type that cannot be checked."""


@pytest.mark.parametrize(
    "function",
    [lambda text: text, lambda *words: words, lambda: None, unknown_type, unchecked_type, partial(lookup, "7")],
    ids=["no type", "any number", "no text", "unknown type", "unchecked type", "no name"],
)
def test_a_function_that_does_not_say_enough_is_refused(function: Any) -> None:
    with pytest.raises(BadInput):
        tool(function)


def test_a_plain_function_is_made_a_tool(place: Path) -> None:
    def shelf(number: int) -> str:
        """Find a shelf."""
        return f"shelf {number}"

    model = ScriptedModel([Say("", [Use("shelf", {"number": 4})]), "Found."])
    Team(model=model, tools=[shelf], workspace=place).run_sync("Where is it?")
    assert [block.text for block in model.prompts[-1].passages[-1].blocks] == ["shelf 4"]


async def test_an_error_of_the_function_is_told_as_its_own(place: Path) -> None:
    @tool
    def broken() -> str:
        """Fail."""
        raise KeyError("orders")

    model = ScriptedModel([Say("", [Use("broken", {})]), "It failed."])
    await Team(model=model, tools=[broken], workspace=place).run("Try it.")
    (result,) = model.prompts[-1].passages[-1].blocks
    assert "of the tool itself (KeyError: 'orders')" in result.text


def test_a_name_that_agents_already_have_is_refused(place: Path) -> None:
    with pytest.raises(BadInput):
        Team(tools=[tool(name="bash")(lookup.function)], workspace=place)


async def test_what_a_function_returns_is_what_the_model_reads(place: Path) -> None:
    @tool
    async def shelf(context: ToolContext, number: int) -> Place:
        """Find a shelf."""
        if number < 0:
            raise ToolError("shelves count from 0")
        assert context.me.name == "lead"
        return Place(number)

    @tool
    def nothing() -> None:
        """Do nothing."""

    calls = [
        Use("shelf", {"number": 4}),
        Use("shelf", {"number": -1}),
        Use("shelf", {"number": "four"}),
        Use("nothing", {}),
    ]
    model = ScriptedModel([Say("", calls), "Found."])
    outcome = await Team(model=model, tools=[shelf, nothing], workspace=place).run("Where is it?")
    results = [(block.text, block.ok) for block in model.prompts[-1].passages[-1].blocks]
    assert outcome.text == "Found."
    assert results[0] == ('{"shelf":4}', True)
    assert results[1] == ("shelves count from 0", False)
    assert not results[2][1]
    assert results[3] == ("Done.", True)


async def test_a_tool_that_asks_waits_for_the_answer_of_the_program(place: Path) -> None:
    refunded: list[str] = []

    @tool(asks=True)
    def refund(order_id: str) -> str:
        """Refund an order."""
        refunded.append(order_id)
        return "refunded"

    calls = [Use("refund", {"order_id": "1"}), Use("refund", {"order_id": "2"})]
    model = ScriptedModel([Say("", calls[:1]), Say("", calls[1:]), "Refunded what I may."])
    team = Team(model=model, tools=[refund], workspace=place)
    asked = []

    async def answer(question: Any) -> Any:
        asked.append(Use(question.tool, question.arguments))
        return "yes" if question.arguments["order_id"] == "1" else "no"

    outcome = await team.run("Refund both.", on_question=answer)
    assert (outcome.text, refunded, asked) == ("Refunded what I may.", ["1"], calls)
