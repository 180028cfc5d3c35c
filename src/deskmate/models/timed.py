"""Asks no more once the time of the run is up.

It wraps `retry`, whose pauses may be longer than the run.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, RetryDelta
from deskmate.errors import ModelError
from deskmate.ports import Clock, Model, ModelLimits


class Timed:
    """A model whose retries end with the run. `seconds_left`: of the run. `over`: which cap is reached, if any."""

    def __init__(
        self, model: Model, clock: Clock, seconds_left: Callable[[], float], over: Callable[[], str | None]
    ) -> None:
        self._model, self._clock, self._seconds_left, self._over = model, clock, seconds_left, over

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model."""
        return self._model.limits

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields. Raises ModelError if the time is up before the next retry."""
        async with aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                yield part
                if isinstance(part, RetryDelta) and part.seconds >= (left := self._seconds_left()):
                    await self._clock.sleep(max(0.0, left))
                    if why := self._over():
                        raise ModelError(why)
