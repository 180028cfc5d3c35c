"""A prompt as the body of their request.

Tool messages contain only text, so their pictures follow in the user message after them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from deskmate.core.prompt.prompts import CallBlock, Passage, Prompt, ResultBlock, Spoke, TextBlock, Told, ToolSpec
from deskmate.models.wires.requests.kept_messages import KeptMessages, Message
from deskmate.models.wires.requests.request_parts import (
    NO_OUTPUT,
    NOTHING,
    base64_of,
    body_of,
    is_blank,
    wire_id,
    wire_name,
)


def body_parts(
    prompt: Prompt, model: str, *, max_tokens: int, max_tokens_key: str, effort: str | None = None
) -> list[bytes]:
    """Return the body of the request for a prompt, in parts. The same prompt gives the same bytes."""
    kept = prompt.cache.of(OpenAIMessages, "")
    fields: Message = {
        "model": model,
        max_tokens_key: max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if effort:
        fields["reasoning_effort"] = effort
    if prompt.tools:
        fields["tools"] = kept.tools(prompt.tools)
    return body_of(fields, kept.all(prompt))


class OpenAIMessages(KeptMessages):
    """The messages of one conversation for this API."""

    def all(self, prompt: Prompt) -> Iterator[bytes]:
        """Yield the JSON of all messages of a prompt, with a comma after each."""
        if not is_blank(prompt.system):
            yield self.written([{"role": "system", "content": prompt.system}])
        # Only the last passage changes: it grows until the model answers.
        yield from self.settled(prompt, len(prompt.passages) - 1)
        yield self.written(self._messages(prompt.passages[-1], prompt.pictures))

    def _messages(self, passage: Passage, pictures: Mapping[str, bytes]) -> list[Message]:
        return _spoke(passage) if isinstance(passage, Spoke) else _told(passage, pictures)

    def _tool(self, tool: ToolSpec) -> Message:
        function = {"name": tool.name, "description": tool.text, "parameters": dict(tool.schema)}
        return {"type": "function", "function": function}


def _spoke(passage: Spoke) -> list[Message]:
    text = _joined(block for block in passage.blocks if isinstance(block, TextBlock))
    calls = [_call(block) for block in passage.blocks if isinstance(block, CallBlock)]
    if calls:
        return [{"role": "assistant", "content": text or None, "tool_calls": calls}]
    # Only thoughts, which this API does not accept back: left out.
    return [{"role": "assistant", "content": text}] if text else []


def _call(block: CallBlock) -> Message:
    arguments = json.dumps(dict(block.arguments), ensure_ascii=False, separators=(",", ":"))
    return {
        "id": wire_id(block.id),
        "type": "function",
        "function": {"name": wire_name(block.tool), "arguments": arguments},
    }


def _told(passage: Told, pictures: Mapping[str, bytes]) -> list[Message]:
    results = [block for block in passage.blocks if isinstance(block, ResultBlock)]
    texts = [block for block in passage.blocks if isinstance(block, TextBlock)]
    shown = [part for result in results for part in _in_result(result, pictures)]
    messages = [_result(result) for result in results]
    if shown or any(_pictures(block, pictures) for block in texts):
        messages.append({"role": "user", "content": [*shown, *_parts(texts, pictures)]})
    elif (text := _joined(texts)) or not results:
        messages.append({"role": "user", "content": text or NOTHING})
    return messages


def _parts(texts: Iterable[TextBlock], pictures: Mapping[str, bytes]) -> Iterator[Message]:
    """Yield texts, joined as far as possible, each followed by its pictures."""
    waiting: list[TextBlock] = []
    for block in texts:
        waiting.append(block)
        if shown := _pictures(block, pictures):
            yield from (*_words(waiting), *shown)
            waiting = []
    yield from _words(waiting)


def _words(texts: Iterable[TextBlock]) -> list[Message]:
    return [{"type": "text", "text": text}] if (text := _joined(texts)) else []


def _result(result: ResultBlock) -> Message:
    text = NO_OUTPUT if is_blank(result.text) else result.text
    return {"role": "tool", "tool_call_id": wire_id(result.id), "content": text if result.ok else f"error: {text}"}


def _in_result(result: ResultBlock, pictures: Mapping[str, bytes]) -> list[Message]:
    title = {"type": "text", "text": f"Images in the result of call {wire_id(result.id)}:"}
    return [title, *shown] if (shown := _pictures(result, pictures)) else []


def _pictures(block: TextBlock | ResultBlock, pictures: Mapping[str, bytes]) -> list[Message]:
    images = [image for image in block.images if image.blob in pictures]
    urls = [f"data:{image.media_type};base64,{base64_of(image, pictures)}" for image in images]
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls]


def _joined(blocks: Iterable[TextBlock]) -> str:
    return "\n\n".join(block.text for block in blocks if not is_blank(block.text))
