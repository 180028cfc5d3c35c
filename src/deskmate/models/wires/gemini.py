"""The Gemini API."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from deskmate.core.prompt.prompts import CallDelta, Delta, Prompt, Reply, TextDelta, ThinkingDelta
from deskmate.errors import ModelTrouble
from deskmate.models.http.post_client import Poster
from deskmate.models.wires.http_client import NO_HEADERS
from deskmate.models.wires.json_fields import count, inner, objects, words
from deskmate.models.wires.provider_errors import ProviderEndpoint, SettingsOrigin, failure, fault_in
from deskmate.models.wires.provider_model import ProviderModel
from deskmate.models.wires.reply_parts import ReplyBlock, Room, blocks
from deskmate.models.wires.requests.gemini_request import body_parts
from deskmate.models.wires.sse import ServerEvent
from deskmate.models.wires.usage import TokenCount
from deskmate.ports import ModelLimits

_REFUSED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "MODEL_ARMOR"}
)
# The model made a mistake that it may not make again.
_BROKEN = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
    }
)


class GeminiModel(ProviderModel):
    """A model with the Gemini API. The arguments are those of `ResponsesModel`."""

    def __init__(
        self,
        client: Poster,
        model: str,
        *,
        key: str | None,
        base_url: str = "https://generativelanguage.googleapis.com",
        limits: ModelLimits,
        effort: str | None = None,
        provider: str = "gemini",
        key_env: str = "GEMINI_API_KEY",
        headers: Mapping[str, str] = NO_HEADERS,
        origin: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        address = base_url.rstrip("/").removesuffix("/v1beta")
        url = f"{address}/v1beta/models/{quote(model, safe='')}:streamGenerateContent?alt=sse"
        at = ProviderEndpoint(f"{provider}:{model}", url, key_env, key, SettingsOrigin(*origin))
        super().__init__(client, at, {**({"x-goog-api-key": key} if key else {}), **headers}, limits)
        self._model, self._effort, self._provider = model, effort, provider

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they arrive, and the one reply last."""
        most = prompt.most(self._limits.output)
        body = body_parts(prompt, self._model, max_tokens=most, effort=self._effort, provider=self._provider)
        return self._answer(body, ContentFold(self._at, prompt))


class ContentFold:
    """One answer, built from its chunks. Unknown kinds of parts are skipped."""

    # The last chunk has the usage and says how the answer ended. Only the end of the stream says that it was the last.
    finished = False

    def __init__(self, at: ProviderEndpoint, prompt: Prompt) -> None:
        self._at, self._prompt = at, prompt
        self._pieces: list[ReplyBlock] = []
        self._room, self._tokens = Room(at.model), TokenCount(at.model)
        self._stop = ""

    def take(self, event: ServerEvent) -> Iterator[Delta]:
        """Yield the deltas of an event, for display. Raises the error that the event reports."""
        found = self._at.read(event.data)
        if fault := fault_in(found):
            raise failure(self._at, fault.status, fault)
        self._count(inner(found, "usageMetadata"))
        if words(inner(found, "promptFeedback"), "blockReason"):
            self._stop = "PROHIBITED_CONTENT"
        # There is only one candidate, because only one is asked for.
        for candidate in objects(found, "candidates")[:1]:
            for part in objects(inner(candidate, "content"), "parts"):
                yield from self._part(part)
            self._stop = words(candidate, "finishReason") or self._stop

    def reply(self) -> Reply:
        """Return the reply. Raises ModelTrouble if the stream ended before it did, or with a call that is broken."""
        if not self._stop:
            raise ModelTrouble(f"{self._at.model} stopped in the middle of its answer")
        if self._stop in _BROKEN:
            raise ModelTrouble(f"{self._at.model} made a call that cannot be read ({self._stop})")
        end: Literal["done", "length", "refused"] = "done"
        if self._stop == "MAX_TOKENS":
            end = "length"
        elif self._stop in _REFUSED:
            end = "refused"
        said = blocks(self._pieces, cut=end != "done")
        return Reply(said, self._tokens.usage(self._prompt, said, cached_in_input=True), end, self._at.model)

    def _count(self, usage: dict[str, Any]) -> None:
        self._tokens.tell("input", usage, "promptTokenCount")
        self._tokens.tell("cache_read", usage, "cachedContentTokenCount")
        answered, thought = count(usage, "candidatesTokenCount"), count(usage, "thoughtsTokenCount")
        if answered is not None or thought is not None:
            self._tokens.tell("output", {"all": (answered or 0) + (thought or 0)}, "all")

    def _part(self, part: dict[str, Any]) -> Iterator[Delta]:
        if call := inner(part, "functionCall"):
            # Without the signature of a call, the next request is refused. That of a text may be left out.
            yield from self._call(call, words(part, "thoughtSignature"))
        elif text := words(part, "text"):
            yield self._text("thinking" if part.get("thought") is True else "text", text)

    def _text(self, kind: Literal["text", "thinking"], text: str) -> Delta:
        self._room.take(text)
        if not self._pieces or self._pieces[-1].kind != kind:
            self._pieces.append(ReplyBlock(kind))
        self._pieces[-1].parts.append(text)
        return TextDelta(text) if kind == "text" else ThinkingDelta(text)

    def _call(self, call: dict[str, Any], signature: str) -> Iterator[Delta]:
        tool, arguments = words(call, "name"), json.dumps(inner(call, "args"))
        self._room.take_call(tool, arguments, signature)
        self._pieces += [ReplyBlock("sealed", signature=signature)] if signature else []
        self._pieces.append(ReplyBlock("call", [arguments], id=words(call, "id"), tool=tool))
        yield CallDelta(tool)
