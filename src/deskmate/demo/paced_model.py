"""Words at reading speed."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, TextDelta
from deskmate.ports import Clock, Model, ModelLimits

THINKING_SECONDS = 0.45
WORD_SECONDS = 0.04

_WORD = re.compile(r"\S+\s*|\s+")


class Paced:
    """Stream what another model says word by word, after a short pause."""

    def __init__(self, model: Model, clock: Clock) -> None:
        self._model, self._clock = model, clock

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model."""
        return self._model.limits

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
