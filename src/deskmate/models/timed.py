"""Asks no more once the time of the run is up, and measures how long an answer took.

It wraps `retry`, whose pauses may be longer than the run.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, RetryDelta
from deskmate.errors import ModelError
from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Clock, Model


class Timed(WrappedModel):
    """A model whose retries end with the run. `seconds_left`: of the run. `over`: which cap is reached, if any."""

    def __init__(
        self, model: Model, clock: Clock, seconds_left: Callable[[], float], over: Callable[[], str | None]
    ) -> None:
        super().__init__(model)
        self._clock, self._seconds_left, self._over = clock, seconds_left, over

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, the reply with its time. Raises ModelError if it is up before the next retry."""
        began = self._clock.monotonic()
        async with aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                if isinstance(part, Reply):
                    part = replace(part, seconds=round(self._clock.monotonic() - began, 3))
                yield part
                if isinstance(part, RetryDelta) and part.seconds >= (left := self._seconds_left()):
                    await self._clock.sleep(max(0.0, left))
                    if why := self._over():
                        raise ModelError(why)
