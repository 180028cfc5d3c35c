"""Loads what an answer needs while the first answer arrives."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from threading import Thread

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Model


class Preloading(WrappedModel):
    """A model that calls `load` on a thread, once, when its first answer begins.

    Not earlier: a thread that imports would delay the request. Code that needs a module before then imports it itself.
    """

    def __init__(self, model: Model, load: Callable[[], None]) -> None:
        super().__init__(model)
        self._load = load
        self._loads = False

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, and raise what it raises."""
        return self._model.stream(prompt) if self._loads else self._loading(prompt)

    async def _loading(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        async with aclosing(self._model.stream(prompt)) as parts:
            async for part in parts:
                if not self._loads:
                    self._loads = True
                    Thread(target=self._load, name="deskmate-preloading").start()
                yield part
