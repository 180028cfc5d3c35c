"""Asks only while a call slot is held.

`app` above wraps it around `retrying`, which must not take the time in line for the silence of a provider. So a call
keeps its slot through its pauses: a provider that is overloaded gets no more calls meanwhile.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.ports import Model, ModelLimits


class Slotted:
    """A model that stands in line: `slot` is entered before it is asked, and left once its stream ends."""

    def __init__(self, model: Model, slot: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._model, self._slot = model, slot

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model."""
        return self._model.limits

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, once there is a slot; raise what taking one raises."""
        async with self._slot(), aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                yield part
