"""Asks again after a passing error, and another model if it does not pass.

The stream has a `RetryDelta` before each new try.
"""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, RetryDelta
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, PicturesRejected, Unreachable
from deskmate.ports import Clock, Model, ModelLimits

# Jitter may be close to zero. Each pause costs at least this much, so that the budget is used up at some point.
LEAST_SECONDS = 0.1


class Patience:
    """The waiting time that is left for one model in one step. Pauses and failed tries both use it up."""

    def __init__(
        self, budget_seconds: float, first_seconds: float, most_seconds: float, chance: Callable[[], float]
    ) -> None:
        self._left, self._next, self._most = budget_seconds, first_seconds, most_seconds
        self._chance = chance
        self.tries = 0
        self.waited_seconds = 0.0

    def pause(self, trouble: ModelTrouble, took_seconds: float) -> float | None:
        """Count a failed try. Return how many seconds to wait before the next one, or None to give up.

        The pause is random, below a bound that doubles each time. It is never shorter than the provider asked for.
        If the provider asks for more than is left, there is no point in waiting.
        """
        self.tries += 1
        self._spend(took_seconds)
        asked = trouble.retry_after or 0.0
        if self._left <= 0 or asked > self._left:
            return None
        bound, self._next = min(self._next, self._most), min(self._next * 2, self._most)
        seconds = max(min(max(self._chance() * bound, LEAST_SECONDS), self._left), asked)
        self._spend(seconds)
        return seconds

    def _spend(self, seconds: float) -> None:
        self._left -= seconds
        self.waited_seconds += seconds


class Retrying:
    """A model that retries after passing errors.

    ModelTrouble, a stream that ends without a reply, and `silence_seconds` without output are retried until
    `budget_seconds` were spent waiting. Then, or as soon as the model rejects the prompt, the fallback gets the same
    chance. A server that was never reached gets only `unreached_seconds`, because its address is probably wrong.
    Raises ModelTrouble if no model is left to ask, ModelRejected if no model will ever answer, and PromptTooLong
    at once.
    """

    def __init__(
        self,
        model: Model,
        clock: Clock,
        *,
        budget_seconds: float = 600.0,
        first_seconds: float = 1.0,
        most_seconds: float = 60.0,
        silence_seconds: float = 180.0,
        unreached_seconds: float = 15.0,
        fallback: Model | None = None,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._models = (model,) if fallback is None else (model, fallback)
        self._clock, self._silence_seconds = clock, silence_seconds
        self._patience = partial(Patience, budget_seconds, first_seconds, most_seconds, random)
        self._short = partial(Patience, min(unreached_seconds, budget_seconds), first_seconds, most_seconds, random)
        self._reached: set[str] = set()

    @property
    def name(self) -> str:
        """The name of the model that is asked first."""
        return self._models[0].name

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model with the smaller window, so that a prompt also fits the fallback."""
        return min((model.limits for model in self._models), key=lambda limits: limits.window)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the first model that answers yields. Discard everything before a RetryDelta."""
        failures: list[ModelTrouble | ModelRejected] = []
        for model in self._models:
            if failures:
                yield RetryDelta(0.0, str(failures[-1]), model.name)
            try:
                async with aclosing(self._patiently(model, prompt)) as parts:
                    async for part in parts:
                        yield part
                return
            except (ModelTrouble, ModelRejected) as error:
                failures.append(error)
        raise _verdict(failures) from failures[-1]

    async def _patiently(self, model: Model, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        patience = self._patience() if model.name in self._reached else self._short()
        while True:
            began = self._clock.monotonic()
            try:
                async with aclosing(self._once(model, prompt)) as parts:
                    async for part in parts:
                        patience = self._met(model, patience)
                        yield part
                return
            except Unreachable as error:
                trouble: ModelTrouble = error
            except ModelTrouble as error:
                trouble, patience = error, self._met(model, patience)
            took = self._clock.monotonic() - began
            # At most one silence, because only that time was spent waiting without output.
            seconds = patience.pause(trouble, min(took, self._silence_seconds))
            if seconds is None:
                raise _given_up(model.name, patience, trouble) from trouble
            yield RetryDelta(seconds, trouble.message, model.name)
            await self._clock.sleep(seconds)

    def _met(self, model: Model, patience: Patience) -> Patience:
        """Record that a server was reached, and return how patient to be with it from now on."""
        if model.name in self._reached:
            return patience
        self._reached.add(model.name)
        return self._patience()

    async def _once(self, model: Model, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        async with aclosing(model.stream(prompt)) as parts:
            while (part := await self._next(parts)) and not isinstance(part, Reply):
                yield part
        # Yield the reply only after the stream is closed and nothing can fail: a retry would give a second reply.
        if part is None:
            raise ModelTrouble("The answer stopped before its end")
        yield part

    async def _next(self, parts: AsyncGenerator[Delta | Reply, None]) -> Delta | Reply | None:
        """Return the next part, or None at the end of the stream. Raises ModelTrouble if it does not come in time.

        The stream stays in this task, because what it keeps open between parts must be released where it was opened.
        """
        # A part that arrives at the last moment counts: what has ended by itself is not cancelled.
        with self._clock.move_on_after(self._silence_seconds):
            return await anext(parts, None)
        raise ModelTrouble(f"No data for {self._silence_seconds:g} s")


def _given_up(name: str, patience: Patience, trouble: ModelTrouble) -> ModelTrouble:
    asks = "" if trouble.retry_after is None else f". It asks to wait {trouble.retry_after:g} s"
    effort = f"tries: {patience.tries}, waited: {patience.waited_seconds:.0f} s"
    if isinstance(trouble, Unreachable):
        return Unreachable(f"{trouble.message} ({effort})", hint=trouble.hint)
    said = trouble.message if name in trouble.message else f"{name} gave no answer: {trouble.message}"
    return ModelTrouble(f"{said}{asks} ({effort})", hint=trouble.hint)


def _verdict(failures: list[ModelTrouble | ModelRejected]) -> ModelError:
    """Return the error for all failures. It is final only if each of them is."""
    text = ". The fallback failed too: ".join(failure.message for failure in failures)
    hint = " ".join(dict.fromkeys(failure.hint for failure in failures if failure.hint))
    if any(isinstance(failure, PicturesRejected) for failure in failures):
        # Without pictures, that model may answer.
        return PicturesRejected(text, hint)
    if all(isinstance(failure, ModelRejected) for failure in failures):
        return ModelRejected(text, hint)
    if isinstance(failures[-1], Unreachable):
        return Unreachable(text, hint=hint)
    return ModelTrouble(text, hint=" ".join(filter(None, [hint, "Try again later."])))
