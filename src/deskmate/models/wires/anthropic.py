"""Anthropic's Messages API."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from deskmate.core.prompt.prompts import (
    CallDelta,
    Delta,
    Prompt,
    Reply,
    TextDelta,
    ThinkingDelta,
)
from deskmate.errors import BadSettings, ModelTrouble
from deskmate.models.http.post_client import Poster
from deskmate.models.wires.http_client import NO_HEADERS
from deskmate.models.wires.json_fields import count, inner, words
from deskmate.models.wires.provider_errors import Fault, ProviderEndpoint, SettingsOrigin, failure, fault_in
from deskmate.models.wires.provider_model import ProviderModel
from deskmate.models.wires.reply_parts import ReplyBlock, Room, blocks
from deskmate.models.wires.requests.anthropic_request import body_parts, thinking_budget
from deskmate.models.wires.sse import ServerEvent
from deskmate.models.wires.usage import TokenCount
from deskmate.ports import ModelLimits

API_VERSION = "2026-10-21"
LEAST_THINKING_TOKENS = 1024
_USAGE = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


__all__ = ["API_VERSION", "LEAST_THINKING_TOKENS", "AnthropicModel", "MessageFold", "thinking_budget"]


class AnthropicModel(ProviderModel):
    """A model of Anthropic, or of a server with the same Messages API.

    `thinking_tokens`: how many of the output tokens may be thinking. 0 means the model's own default. `effort`: how
    much it thinks, for models that choose the number. `is_vertex`: it is at Vertex AI, where the model is in the
    address and a key is a token. `provider`: part of its name. `key_env`: the variable for its key. `headers`: what
    each request has besides its own.
    """

    def __init__(
        self,
        client: Poster,
        model: str,
        *,
        key: str,
        base_url: str = "https://api.anthropic.com",
        limits: ModelLimits,
        thinking_tokens: int = 0,
        effort: str | None = None,
        is_vertex: bool = False,
        provider: str = "anthropic",
        key_env: str = "ANTHROPIC_API_KEY",
        headers: Mapping[str, str] = NO_HEADERS,
        origin: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        if thinking_tokens and not LEAST_THINKING_TOKENS <= thinking_tokens < limits.output:
            raise BadSettings(
                f"{model!r} cannot have {thinking_tokens} thinking tokens",
                f"Set 0, or at least {LEAST_THINKING_TOKENS} and less than the {limits.output} tokens of an answer.",
            )
        # Other APIs of the same server have an address that ends with /v1.
        url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages"
        if is_vertex:
            url = f"{base_url.rstrip('/')}/publishers/anthropic/models/{quote(model, safe='@')}:streamRawPredict"
        at = ProviderEndpoint(f"{provider}:{model}", url, key_env, key, SettingsOrigin(*origin))
        own = {"authorization": f"Bearer {key}"} if is_vertex else {"x-api-key": key, "anthropic-version": API_VERSION}
        super().__init__(client, at, {**own, **headers}, limits)
        self._model, self._is_vertex = model, is_vertex
        self._thinking, self._effort = thinking_tokens, effort

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they arrive, and the one reply last."""
        most = prompt.most(self._limits.output)
        # A short answer has no room for thinking.
        thinking = self._thinking if self._thinking < most else 0
        provider, effort = self.name.partition(":")[0], self._effort
        body = body_parts(
            prompt,
            self._model,
            max_tokens=most,
            thinking_tokens=thinking,
            effort=effort,
            provider=provider,
            is_vertex=self._is_vertex,
        )
        return self._answer(body, MessageFold(self._at, prompt))


class MessageFold:
    """One message, built from its events. Unknown kinds of events and blocks are skipped."""

    def __init__(self, at: ProviderEndpoint, prompt: Prompt) -> None:
        self._at, self._prompt = at, prompt
        self._pieces: dict[int, ReplyBlock] = {}
        self._room, self._tokens = Room(at.model), TokenCount(at.model)
        self._stop = ""
        self.finished = False

    def take(self, event: ServerEvent) -> Iterator[Delta]:
        """Yield the deltas of an event, for display. Raises the error that an error event reports."""
        found = self._at.read(event.data)
        match words(found, "type"):
            case "message_start":
                self._count(inner(inner(found, "message"), "usage"))
            case "content_block_start":
                yield from self._open(count(found, "index") or 0, inner(found, "content_block"))
            case "content_block_delta":
                yield from self._extend(count(found, "index") or 0, inner(found, "delta"))
            case "message_delta":
                self._count(inner(found, "usage"))
                self._stop = words(inner(found, "delta"), "stop_reason") or self._stop
            case "message_stop":
                self.finished = True
            case "error":
                fault = fault_in(found) or Fault("")
                raise failure(self._at, fault.status, fault)

    def reply(self) -> Reply:
        """Return the reply. Raises ModelTrouble if the stream ended before the message did."""
        if not self.finished:
            raise ModelTrouble(f"{self._at.model} stopped in the middle of its answer")
        end = self._end()
        pieces = [self._pieces[index] for index in sorted(self._pieces)]
        said = blocks(pieces, cut=end != "done")
        return Reply(said, self._tokens.usage(self._prompt, said), end, self._at.model)

    def _end(self) -> Literal["done", "length", "refused"]:
        if self._stop in ("max_tokens", "model_context_window_exceeded"):
            return "length"
        return "refused" if self._stop == "refusal" else "done"

    def _count(self, usage: dict[str, Any]) -> None:
        # The figures are totals so far. If one is missing, the earlier one still applies.
        for theirs, ours in _USAGE.items():
            self._tokens.tell(ours, usage, theirs)

    def _open(self, index: int, block: dict[str, Any]) -> Iterator[Delta]:
        match words(block, "type"):
            case "text":
                self._pieces[index] = ReplyBlock("text")
                yield from self._extend(index, {"type": "text_delta", "text": words(block, "text")})
            case "thinking":
                self._pieces[index] = ReplyBlock("thinking", signature=self._taken(words(block, "signature")))
                yield from self._extend(index, {"type": "thinking_delta", "thinking": words(block, "thinking")})
            case "redacted_thinking":
                self._pieces[index] = ReplyBlock("sealed", signature=self._taken(words(block, "data")))
            case "tool_use":
                tool, id_, arguments = words(block, "name"), words(block, "id"), inner(block, "input")
                self._room.take_call(tool, id_, json.dumps(arguments))
                self._pieces[index] = ReplyBlock("call", id=id_, tool=tool, arguments=arguments)
                yield CallDelta(tool)

    def _extend(self, index: int, delta: dict[str, Any]) -> Iterator[Delta]:
        piece = self._pieces.get(index)
        if piece is None:
            return
        match words(delta, "type"):
            case "text_delta" if text := words(delta, "text"):
                piece.parts.append(self._taken(text))
                yield TextDelta(text)
            case "thinking_delta" if text := words(delta, "thinking"):
                piece.parts.append(self._taken(text))
                yield ThinkingDelta(text)
            case "signature_delta":
                piece.signature = self._taken(words(delta, "signature"))
            case "input_json_delta":
                piece.parts.append(self._taken(words(delta, "partial_json")))

    def _taken(self, text: str) -> str:
        """Return a part of the answer after counting it against the limit."""
        self._room.take(text)
        return text
