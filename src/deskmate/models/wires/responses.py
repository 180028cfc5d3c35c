"""OpenAI's Responses API."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Literal

from deskmate.core.prompt.prompts import CallDelta, Delta, Prompt, Reply, TextDelta, ThinkingDelta
from deskmate.errors import ModelError, ModelTrouble
from deskmate.models.http.post_client import Poster
from deskmate.models.wires.http_client import NO_HEADERS
from deskmate.models.wires.json_fields import count, inner, objects, words
from deskmate.models.wires.provider_errors import Fault, ProviderEndpoint, SettingsOrigin, failure, fault_in
from deskmate.models.wires.provider_model import ProviderModel
from deskmate.models.wires.reply_parts import ReplyBlock, Room, blocks
from deskmate.models.wires.requests.responses_request import body_parts, signature_of
from deskmate.models.wires.sse import ServerEvent
from deskmate.models.wires.usage import TokenCount
from deskmate.ports import ModelLimits

_KINDS: Mapping[str, Literal["text", "thinking", "call"]] = {
    "message": "text",
    "reasoning": "thinking",
    "function_call": "call",
}


class ResponsesModel(ProviderModel):
    """A model with the Responses API. The arguments are those of `OpenAIModel`.

    `effort`: how much it thinks, None for its own default.
    """

    def __init__(
        self,
        client: Poster,
        model: str,
        *,
        key: str | None,
        base_url: str = "https://api.openai.com/v1",
        limits: ModelLimits,
        effort: str | None = None,
        provider: str = "openai",
        key_env: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] = NO_HEADERS,
        origin: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        url = f"{base_url.rstrip('/')}/responses"
        at = ProviderEndpoint(f"{provider}:{model}", url, key_env, key, SettingsOrigin(*origin))
        super().__init__(client, at, {**({"authorization": f"Bearer {key}"} if key else {}), **headers}, limits)
        self._model, self._effort, self._provider = model, effort, provider

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they arrive, and the one reply last."""
        most = prompt.most(self._limits.output)
        body = body_parts(prompt, self._model, max_tokens=most, effort=self._effort, provider=self._provider)
        return self._answer(body, ResponseFold(self._at, prompt))


class ResponseFold:
    """One response, built from its events. Unknown kinds of events and items are skipped."""

    def __init__(self, at: ProviderEndpoint, prompt: Prompt) -> None:
        self._at, self._prompt = at, prompt
        self._pieces: dict[int, ReplyBlock] = {}
        self._room, self._tokens = Room(at.model), TokenCount(at.model)
        self._reason = ""
        self.finished = False

    def take(self, event: ServerEvent) -> Iterator[Delta]:
        """Yield the deltas of an event, for display. Raises the error that an event reports."""
        if event.data.strip() == "[DONE]":
            return
        found = self._at.read(event.data)
        place, text = count(found, "output_index") or 0, words(found, "delta")
        match words(found, "type"):
            case "response.output_item.added":
                yield from self._open(place, inner(found, "item"))
            case "response.output_item.done":
                yield from self._close(place, inner(found, "item"))
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._extend(place, "text", text)
            case "response.reasoning_summary_part.added" if count(found, "summary_index"):
                yield from self._extend(place, "thinking", "\n\n")
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._extend(place, "thinking", text)
            case "response.function_call_arguments.delta":
                yield from self._extend(place, "call", text)
            case "response.completed" | "response.incomplete":
                self._end(inner(found, "response"))
            case "response.failed" | "error":
                raise self._failure(inner(found, "response") or found)

    def reply(self) -> Reply:
        """Return the reply. Raises ModelTrouble if the stream ended before the response did."""
        if not self.finished:
            raise ModelTrouble(f"{self._at.model} stopped in the middle of its answer")
        ends: Mapping[str, Literal["length", "refused"]] = {"max_output_tokens": "length", "content_filter": "refused"}
        end: Literal["done", "length", "refused"] = ends.get(self._reason, "done")
        pieces = [self._pieces[place] for place in sorted(self._pieces)]
        said = blocks(pieces, cut=end != "done")
        usage = self._tokens.usage(self._prompt, said, cached_in_input=True)
        return Reply(said, usage, end, self._at.model)

    def _open(self, place: int, item: dict[str, Any]) -> Iterator[Delta]:
        kind = _KINDS.get(words(item, "type"))
        if kind is None:
            return
        tool, id_ = words(item, "name"), words(item, "call_id")
        self._pieces[place] = ReplyBlock(kind, id=id_, tool=tool)
        if kind == "call":
            self._room.take_call(tool, id_)
            yield CallDelta(tool)

    def _extend(self, place: int, kind: str, text: str) -> Iterator[Delta]:
        piece = self._pieces.get(place)
        if piece is None or piece.kind != kind or not text:
            return
        self._room.take(text)
        piece.parts.append(text)
        if kind != "call":
            yield TextDelta(text) if kind == "text" else ThinkingDelta(text)

    def _close(self, place: int, item: dict[str, Any]) -> Iterator[Delta]:
        """Take a whole item: what is only in it, and all of it if nothing was streamed."""
        if place not in self._pieces:
            yield from self._open(place, item)
        piece = self._pieces.get(place)
        if piece is None:
            return
        if piece.kind == "thinking":
            piece.signature = signature_of(words(item, "id"), words(item, "encrypted_content"))
            self._room.take(piece.signature)
        if piece.kind == "call":
            piece.id, piece.tool = piece.id or words(item, "call_id"), piece.tool or words(item, "name")
        if not piece.parts:
            yield from self._extend(place, piece.kind, _whole(item))

    def _end(self, response: dict[str, Any]) -> None:
        usage = inner(response, "usage")
        self._tokens.tell("input", usage, "input_tokens")
        self._tokens.tell("output", usage, "output_tokens")
        self._tokens.tell("cache_read", inner(usage, "input_tokens_details"), "cached_tokens")
        self._reason = words(inner(response, "incomplete_details"), "reason")
        self.finished = True

    def _failure(self, found: dict[str, Any]) -> ModelError:
        # The error is in the response, or the event is the error.
        kinds = tuple(filter(None, (words(found, "code"), words(found, "param"))))
        fault = fault_in(found) or Fault(words(found, "message"), kinds)
        return failure(self._at, fault.status, fault)


def _whole(item: dict[str, Any]) -> str:
    """Return the text of an item that was not streamed."""
    if arguments := item.get("arguments"):
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    parts = [*objects(item, "summary"), *objects(item, "content")]
    return "\n\n".join(filter(None, (words(part, "text") or words(part, "refusal") for part in parts)))
