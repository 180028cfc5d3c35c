"""Asks only while a call slot is held.

It wraps `retry`, so that waiting for a slot does not count as silence of the provider. A call keeps its slot while
it pauses between retries, so that an overloaded provider gets no more calls meanwhile.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Model


class Slotted(WrappedModel):
    """A model that waits for a slot. `slot` is entered before the model is asked, and left when its stream ends."""

    def __init__(self, model: Model, slot: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        super().__init__(model)
        self._slot = slot

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, after there is a slot. Raises what taking a slot raises."""
        async with self._slot(), aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                yield part
