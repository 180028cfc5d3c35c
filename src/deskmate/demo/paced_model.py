"""Words at reading speed."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, TextDelta
from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Clock, Model

THINKING_SECONDS = 0.35
WORD_SECONDS = 0.04

_WORD = re.compile(r"\S+\s*|\s+")


class Paced(WrappedModel):
    """Stream what another model says word by word, after a short pause."""

    def __init__(self, model: Model, clock: Clock) -> None:
        super().__init__(model)
        self._clock = clock

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Stream what the model streams, slowly."""
        await self._clock.sleep(THINKING_SECONDS)
        async with aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                # Slow down only text: nobody reads the other parts.
                for piece in _WORD.findall(part.text) if isinstance(part, TextDelta) else ():
                    await self._clock.sleep(WORD_SECONDS)
                    yield TextDelta(piece)
                if not isinstance(part, TextDelta):
                    yield part
