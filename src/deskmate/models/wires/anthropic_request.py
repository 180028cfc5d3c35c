"""A prompt as the body of its request.

Cache breakpoints are at the end of the system prompt, which also covers the tools, and at the end of the last two
user messages: the later one is written now, the earlier one was written by the previous request.
"""

import re
from typing import Any

from deskmate.core.prompt.prompts import (
    CallBlock,
    Given,
    Image,
    Prompt,
    ResultBlock,
    Spoke,
    Spoken,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)
from deskmate.models.wires.request_parts import NO_OUTPUT, NOTHING, base64_of, encode, is_blank, wire_id, wire_name

Block = dict[str, Any]

_CACHED_PASSAGES = 2
# Checked in November 2026: these models need a thinking budget. Later models choose it themselves and refuse one.
_BUDGETED = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$)")


def request_body(prompt: Prompt, model: str, *, max_tokens: int, thinking_tokens: int) -> bytes:
    """Return the request body for a prompt. The same prompt gives the same bytes."""
    body: Block = {"model": model, "max_tokens": max_tokens, "stream": True}
    if thinking_tokens:
        body["thinking"] = _thinking(model, thinking_tokens)
    if prompt.tools:
        body["tools"] = [_tool(tool) for tool in prompt.tools]
    if not is_blank(prompt.system):
        body["system"] = [_cached(_text(prompt.system))]
    body["messages"] = _messages(prompt)
    return encode(body)


def _thinking(model: str, tokens: int) -> Block:
    return {"type": "enabled", "budget_tokens": tokens} if _BUDGETED.match(model) else {"type": "adaptive"}


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.text, "input_schema": dict(tool.schema)}


def _messages(prompt: Prompt) -> list[Block]:
    told = [passage for passage in prompt.passages if isinstance(passage, Told)]
    cached = {id(passage) for passage in told[-_CACHED_PASSAGES:]}
    messages = []
    for passage in prompt.passages:
        if isinstance(passage, Spoke):
            role, content = "assistant", [block for part in passage.blocks for block in _spoken(part)]
        else:
            role, content = "user", _given(passage, prompt)
            if id(passage) in cached:
                content[-1] = _cached(content[-1])
        # Only thoughts of another provider: left out. The messages around it are then read as one.
        if content:
            messages.append({"role": role, "content": content})
    return messages


def _spoken(block: Spoken) -> list[Block]:
    match block:
        case TextBlock(text=text):
            return [] if is_blank(text) else [_text(text)]
        case ThinkingBlock(signature=""):
            return []
        case ThinkingBlock(sealed=True, signature=data):
            return [{"type": "redacted_thinking", "data": data}]
        case ThinkingBlock(text=text, signature=signature):
            return [{"type": "thinking", "thinking": text, "signature": signature}]
        case CallBlock(id=call, tool=tool, arguments=arguments):
            return [{"type": "tool_use", "id": wire_id(call), "name": wire_name(tool), "input": dict(arguments)}]


def _given(passage: Told, prompt: Prompt) -> list[Block]:
    # The API requires results before any text.
    ordered = sorted(passage.blocks, key=lambda block: isinstance(block, TextBlock))
    content = [block for part in ordered for block in _told(part, prompt)]
    return content or [_text(NOTHING)]


def _told(block: Given, prompt: Prompt) -> list[Block]:
    match block:
        case TextBlock(text=text):
            return [] if is_blank(text) else [_text(text)]
        case ResultBlock():
            return [_result(block, prompt)]


def _result(result: ResultBlock, prompt: Prompt) -> Block:
    text = NO_OUTPUT if is_blank(result.text) else result.text
    images = [_image(image, prompt) for image in result.images if image.blob in prompt.pictures]
    content = [_text(text), *images]
    block = {"type": "tool_result", "tool_use_id": wire_id(result.id), "content": content}
    return block if result.ok else {**block, "is_error": True}


def _image(image: Image, prompt: Prompt) -> Block:
    source = {"type": "base64", "media_type": image.media_type, "data": base64_of(image, prompt)}
    return {"type": "image", "source": source}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _cached(block: Block) -> Block:
    return {**block, "cache_control": {"type": "ephemeral"}}
