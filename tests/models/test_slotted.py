"""A model in a line: a slot is held while it is asked, and let go however that ends."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from deskmate.core.prompt.prompts import Prompt, Reply, TextBlock, TextDelta, Told
from deskmate.errors import ModelError, ModelTrouble
from deskmate.models.scripted import RehearsedModel
from deskmate.models.slotted import Slotted

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("budget")]
PROMPT = Prompt("", (Told((TextBlock("hello"),)),))


class Slot:
    """A slot that knows whether it is held."""

    held = False

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[None]:
        self.held = True
        try:
            yield
        finally:
            self.held = False


async def test_the_slot_is_held_until_the_reply_is_taken() -> None:
    slot = Slot()
    parts = Slotted(RehearsedModel(["hi"]), slot).stream(PROMPT)
    assert not slot.held
    assert [(type(part), slot.held) async for part in parts] == [(TextDelta, True), (TextDelta, True), (Reply, True)]
    assert not slot.held


async def test_trouble_and_closing_let_the_slot_go() -> None:
    slot = Slot()
    with pytest.raises(ModelTrouble, match="overloaded"):
        await anext(Slotted(RehearsedModel([ModelTrouble("overloaded")]), slot).stream(PROMPT))
    assert not slot.held
    async with aclosing(Slotted(RehearsedModel(["hi"]), slot).stream(PROMPT)) as parts:
        assert await anext(parts) == TextDelta("h")
        assert slot.held
    assert not slot.held


async def test_who_gets_no_slot_does_not_ask() -> None:
    @asynccontextmanager
    async def refused() -> AsyncIterator[None]:
        raise ModelError("budget: all is spent")
        yield

    model = RehearsedModel(["hi"])
    with pytest.raises(ModelError, match="all is spent"):
        await anext(Slotted(model, refused).stream(PROMPT))
    assert model.prompts == []


def test_it_goes_by_the_name_and_limits_of_its_model() -> None:
    model = RehearsedModel(["hi"])
    slotted = Slotted(model, Slot())
    assert (slotted.name, slotted.limits) == (model.name, model.limits)
