"""What every model that asks another one has in common."""

from collections.abc import AsyncGenerator

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.ports import Model, ModelLimits


class WrappedModel:
    """A model that passes prompts to another model, and has its name and limits."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model."""
        return self._model.limits

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, and raise what it raises."""
        return self._model.stream(prompt)
