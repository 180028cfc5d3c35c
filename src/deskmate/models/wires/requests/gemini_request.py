"""A prompt as the body of a request to the Gemini API.

A result names the function that it is of, so the names of calls are kept. A signature is sent on the part that came
with it: here, the part after the sealed thought.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from deskmate.core.prompt.prompts import (
    CallBlock,
    Passage,
    Prompt,
    ResultBlock,
    Spoke,
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

# These models need no signature, and think for a number of tokens. Later ones have levels.
_EARLIER = re.compile(r"gemini-[12]\b")
_BUDGETS = {"low": 1024, "medium": 8192, "high": 24_576}
# What the API takes on the first call of an answer that has no signature, such as one of another provider.
_UNSIGNED = "skip_thought_signature_validator"


def body_parts(prompt: Prompt, model: str, *, max_tokens: int, effort: str | None, provider: str) -> list[bytes]:
    """Return the body of the request for a prompt, in parts. The same prompt gives the same bytes."""
    needs_signature = not _EARLIER.match(model)
    kept = prompt.cache.of(SigningContents if needs_signature else GeminiContents, provider)
    config: dict[str, Any] = {"maxOutputTokens": max_tokens}
    if effort:
        depth = {"thinkingLevel": effort.upper()} if needs_signature else {"thinkingBudget": _BUDGETS[effort]}
        config["thinkingConfig"] = {"includeThoughts": True, **depth}
    fields: Message = {"generationConfig": config}
    if not is_blank(prompt.system):
        fields["systemInstruction"] = {"parts": [{"text": prompt.system}]}
    if prompt.tools:
        fields["tools"] = b'[{"functionDeclarations":' + kept.tools(prompt.tools) + b"}]"
    return body_of(fields, kept.all(prompt), "contents")


class GeminiContents(KeptMessages):
    """The contents of one conversation for this API."""

    unsigned: str | None = None

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._names: dict[str, str] = {}

    def all(self, prompt: Prompt) -> Iterator[bytes]:
        """Yield the JSON of all contents of a prompt, with a comma after each."""
        # Only the last passage changes: it grows until the model answers.
        yield from self.settled(prompt, len(prompt.passages) - 1)
        yield self.written(self._messages(prompt.passages[-1], prompt.pictures))

    def _messages(self, passage: Passage, pictures: Mapping[str, bytes]) -> list[Message]:
        if isinstance(passage, Told):
            return [{"role": "user", "parts": self._told(passage, pictures)}]
        parts = self._spoken(passage)
        # Only thoughts, which are not sent back. The contents around it are then read as one.
        return [{"role": "model", "parts": parts}] if parts else []

    def _tool(self, tool: ToolSpec) -> Message:
        return {"name": tool.name, "description": tool.text, "parametersJsonSchema": dict(tool.schema)}

    def _spoken(self, passage: Spoke) -> list[Message]:
        parts: list[Message] = []
        signature, has_call = "", False
        for block in passage.blocks:
            match block:
                case ThinkingBlock():
                    signature = block.signature if block.sealed and is_signed(block, self._provider) else ""
                    continue
                case TextBlock(text=text):
                    part: Message = {"text": text}
                case CallBlock(id=call, tool=tool, arguments=arguments):
                    self._names[call] = wire_name(tool)
                    part = {"functionCall": {"id": wire_id(call), "name": wire_name(tool), "args": dict(arguments)}}
                    signature = signature or ("" if has_call else self.unsigned or "")
                    has_call = True
            if not is_blank(part.get("text", "-")):
                parts.append({**part, "thoughtSignature": signature} if signature else part)
            signature = ""
        return parts

    def _told(self, passage: Told, pictures: Mapping[str, bytes]) -> list[Message]:
        results = [block for block in passage.blocks if isinstance(block, ResultBlock)]
        parts = [self._result(result) for result in results]
        for result in results:
            if shown := list(_pictures(result, pictures)):
                parts += [{"text": f"Images in the result of call {wire_id(result.id)}:"}, *shown]
        for block in passage.blocks:
            if isinstance(block, TextBlock):
                parts += [] if is_blank(block.text) else [{"text": block.text}]
                parts += _pictures(block, pictures)
        return parts or [{"text": NOTHING}]

    def _result(self, result: ResultBlock) -> Message:
        text = NO_OUTPUT if is_blank(result.text) else result.text
        name = self._names.get(result.id, "unnamed")
        response = {"output" if result.ok else "error": text}
        return {"functionResponse": {"id": wire_id(result.id), "name": name, "response": response}}


class SigningContents(GeminiContents):
    """The same, for models that refuse a call without a signature."""

    unsigned = _UNSIGNED


def _pictures(block: TextBlock | ResultBlock, pictures: Mapping[str, bytes]) -> Iterator[Message]:
    for image in block.images:
        if image.blob in pictures:
            yield {"inlineData": {"mimeType": image.media_type, "data": base64_of(image, pictures)}}
