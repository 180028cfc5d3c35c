"""The current model, which the user may change while it is in use.

Every agent without a model of its own uses it.
"""

from collections.abc import AsyncGenerator

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.ports import Model, ModelLimits


class Chosen:
    """A model that passes each prompt to the model chosen last. A running call stays with the model it began with."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def choose(self, model: Model) -> None:
        """Use another model from the next call on."""
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
