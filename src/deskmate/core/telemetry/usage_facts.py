"""What entries say about model calls, as attributes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from deskmate.core.agent.entries import Said
from deskmate.core.log.names import call_id
from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.core.team.messages import Broadcast, Envelope, Plain, Scheduled
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.span_values import AttributeValue
from deskmate.core.values import frozen

# The most characters of each text that is exported on request.
_MOST_CHARS = 4096


@frozen
class ContentChoice:
    """Whether texts are exported, and what redacts them. Records are redacted when written; this is done once more."""

    exported: bool = False
    redaction: Redaction = SHAPES

    def text(self, text: str) -> str:
        """Return a text as it is exported: without secrets, and at most _MOST_CHARS long."""
        redacted = self.redaction.text(text)
        return redacted if len(redacted) <= _MOST_CHARS else f"{redacted[:_MOST_CHARS]}…"

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """Return the arguments of a call as they are exported."""
        return self.text(json.dumps(self.redaction.value(dict(arguments)), ensure_ascii=False))


NO_CONTENT = ContentChoice()


@frozen
class CallUsage:
    """What a model call used. `model`: `provider:model`. `cost`, `seconds`: None if they are not known."""

    model: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None
    seconds: float | None = None

    @property
    def prompt(self) -> int:
        """All tokens of the prompt."""
        return self.input + self.cache_read + self.cache_write


def usage_in(usage: Mapping[str, Any]) -> CallUsage:
    """Return the usage of an entry. What is missing or of the wrong kind counts nothing."""
    counts = {name: _number(usage.get(name)) for name in ("input", "output", "cache_read", "cache_write")}
    model, cost, seconds = (usage.get(name) for name in ("model", "cost", "seconds"))
    return CallUsage(
        model=model if isinstance(model, str) else "",
        **{name: int(count or 0) for name, count in counts.items()},
        cost=_number(cost),
        seconds=_number(seconds),
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < float("inf") else None


def model_attributes(model: str) -> dict[str, str]:
    """Return the attributes of a `provider:model`."""
    provider, colon, name = model.partition(":")
    if not colon:
        return {names.REQUEST_MODEL: model} if model else {}
    return {names.PROVIDER: names.PROVIDER_NAMES.get(provider, provider), names.REQUEST_MODEL: name}


def usage_attributes(usage: CallUsage) -> dict[str, AttributeValue]:
    """Return what was used as attributes."""
    used: dict[str, AttributeValue] = {
        **model_attributes(usage.model),
        names.INPUT_TOKENS: usage.prompt,
        names.OUTPUT_TOKENS: usage.output,
        names.CACHE_READ_TOKENS: usage.cache_read,
        names.CACHE_CREATION_TOKENS: usage.cache_write,
    }
    return used if usage.cost is None else {**used, names.COST: usage.cost}


def finish_reason(said: Said) -> str:
    """Return why an answer ended."""
    if said.stopped:
        return "interrupted"
    if said.calls:
        return "tool_call"
    return "length" if said.unfinished else "stop"


def output_messages(said: Said, member: str, number: int, content: ContentChoice) -> str:
    """Return what a model said, as the conventions write it. Thoughts are left out."""
    parts: list[dict[str, str]] = [{"type": "text", "content": content.text(said.text)}] if said.text else []
    parts += [
        {
            "type": "tool_call",
            "id": call_id(member, number, index),
            "name": call.tool,
            "arguments": content.arguments(call.arguments),
        }
        for index, call in enumerate(said.calls)
    ]
    return _messages([{"role": "assistant", "parts": parts, "finish_reason": finish_reason(said)}])


def input_messages(envelopes: Iterable[Envelope], content: ContentChoice) -> str:
    """Return messages that a member heard, as the conventions write them."""
    return _messages(
        {"role": "user", "name": one.sender, "parts": [{"type": "text", "content": content.text(one.message.content)}]}
        for one in envelopes
        if isinstance(one.message, Plain | Broadcast | Scheduled)
    )


def _messages(messages: Iterable[dict[str, Any]]) -> str:
    return json.dumps(list(messages), ensure_ascii=False)
