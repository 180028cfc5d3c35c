"""A reply says how long its call took, with every retry."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, RetryDelta, TextBlock, TextDelta, Told
from deskmate.models.scripted import RehearsedModel
from deskmate.models.timed import Timed
from deskmate.models.wrapped_model import WrappedModel
from deskmate.testing import FakeClock, Say

pytestmark = pytest.mark.anyio
PROMPT = Prompt("", (Told((TextBlock("hello"),)),))


class SlowModel(WrappedModel):
    """Fails once, and takes two seconds for each part."""

    clock: FakeClock

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        self.clock.advance(2)
        yield RetryDelta(0.0, "busy", "scripted:model")
        async with aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                self.clock.advance(2)
                yield part


async def test_a_reply_says_how_long_its_call_took_with_its_retry() -> None:
    clock = FakeClock()
    slow = SlowModel(RehearsedModel([Say("hi")]))
    slow.clock = clock
    async with aclosing(Timed(slow, clock, lambda: 100.0, lambda: None).stream(PROMPT)) as parts:
        *deltas, reply = [part async for part in parts]
    assert isinstance(reply, Reply)
    assert reply.seconds == 2.0 * (1 + sum(isinstance(one, TextDelta) for one in deltas) + 1)
