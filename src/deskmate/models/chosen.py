"""The current model, which the user may change while it is in use.

Every agent without a model of its own uses it.
"""

from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Model


class Chosen(WrappedModel):
    """A model that passes each prompt to the model chosen last. A running call stays with the model it began with."""

    def choose(self, model: Model) -> None:
        """Use another model from the next call on."""
        self._model = model
