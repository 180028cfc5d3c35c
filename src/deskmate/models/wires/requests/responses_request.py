"""A prompt as the body of a request to OpenAI's Responses API.

Nothing is stored at the provider. Thoughts come encrypted and are sent back in their place.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from deskmate.core.prompt.prompts import (
    CallBlock,
    Passage,
    Prompt,
    ResultBlock,
    Spoke,
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

# These models do not reason, and refuse what is about reasoning.
_WITHOUT_REASONING = re.compile(r"(chat)?gpt-(3|4)")


def body_parts(prompt: Prompt, model: str, *, max_tokens: int, effort: str | None, provider: str) -> list[bytes]:
    """Return the body of the request for a prompt, in parts. The same prompt gives the same bytes."""
    kept = prompt.cache.of(ResponsesInput, provider)
    fields: Message = {"model": model, "max_output_tokens": max_tokens, "stream": True, "store": False}
    if not _WITHOUT_REASONING.match(model):
        # Some models of OpenAI send it anyway. Other servers do only if they are asked.
        fields["include"] = ["reasoning.encrypted_content"]
    if effort:
        fields["reasoning"] = {"effort": effort, "summary": "auto"}
    if not is_blank(prompt.system):
        fields["instructions"] = prompt.system
    if prompt.tools:
        fields["tools"] = kept.tools(prompt.tools)
    return body_of(fields, kept.all(prompt), "input")


def signature_of(id_: str, encrypted: str) -> str:
    """Return the signature of a thought: what the API needs to continue it."""
    return f"{id_} {encrypted}" if id_ and encrypted else ""


class ResponsesInput(KeptMessages):
    """The items of one conversation for this API."""

    def all(self, prompt: Prompt) -> Iterator[bytes]:
        """Yield the JSON of all items of a prompt, with a comma after each."""
        # Only the last passage changes: it grows until the model answers.
        yield from self.settled(prompt, len(prompt.passages) - 1)
        yield self.written(self._messages(prompt.passages[-1], prompt.pictures))

    def _messages(self, passage: Passage, pictures: Mapping[str, bytes]) -> list[Message]:
        if isinstance(passage, Spoke):
            return [item for block in passage.blocks for item in self._spoken(block)]
        return _told(passage, pictures)

    def _tool(self, tool: ToolSpec) -> Message:
        head = {"type": "function", "name": tool.name, "description": tool.text}
        return {**head, "parameters": dict(tool.schema), "strict": False}

    def _spoken(self, block: Spoken) -> list[Message]:
        match block:
            case TextBlock(text=text):
                return [] if is_blank(text) else [{"role": "assistant", "content": text}]
            case ThinkingBlock():
                return self._thought(block)
            case CallBlock(id=call, tool=tool, arguments=arguments):
                text = json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":"))
                item = {"call_id": wire_id(call), "name": wire_name(tool), "arguments": text}
                return [{"type": "function_call", **item}]

    def _thought(self, block: ThinkingBlock) -> list[Message]:
        id_, _, encrypted = block.signature.partition(" ")
        if not encrypted or not is_signed(block, self._provider):
            return []
        summary = [] if is_blank(block.text) else [{"type": "summary_text", "text": block.text}]
        return [{"type": "reasoning", "id": id_, "summary": summary, "encrypted_content": encrypted}]


def _told(passage: Told, pictures: Mapping[str, bytes]) -> list[Message]:
    results = [block for block in passage.blocks if isinstance(block, ResultBlock)]
    texts = [block for block in passage.blocks if isinstance(block, TextBlock)]
    content = [part for block in texts for part in _parts(block.text, block, pictures)]
    if not content and not results:
        content = [_text(NOTHING)]
    items = [_result(result, pictures) for result in results]
    return [*items, {"role": "user", "content": content}] if content else items


def _result(result: ResultBlock, pictures: Mapping[str, bytes]) -> Message:
    text = NO_OUTPUT if is_blank(result.text) else result.text
    said = text if result.ok else f"error: {text}"
    shown = list(_pictures(result, pictures))
    output: object = [_text(said), *shown] if shown else said
    return {"type": "function_call_output", "call_id": wire_id(result.id), "output": output}


def _parts(text: str, block: TextBlock, pictures: Mapping[str, bytes]) -> Iterable[Message]:
    return [*([] if is_blank(text) else [_text(text)]), *_pictures(block, pictures)]


def _pictures(block: TextBlock | ResultBlock, pictures: Mapping[str, bytes]) -> Iterator[Message]:
    for image in block.images:
        if image.blob in pictures:
            url = f"data:{image.media_type};base64,{base64_of(image, pictures)}"
            yield {"type": "input_image", "detail": "auto", "image_url": url}


def _text(text: str) -> Message:
    return {"type": "input_text", "text": text}
