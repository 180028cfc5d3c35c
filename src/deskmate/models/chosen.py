"""The current model, which the user may change while it is in use.

`app` above gives it to every agent that has no model of its own.
"""

from collections.abc import AsyncGenerator

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.ports import Model, ModelLimits


class Chosen:
    """A model that is whichever was chosen last. What is being asked is answered by who was asked."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def choose(self, model: Model) -> None:
        """Let another model be asked from now on."""
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
