"""Asks only while a call slot is held.

It wraps `retry`, so that waiting for a slot does not count as silence of the provider. A call keeps its slot while
it pauses between retries, so that an overloaded provider gets no more calls meanwhile.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.ports import Model, ModelLimits


class Slotted:
    """A model that waits for a slot. `slot` is entered before the model is asked, and left when its stream ends."""

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
        """Yield what the model yields, after there is a slot. Raises what taking a slot raises."""
        async with self._slot(), aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                yield part
