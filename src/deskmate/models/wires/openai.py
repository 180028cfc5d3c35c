"""Chat completions, as OpenAI and many servers speak them."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from deskmate.core.prompt.prompts import CallDelta, Delta, Prompt, Reply, TextDelta, ThinkingDelta
from deskmate.errors import ModelTrouble
from deskmate.models.http.post_client import Poster
from deskmate.models.wires.http_client import NO_HEADERS
from deskmate.models.wires.json_fields import count, inner, objects, words
from deskmate.models.wires.provider_errors import ProviderEndpoint, SettingsOrigin, failure, fault_in
from deskmate.models.wires.provider_model import ProviderModel
from deskmate.models.wires.reply_parts import ReplyBlock, Room, blocks
from deskmate.models.wires.requests.openai_request import body_parts
from deskmate.models.wires.sse import ServerEvent
from deskmate.models.wires.usage import TokenCount
from deskmate.ports import ModelLimits

_OPENAI = "https://api.openai.com"
_AZURE = ".openai.azure.com"


class OpenAIModel(ProviderModel):
    """A model with the chat completions API. `provider`: part of its name. `key_env`: the variable for its key.

    `effort`: how much it thinks, None for its own default. `headers`: what each request has besides its own.
    `origin`: where its settings come from, as in `SettingsOrigin`.
    """

    def __init__(
        self,
        client: Poster,
        model: str,
        *,
        key: str | None,
        base_url: str = f"{_OPENAI}/v1",
        limits: ModelLimits,
        effort: str | None = None,
        provider: str = "openai",
        key_env: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] = NO_HEADERS,
        origin: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        url = f"{base_url.rstrip('/')}/chat/completions"
        at = ProviderEndpoint(f"{provider}:{model}", url, key_env, key, SettingsOrigin(*origin))
        super().__init__(client, at, {**({"authorization": f"Bearer {key}"} if key else {}), **headers}, limits)
        # OpenAI and Azure refuse the old name for newer models. Other servers know only the old one.
        is_openai = base_url.startswith(f"{_OPENAI}/") or (urlsplit(base_url).hostname or "").endswith(_AZURE)
        self._max_tokens_key = "max_completion_tokens" if is_openai else "max_tokens"
        self._model, self._effort = model, effort

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they arrive, and the one reply last."""
        most = prompt.most(self._limits.output)
        most_key, effort = self._max_tokens_key, self._effort
        body = body_parts(prompt, self._model, max_tokens=most, max_tokens_key=most_key, effort=effort)
        return self._answer(body, ChunkFold(self._at, prompt))


class ChunkFold:
    """One completion, built from its chunks."""

    def __init__(self, at: ProviderEndpoint, prompt: Prompt) -> None:
        self._at, self._prompt = at, prompt
        self._thinking, self._text = ReplyBlock("thinking"), ReplyBlock("text")
        self._calls: list[ReplyBlock] = []
        self._by_index: dict[int, ReplyBlock] = {}
        self._room, self._tokens = Room(at.model), TokenCount(at.model)
        self._stop = ""
        self.finished = False

    def take(self, event: ServerEvent) -> Iterator[Delta]:
        """Yield the deltas of an event, for display. Raises the error that the event reports."""
        if event.data.strip() == "[DONE]":
            self.finished = True
            return
        found = self._at.read(event.data)
        if fault := fault_in(found):
            raise failure(self._at, fault.status, fault)
        self._count(inner(found, "usage"))
        for choice in objects(found, "choices"):
            yield from self._extend(inner(choice, "delta"))
            self._stop = words(choice, "finish_reason") or self._stop

    def reply(self) -> Reply:
        """Return the reply. Raises ModelTrouble if the stream ended before the completion did."""
        if not self.finished and not self._stop:
            raise ModelTrouble(f"{self._at.model} stopped in the middle of its answer")
        end = self._end()
        pieces = (self._thinking, self._text, *self._calls)
        said = blocks(pieces, cut=end != "done")
        usage = self._tokens.usage(self._prompt, said, cached_in_input=True)
        return Reply(said, usage, end, self._at.model)

    def _count(self, usage: dict[str, Any]) -> None:
        self._tokens.tell("input", usage, "prompt_tokens")
        self._tokens.tell("output", usage, "completion_tokens")
        self._tokens.tell("cache_read", inner(usage, "prompt_tokens_details"), "cached_tokens")

    def _end(self) -> Literal["done", "length", "refused"]:
        if self._stop == "length":
            return "length"
        return "refused" if self._stop == "content_filter" else "done"

    def _extend(self, delta: dict[str, Any]) -> Iterator[Delta]:
        if thought := words(delta, "reasoning_content") or words(delta, "reasoning"):
            self._room.take(thought)
            self._thinking.parts.append(thought)
            yield ThinkingDelta(thought)
        if text := words(delta, "content") or words(delta, "refusal"):
            self._room.take(text)
            self._text.parts.append(text)
            yield TextDelta(text)
        for fragment in objects(delta, "tool_calls"):
            yield from self._call(fragment)

    def _call(self, fragment: dict[str, Any]) -> Iterator[Delta]:
        function = inner(fragment, "function")
        id_, tool = words(fragment, "id"), words(function, "name")
        # Some servers send the arguments as an object, others as text.
        arguments = json.dumps(whole) if (whole := inner(function, "arguments")) else words(function, "arguments")
        index = count(fragment, "index")
        piece = self._piece(index, id_, tool, arguments)
        self._room.take(id_, tool, arguments)
        if piece is None:
            self._room.take_call()
            piece = ReplyBlock("call", id=id_, tool=tool)
            self._calls.append(piece)
            yield CallDelta(tool)
        if index is not None:
            self._by_index[index] = piece
        piece.id, piece.tool = piece.id or id_, piece.tool or tool
        piece.parts.append(arguments)

    def _piece(self, index: int | None, id_: str, tool: str, arguments: str) -> ReplyBlock | None:
        """Return the call that a fragment continues, or None if it starts a new one.

        The index should tell. Some servers omit it, or send 0 for every call, each complete in one fragment.
        """
        last = self._calls[-1] if self._calls else None
        piece = last if index is None else self._by_index.get(index)
        if piece is None or (id_ and piece.id and id_ != piece.id):
            return None
        repeats_name = bool(tool) and (index is None or bool(arguments and piece.is_whole_call))
        return None if repeats_name else piece
