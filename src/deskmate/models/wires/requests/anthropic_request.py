"""A prompt as the body of its request.

Cache breakpoints are at the end of the system prompt, which also covers the tools, and at the end of the last two
user messages: the later one is written now, the earlier one was written by the previous request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from deskmate.core.prompt.prompts import (
    CallBlock,
    Given,
    Image,
    Passage,
    Prompt,
    ResultBlock,
    Spoken,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)
from deskmate.models.wires.requests.kept_messages import KeptMessages, Message
from deskmate.models.wires.requests.request_parts import (
    NO_OUTPUT,
    NOTHING,
    base64_of,
    body_of,
    is_blank,
    is_signed,
    wire_id,
    wire_name,
)

_CACHED_PASSAGES = 2
# Checked in November 2026: these models need a thinking budget. Later models choose it themselves and refuse one.
# Bedrock and Vertex AI write other things before and after the name.
_BUDGETED = re.compile(r"\bclaude-(3|(opus|sonnet|haiku)-4(-[0-5])?([-@]\d{8})?(-v\d+(:\d+)?)?$)")
_VERTEX_VERSION = "vertex-2023-10-16"
_BUDGETS = {"low": 4096, "medium": 10_000, "high": 24_000}


def body_parts(
    prompt: Prompt,
    model: str,
    *,
    max_tokens: int,
    thinking_tokens: int,
    effort: str | None = None,
    provider: str = "anthropic",
    is_vertex: bool = False,
) -> list[bytes]:
    """Return the body of the request for a prompt, in parts. The same prompt gives the same bytes."""
    kept = prompt.cache.of(AnthropicMessages, provider)
    head = {"anthropic_version": _VERTEX_VERSION} if is_vertex else {"model": model}
    fields: Message = {**head, "max_tokens": max_tokens, "stream": True}
    if thinking_tokens:
        fields["thinking"] = _thinking(model, thinking_tokens)
    if effort and not _BUDGETED.search(model):
        fields |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    if prompt.tools:
        fields["tools"] = kept.tools(prompt.tools)
    if not is_blank(prompt.system):
        fields["system"] = [_cached(_text(prompt.system))]
    return body_of(fields, kept.all(prompt))


def _thinking(model: str, tokens: int) -> Message:
    return {"type": "enabled", "budget_tokens": tokens} if _BUDGETED.search(model) else {"type": "adaptive"}


def thinking_budget(model: str, effort: str) -> int:
    """Return how many tokens a model thinks with an effort. 0 if it chooses the number itself."""
    return _BUDGETS[effort] if _BUDGETED.search(model) else 0


class AnthropicMessages(KeptMessages):
    """The messages of one conversation for this API."""

    def all(self, prompt: Prompt) -> Iterator[bytes]:
        """Yield the JSON of all messages of a prompt, with a comma after each."""
        count = _before_breakpoints(prompt.passages)
        yield from self.settled(prompt, count)
        for passage in prompt.passages[count:]:
            messages = self._messages(passage, prompt.pictures)
            if isinstance(passage, Told):
                messages[-1]["content"][-1] = _cached(messages[-1]["content"][-1])
            yield self.written(messages)

    def _messages(self, passage: Passage, pictures: Mapping[str, bytes]) -> list[Message]:
        if isinstance(passage, Told):
            return [{"role": "user", "content": _given(passage, pictures)}]
        content = [block for part in passage.blocks for block in self._spoken(part)]
        # Only thoughts of another provider: left out. The messages around it are then read as one.
        return [{"role": "assistant", "content": content}] if content else []

    def _spoken(self, block: Spoken) -> list[Message]:
        match block:
            case TextBlock(text=text):
                return [] if is_blank(text) else [_text(text)]
            # Old records do not say who signed. It was this API, because no other one was used for thoughts.
            case ThinkingBlock() if not is_signed(block, self._provider, ""):
                return []
            case ThinkingBlock(sealed=True, signature=data):
                return [{"type": "redacted_thinking", "data": data}]
            case ThinkingBlock(text=text, signature=signature):
                return [{"type": "thinking", "thinking": text, "signature": signature}]
            case CallBlock(id=call, tool=tool, arguments=arguments):
                return [{"type": "tool_use", "id": wire_id(call), "name": wire_name(tool), "input": dict(arguments)}]

    def _tool(self, tool: ToolSpec) -> Message:
        return {"name": tool.name, "description": tool.text, "input_schema": dict(tool.schema)}


def _before_breakpoints(passages: Sequence[Passage]) -> int:
    """Return how many passages come before the first one with a cache breakpoint."""
    told = (place for place in reversed(range(len(passages))) if isinstance(passages[place], Told))
    return min(islice(told, _CACHED_PASSAGES))


def _given(passage: Told, pictures: Mapping[str, bytes]) -> list[Message]:
    # The API requires results before any text.
    ordered = sorted(passage.blocks, key=lambda block: isinstance(block, TextBlock))
    content = [block for part in ordered for block in _told(part, pictures)]
    return content or [_text(NOTHING)]


def _told(block: Given, pictures: Mapping[str, bytes]) -> list[Message]:
    match block:
        case TextBlock(text=text):
            return [*([] if is_blank(text) else [_text(text)]), *_images(block, pictures)]
        case ResultBlock():
            return [_result(block, pictures)]


def _result(result: ResultBlock, pictures: Mapping[str, bytes]) -> Message:
    text = NO_OUTPUT if is_blank(result.text) else result.text
    content = [_text(text), *_images(result, pictures)]
    block = {"type": "tool_result", "tool_use_id": wire_id(result.id), "content": content}
    return block if result.ok else {**block, "is_error": True}


def _images(block: Given, pictures: Mapping[str, bytes]) -> list[Message]:
    return [_image(image, pictures) for image in block.images if image.blob in pictures]


def _image(image: Image, pictures: Mapping[str, bytes]) -> Message:
    source = {"type": "base64", "media_type": image.media_type, "data": base64_of(image, pictures)}
    return {"type": "image", "source": source}


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _cached(block: Message) -> Message:
    return {**block, "cache_control": {"type": "ephemeral"}}
