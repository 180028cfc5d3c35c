"""What the models of all wire formats have in common."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from deskmate.core.prompt.prompts import Delta, ModelLimits, Reply
from deskmate.models.http.post_client import Poster
from deskmate.models.wires.http_client import ReplyFold, answer
from deskmate.models.wires.provider_errors import ProviderEndpoint


class ProviderModel:
    """How a model at a provider is asked. A subclass writes the request and reads the reply."""

    def __init__(self, client: Poster, at: ProviderEndpoint, headers: Mapping[str, str], limits: ModelLimits) -> None:
        self._client, self._at, self._headers, self._limits = client, at, headers, limits

    @property
    def name(self) -> str:
        """Its name, `provider:model`."""
        return self._at.model

    @property
    def limits(self) -> ModelLimits:
        """Its context window and output size."""
        return self._limits

    def _answer(self, body: Sequence[bytes], fold: ReplyFold) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they arrive, and the one reply last."""
        return answer(self._client, self._at, self._headers, body, fold)
