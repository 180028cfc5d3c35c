"""The meter: every reply is priced and counted before it is seen, everything else passes."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, RetryDelta, TextBlock, TextDelta, Told, Usage
from deskmate.errors import ModelTrouble, StoreUnavailable
from deskmate.models.metered import Metered
from deskmate.models.scripted import RehearsedModel
from deskmate.ports import ModelLimits
from deskmate.testing import Say

pytestmark = pytest.mark.anyio
PROMPT = Prompt("", (Told((TextBlock("hello"),)),))


def by_the_token(model: str, usage: Usage) -> float | None:
    return {"scripted:model": 2.0 * usage.output, "scripted:other": 3.0 * usage.output}.get(model)


class Accounts:
    def __init__(self) -> None:
        self.spent: list[Reply] = []

    async def spend(self, reply: Reply) -> None:
        self.spent.append(reply)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("model", "cost"), [("", 10.0), ("scripted:model", 10.0), ("scripted:other", 15.0), ("scripted:unheard-of", None)]
)
async def test_a_reply_costs_what_the_model_that_gave_it_costs(model: str, cost: float | None) -> None:
    accounts = Accounts()
    said = Reply((TextBlock("hi"),), Usage(output=5), model=model)
    *_, reply = [part async for part in Metered(RehearsedModel([said]), by_the_token, accounts.spend).stream(PROMPT)]
    assert [reply] == accounts.spent == [Reply(said.blocks, said.usage, model=model or "scripted:model", cost=cost)]


async def test_a_reply_is_counted_once_and_before_anyone_sees_it() -> None:
    accounts = Accounts()
    parts = Metered(RehearsedModel([Say("hi", usage=Usage(output=5))]), by_the_token, accounts.spend).stream(PROMPT)
    counted = [(type(part), len(accounts.spent)) async for part in parts]
    assert counted == [(TextDelta, 0), (TextDelta, 0), (Reply, 1)]


async def test_a_reply_that_could_not_be_counted_is_not_given() -> None:
    async def spend(reply: Reply) -> None:
        raise StoreUnavailable("the disk is full")

    parts = Metered(RehearsedModel(["hi"]), by_the_token, spend).stream(PROMPT)
    assert [await anext(parts), await anext(parts)] == [TextDelta("h"), TextDelta("i")]
    with pytest.raises(StoreUnavailable):
        await anext(parts)


async def test_trouble_passes_and_costs_nothing() -> None:
    accounts = Accounts()
    model = RehearsedModel([ModelTrouble("overloaded")])
    with pytest.raises(ModelTrouble, match="overloaded"):
        await anext(Metered(model, by_the_token, accounts.spend).stream(PROMPT))
    assert accounts.spent == []


class Endless:
    """A model that never comes to its reply, and knows whether it was closed."""

    name = "scripted:endless"
    limits = ModelLimits(7, 3)
    closed = False

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        try:
            while True:
                yield RetryDelta(1.0, "busy", self.name)
        finally:
            self.closed = True


async def test_closing_it_closes_the_model() -> None:
    model = Endless()
    async with aclosing(Metered(model, by_the_token, Accounts().spend).stream(PROMPT)) as parts:
        assert await anext(parts) == RetryDelta(1.0, "busy", "scripted:endless")
    assert model.closed


def test_it_goes_by_the_name_and_limits_of_its_model() -> None:
    metered = Metered(Endless(), by_the_token, Accounts().spend)
    assert (metered.name, metered.limits) == ("scripted:endless", ModelLimits(7, 3))
