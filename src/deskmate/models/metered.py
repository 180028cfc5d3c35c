"""Reports what each reply costs."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, Usage
from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Model


class Metered(WrappedModel):
    """A model that adds the price to each reply.

    `spend` is awaited before the reply is yielded. If it fails, the caller gets no reply that was not counted.
    """

    def __init__(
        self,
        model: Model,
        prices: Callable[[str, Usage], float | None],
        spend: Callable[[Reply], Awaitable[None]],
    ) -> None:
        super().__init__(model)
        self._prices, self._spend = prices, spend

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, the reply with its cost."""
        async with aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                yield await self._counted(part) if isinstance(part, Reply) else part

    async def _counted(self, reply: Reply) -> Reply:
        # After a fallback, the model that answered is paid, not the one that was asked first.
        counted = replace(reply, cost=self._prices(reply.model or self.name, reply.usage))
        await self._spend(counted)
        return counted
