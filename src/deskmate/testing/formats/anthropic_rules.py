"""What it requires of a conversation.

`conversations` has checked that there are messages. `format_shapes` has what both formats require.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from deskmate.testing.formats.anthropic_format import is_sealed, signature
from deskmate.testing.formats.format_shapes import (
    image,
    is_count,
    is_name,
    objects,
    repeated,
    tool_names,
    unknown_fields,
    word,
)

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MAX_BREAKPOINTS = 4

_REQUEST = """
cache_control container diagnostics inference_geo max_tokens messages metadata model output_config service_tier
speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p
"""
# Which blocks a message of each role may contain.
_BLOCKS: Mapping[str, frozenset[str]] = {
    "user": frozenset({"text", "image", "tool_result"}),
    "assistant": frozenset({"text", "thinking", "redacted_thinking", "tool_use"}),
    "result": frozenset({"text", "image"}),
    "system": frozenset({"text"}),
}
_FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "image": frozenset({"type", "source", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def flaws(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that is wrong with a request."""
    yield from unknown_fields("body", body, _REQUEST.split())
    if not word(body, "model"):
        yield "model: must be a name"
    if not is_count(body.get("max_tokens")):
        yield "max_tokens: must be a whole number above 0"
    yield from _tools(body.get("tools", []))
    if "system" in body:
        yield from _content("system", body["system"], "system")
    due = "user"
    for index, message in enumerate(body["messages"]):
        yield from _message(f"messages.{index}", message, due)
        due = "user" if word(message, "role") == "assistant" else "assistant"
    yield from _pairs(body["messages"])
    yield from _last(body["messages"])
    yield from _breakpoints(body)


def _tools(tools: Any) -> Iterator[str]:
    if not isinstance(tools, list) or len(objects(tools)) != len(tools):
        yield "tools: must be a list of objects"
    found = [
        (f"tools.{index}", tool.get("name"), tool.get("input_schema")) for index, tool in enumerate(objects(tools))
    ]
    yield from tool_names(found, _NAME)


def _message(place: str, message: Any, due: str) -> Iterator[str]:
    role = word(message, "role")
    if role not in ("user", "assistant"):
        yield f"{place}: must have the role user or assistant"
        return
    yield from unknown_fields(place, message, ("role", "content"))
    if role != due:
        yield f"{place}: roles must alternate and begin with user, so this must be {due}"
    yield from _content(place, message.get("content"), role)
    yield from _order(place, [word(block, "type") for block in objects(message.get("content"))], role)


def _content(place: str, content: Any, role: str) -> Iterator[str]:
    if isinstance(content, str):
        if not content.strip():
            yield f"{place}: the text is empty or nothing but whitespace"
    elif not isinstance(content, list) or not content:
        yield f"{place}: the content must be a text or a list of at least one block"
    else:
        for index, block in enumerate(content):
            yield from _block(f"{place}.content.{index}", block, role)


def _block(place: str, block: Any, role: str) -> Iterator[str]:
    kind = word(block, "type")
    if kind is None or kind not in _BLOCKS[role]:
        yield f"{place}: a block of type {kind!r} does not belong here"
        return
    # The API allows breakpoints within a result. Here they would not be counted.
    yield from unknown_fields(place, block, _FIELDS[kind] - ({"cache_control"} if role == "result" else set()))
    match kind:
        case "text":
            if not (word(block, "text") or "").strip():
                yield f"{place}: the text is empty or nothing but whitespace"
        case "image":
            yield from _image(place, block.get("source"))
        case "thinking":
            yield from _thinking(place, block)
        case "redacted_thinking":
            if not _is_sealed(word(block, "data") or ""):
                yield f"{place}: these sealed thoughts were never issued"
        case "tool_use":
            yield from _tool_use(place, block)
        case "tool_result":
            yield from _tool_result(place, block)


def _image(place: str, source: Any) -> Iterator[str]:
    if word(source, "type") != "base64":
        yield f"{place}: the source of a picture must be of type base64"
    else:
        yield from image(place, word(source, "media_type"), word(source, "data"))


def _thinking(place: str, block: Mapping[str, Any]) -> Iterator[str]:
    thinking, signed = word(block, "thinking"), word(block, "signature")
    if thinking is None or signed is None:
        yield f"{place}: thinking needs a text and a signature"
    elif signed != signature(thinking) and not signed.startswith("sig"):
        yield f"{place}: the signature was never issued for these thoughts"


def _is_sealed(data: str) -> bool:
    return is_sealed(data) or data.startswith("sig")


def _tool_use(place: str, block: Mapping[str, Any]) -> Iterator[str]:
    if not is_name(block.get("id"), _ID):
        yield f"{place}: the id {block.get('id')!r} does not match {_ID.pattern}"
    if not is_name(block.get("name"), _NAME):
        yield f"{place}: the name {block.get('name')!r} does not match {_NAME.pattern}"
    if not isinstance(block.get("input"), dict):
        yield f"{place}: the input must be an object"


def _tool_result(place: str, block: Mapping[str, Any]) -> Iterator[str]:
    content = block.get("content", "")
    if not is_name(block.get("tool_use_id"), _ID):
        yield f"{place}: the tool_use_id {block.get('tool_use_id')!r} does not match {_ID.pattern}"
    if not isinstance(block.get("is_error", False), bool):
        yield f"{place}: is_error must be true or false"
    if block.get("is_error") and not content:
        yield f"{place}: a result that is an error must say something"
    if isinstance(content, list):
        for index, part in enumerate(content):
            yield from _block(f"{place}.content.{index}", part, "result")
    elif not isinstance(content, str):
        yield f"{place}: the content must be a text or a list of blocks"


# -- order and pairs ------------------------------------------------------------------------------


def _order(place: str, kinds: list[str | None], role: str) -> Iterator[str]:
    first = _THOUGHTS if role == "assistant" else {"tool_result"}
    words = "thinking" if role == "assistant" else "results"
    ranks = [kind not in first for kind in kinds]
    if ranks != sorted(ranks):
        yield f"{place}: {words} must come before all other blocks"
    if role == "assistant" and kinds and kinds[-1] in _THOUGHTS:
        yield f"{place}: the last block must not be thinking"


def _pairs(messages: list[Any]) -> Iterator[str]:
    """Yield calls without their one result in the next message, results without a call, and ids used twice."""
    used: set[str] = set()
    open_: list[str] = []
    for index, message in enumerate([*messages, {}]):
        answers = _ids(message, "tool_result", "tool_use_id")
        if open_ or answers:
            yield from _answers(index, open_, answers)
        open_ = _ids(message, "tool_use", "id")
        yield from (f"messages.{index}: the id '{id_}' is taken by an earlier call" for id_ in open_ if id_ in used)
        yield from (f"messages.{index}: the id '{id_}' is that of two calls" for id_ in repeated(open_))
        used.update(open_)


def _answers(index: int, calls: list[str], answers: list[str]) -> Iterator[str]:
    called, answered = set(calls), set(answers)
    before, place = f"messages.{index - 1}", f"messages.{index}"
    yield from (f"{before}: '{id_}' has no result in the next message" for id_ in calls if id_ not in answered)
    yield from (f"{place}: '{id_}' is not a call of the previous message" for id_ in answers if id_ not in called)
    yield from (f"{place}: '{id_}' has more than one result" for id_ in repeated(answers))


def _ids(message: Any, kind: str, field: str) -> list[str]:
    return [id_ for block in _blocks(message) if block.get("type") == kind and (id_ := word(block, field)) is not None]


def _last(messages: list[Any]) -> Iterator[str]:
    message = messages[-1]
    if word(message, "role") != "assistant":
        return
    text = word(message, "content") or next((word(block, "text") for block in _blocks(message)[-1:]), None) or ""
    if text != text.rstrip():
        yield f"messages.{len(messages) - 1}: the last text of the assistant must not end with whitespace"


def _breakpoints(body: Mapping[str, Any]) -> Iterator[str]:
    holders = [body, *objects(body.get("tools")), *objects(body.get("system"))]
    holders += [block for message in body["messages"] for block in _blocks(message)]
    marks = [mark for holder in holders if (mark := holder.get("cache_control")) is not None]
    if len(marks) > _MAX_BREAKPOINTS:
        yield f"cache_control: {len(marks)} breakpoints, at most {_MAX_BREAKPOINTS} are allowed"
    if any(word(mark, "type") != "ephemeral" for mark in marks):
        yield "cache_control: must be of type ephemeral"


def _blocks(message: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message that are objects, even if the message has other flaws."""
    return objects(message.get("content")) if isinstance(message, dict) else []
