"""Anthropic's format: requests read, answers written.

`anthropic_rules` has checked a request before it is read here.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from deskmate.core.prompt.prompts import (
    CallBlock,
    Given,
    Passage,
    Prompt,
    ResultBlock,
    Spoke,
    Spoken,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
    Usage,
)
from deskmate.models.scripted import Say, Use
from deskmate.testing.scripts import Answer

PATH = "/v1/messages"

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_STATUSES = {kind: status for status, kind in _KINDS.items()}
_ENDS = {"length": "max_tokens", "refused": "refusal"}
_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "redacted_thinking": {},
    "tool_use": {"input": {}},
}

# -- reading --------------------------------------------------------------------------------------


def read(body: Mapping[str, Any]) -> Prompt:
    """Return a request as a provider-neutral prompt."""
    return Prompt(
        system="\n\n".join(block["text"] for block in _listed(body.get("system", ()))),
        passages=tuple(map(_passage, body["messages"])),
        tools=tuple(
            ToolSpec(tool["name"], tool.get("description", ""), tool["input_schema"]) for tool in body.get("tools", ())
        ),
    )


def _passage(message: Mapping[str, Any]) -> Passage:
    blocks = _listed(message["content"])
    if message["role"] == "assistant":
        return Spoke(tuple(map(_spoken, blocks)))
    return Told(tuple(_given(block) for block in blocks if block["type"] != "image"))


def _spoken(block: Mapping[str, Any]) -> Spoken:
    match block:
        case {"type": "tool_use"}:
            return CallBlock(block["id"], block["name"], block["input"])
        case {"type": "thinking"}:
            return ThinkingBlock(block["thinking"], block["signature"])
        case {"type": "redacted_thinking"}:
            return ThinkingBlock("", block["data"], sealed=True)
    return TextBlock(block["text"])


def _given(block: Mapping[str, Any]) -> Given:
    if block["type"] == "text":
        return TextBlock(block["text"])
    inner = _listed(block.get("content", ""))
    text = "\n\n".join(part["text"] for part in inner if part["type"] == "text")
    return ResultBlock(block["tool_use_id"], text, ok=not block.get("is_error", False))


def _listed(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# -- signing --------------------------------------------------------------------------------------


def signature(thinking: str) -> str:
    """Return the signature of a thinking text: the same in every run, and different for every text."""
    return "Er" + base64.b64encode(blake2b(thinking.encode(), digest_size=30, key=b"fake").digest()).decode()


def sealed(thinking: str) -> str:
    """Return a thinking text encrypted as a provider would send it."""
    return signature(thinking) + "." + base64.b64encode(thinking.encode()).decode()


def is_sealed(data: str) -> bool:
    """Return whether an encrypted thinking text is one of ours, unchanged."""
    _, dot, hidden = data.partition(".")
    try:
        return bool(dot) and sealed(base64.b64decode(hidden).decode()) == data
    except ValueError:
        return False


# -- answering ------------------------------------------------------------------------------------


def whole(answer: Answer) -> bytes:
    """Return an answer that is not streamed."""
    message = _message(answer, [block for block, _ in _blocks(answer)], answer.usage)
    return _json({**message, **_end(answer.say)})


def events(answer: Answer, body: Mapping[str, Any]) -> list[bytes]:
    """Return an answer as the events of a stream."""
    start = _message(answer, [], Usage(answer.usage.input, 1, answer.usage.cache_read, answer.usage.cache_write))
    found = [_event("message_start", message=start), _event("ping")]
    for index, (block, text) in enumerate(_blocks(answer)):
        found.append(_event("content_block_start", index=index, content_block=_opened(block)))
        deltas = _deltas(block, answer.fragments(text))
        found += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
        found.append(_event("content_block_stop", index=index))
    found.append(_event("message_delta", delta=_end(answer.say), usage=_usage(answer.usage)))
    found.append(_event("message_stop"))
    return found


def _message(answer: Answer, blocks: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.digest}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": blocks,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(usage),
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _end(say: Say) -> dict[str, Any]:
    reason = _ENDS.get(say.end) or ("tool_use" if say.calls else "end_turn")
    details = {"type": "refusal", "category": None, "explanation": None} if say.end == "refused" else None
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": details}


def _blocks(answer: Answer) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the blocks of an answer, each with the text that is streamed in fragments."""
    say = answer.say
    if say.thinking and say.sealed:
        yield {"type": "redacted_thinking", "data": sealed(say.thinking)}, ""
    elif say.thinking:
        yield {"type": "thinking", "thinking": say.thinking, "signature": signature(say.thinking)}, say.thinking
    if say.text:
        yield {"type": "text", "text": say.text}, say.text
    for index, use in enumerate(say.calls):
        id_ = use.id or f"toolu_{answer.digest[:20]}{index:02d}"
        yield {"type": "tool_use", "id": id_, "name": use.tool, "input": _input(use)}, _raw(use)


def _input(use: Use) -> Any:
    """Return the arguments of a call as an object, or an empty one if they are broken."""
    if use.raw is None:
        return use.arguments
    try:
        return json.loads(use.raw)
    except ValueError:
        return {}


def _raw(use: Use) -> str:
    if use.raw is not None:
        return use.raw
    return json.dumps(use.arguments, ensure_ascii=False) if use.arguments else ""


def _opened(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block as its first event shows it: empty, except encrypted thinking, which arrives at once."""
    return {**block, **_EMPTY[block["type"]]}


def _deltas(block: dict[str, Any], fragments: list[str]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": text} for text in fragments)
        case "thinking":
            yield from ({"type": "thinking_delta", "thinking": text} for text in fragments)
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            # The first fragment is always empty. It is the only one if a call has no arguments.
            yield from ({"type": "input_json_delta", "partial_json": text} for text in ["", *fragments])


# -- errors ---------------------------------------------------------------------------------------


def problem(status: int, message: str) -> bytes:
    """Return the body of an error."""
    return _json(_error(_KINDS.get(status, "api_error"), message))


def prompt_too_long() -> bytes:
    """Return the body of the error that refuses a prompt larger than the context window."""
    return problem(400, "prompt is too long: 200001 tokens > 200000 maximum")


def error_event(kind: str) -> bytes:
    """Return the event that ends a stream with an error."""
    return _event("error", **_error(kind, f"the stream was chosen to end with {kind}"))


def status_of(kind: str) -> int:
    """Return the status of an error that is not streamed."""
    return _STATUSES.get(kind, 500)


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _event(type_: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (type_.encode(), _json({**fields, "type": type_}))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
