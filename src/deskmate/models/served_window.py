"""The context window of a server of the user's own, as far as the server says it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.models.http.http_failures import HttpFailure
from deskmate.models.http.post_client import ServerClient
from deskmate.models.wires.json_fields import count, inner, objects, read_object, words
from deskmate.models.wrapped_model import WrappedModel
from deskmate.ports import Model, ModelLimits

_PATIENCE_SECONDS = 1.0
_MOST_BYTES = 2**20
# vLLM, LM Studio and gateways.
_FIELDS = ("max_model_len", "loaded_context_length", "context_window", "context_length")
# Less is a mistake: no prompt of an agent would fit.
_LEAST = 2048


class ServedWindow(WrappedModel):
    """A model with the window that its server says. The server is asked before the first prompt, once."""

    def __init__(self, model: Model, client: ServerClient, base_url: str, headers: Mapping[str, str]) -> None:
        super().__init__(model)
        self._client, self._url, self._headers = client, base_url.rstrip("/"), headers
        self._is_known, self._window = False, 0

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model, with the window of the server once that is known."""
        known = self._model.limits
        if not self._window:
            return known
        return ModelLimits(self._window, min(known.output, self._window // 4))

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the model yields, with an answer that fits into the window."""
        return self._model.stream(self._fitting(prompt)) if self._is_known else self._asking_first(prompt)

    async def _asking_first(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        # A server that does not say it, or not in time, is not asked again.
        self._is_known = True
        with anyio.move_on_after(_PATIENCE_SECONDS):
            self._window = await self._asked()
        async with aclosing(self._model.stream(self._fitting(prompt))) as parts:
            async for part in parts:
                yield part

    def _fitting(self, prompt: Prompt) -> Prompt:
        return replace(prompt, output=prompt.most(self.limits.output)) if self._window else prompt

    async def _asked(self) -> int:
        name = self.name.partition(":")[2]
        listed = objects(await self._read(f"{self._url}/models"), "data")
        found = next((one for one in listed if words(one, "id") == name), listed[0] if len(listed) == 1 else {})
        windows = [count(found, field) or 0 for field in _FIELDS]
        if not any(windows) and words(found, "owned_by") == "llamacpp":
            props = await self._read(f"{self._url.removesuffix('/v1')}/props")
            windows = [count(inner(props, "default_generation_settings"), "n_ctx") or 0]
        return next((window for window in windows if window >= _LEAST), 0)

    async def _read(self, url: str) -> dict[str, Any]:
        try:
            answer = await self._client.get(url, self._headers)
        except HttpFailure:
            # The model is asked next. It says what is wrong with the server.
            return {}
        body = b""
        try:
            while len(body) < _MOST_BYTES and (piece := await answer.read()):
                body += piece
        except HttpFailure:
            return {}
        finally:
            answer.close()
        return read_object(body.decode("utf-8", "replace")) or {} if answer.head.is_success else {}
