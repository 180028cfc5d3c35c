"""What it requires of a conversation.

`conversations` has checked that there are messages. `format_shapes` has what both formats require.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

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

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_ID = 40
_DATA = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)

_REQUEST = """
frequency_penalty logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities model n
parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention
reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature
tool_choice tools top_logprobs top_p user verbosity
"""
_FIELDS: Mapping[str | None, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "refusal", "tool_calls"}),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}


def flaws(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that is wrong with a request."""
    yield from unknown_fields("body", body, _REQUEST.split())
    if not word(body, "model"):
        yield "model: must be a name"
    for field in ("max_tokens", "max_completion_tokens"):
        if field in body and not is_count(body[field]):
            yield f"{field}: must be a whole number above 0"
    if body.get("stream_options") is not None and not body.get("stream"):
        yield "stream_options: only for a request that is streamed"
    yield from _tools(body.get("tools", []))
    for index, message in enumerate(body["messages"]):
        yield from _message(f"messages.{index}", message)
    yield from _pairs(body["messages"])


def _tools(tools: Any) -> Iterator[str]:
    functions = [tool["function"] for tool in objects(tools) if _is_function(tool)]
    if not isinstance(tools, list) or len(functions) != len(tools):
        yield "tools: must be a list of objects of type function, each with a function"
    found = [(f"tools.{index}", each.get("name"), each.get("parameters")) for index, each in enumerate(functions)]
    yield from tool_names(found, _NAME)


def _is_function(value: Any) -> bool:
    return word(value, "type") == "function" and isinstance(value.get("function"), dict)


def _message(place: str, message: Any) -> Iterator[str]:
    role = word(message, "role")
    if role not in _FIELDS:
        yield f"{place}: must have one of the roles {', '.join(map(str, _FIELDS))}"
        return
    yield from unknown_fields(place, message, _FIELDS[role])
    content = message.get("content")
    match role:
        case "assistant":
            yield from _assistant(place, message)
        case "tool":
            if not isinstance(content, str) or content:
                yield from _content(place, content, ("text",))
        case "user":
            yield from _content(place, content, ("text", "image_url"))
        case _:
            yield from _content(place, content, ("text",))


def _assistant(place: str, message: Mapping[str, Any]) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    if not content and not calls and not message.get("refusal"):
        yield f"{place}: an assistant must have content or tool_calls"
    if content:
        yield from _content(place, content, ("text",))
    if calls is None:
        return
    if not isinstance(calls, list) or not calls:
        yield f"{place}: tool_calls must be a list of at least one call"
        return
    for index, call in enumerate(calls):
        yield from _call(f"{place}.tool_calls.{index}", call)


def _call(place: str, call: Any) -> Iterator[str]:
    if not _is_function(call):
        yield f"{place}: must be of type function, with a function"
        return
    function = call["function"]
    if not 0 < len(word(call, "id") or "") <= _MAX_ID:
        yield f"{place}: the id {call.get('id')!r} must be a text of 1 to {_MAX_ID} characters"
    if not is_name(function.get("name"), _NAME):
        yield f"{place}: the name {function.get('name')!r} does not match {_NAME.pattern}"
    if not isinstance(function.get("arguments"), str):
        yield f"{place}: the arguments must be a text"


def _content(place: str, content: Any, kinds: tuple[str, ...]) -> Iterator[str]:
    if isinstance(content, str) and content:
        return
    if not isinstance(content, list) or not content:
        yield f"{place}: the content must be a text that is not empty or a list of at least one part"
        return
    for index, part in enumerate(content):
        yield from _part(f"{place}.content.{index}", part, kinds)


def _part(place: str, part: Any, kinds: tuple[str, ...]) -> Iterator[str]:
    kind = word(part, "type")
    if kind not in kinds:
        yield f"{place}: a part of type {kind!r} does not belong here"
    elif kind == "text":
        if not word(part, "text"):
            yield f"{place}: the text is empty"
    else:
        yield from _picture(place, part.get("image_url"))


def _picture(place: str, picture: Any) -> Iterator[str]:
    found = _DATA.fullmatch(word(picture, "url") or "")
    if not found:
        yield f"{place}: image_url needs a data URL in base64"
    else:
        yield from image(place, *found.groups())


# -- order and pairs ------------------------------------------------------------------------------


def _pairs(messages: list[Any]) -> Iterator[str]:
    """Yield calls that are not directly followed by one result, results without a call, and ids used twice."""
    used: set[str] = set()
    open_: dict[str, None] = {}
    for index, message in enumerate([*messages, {}]):
        place = f"messages.{index}"
        if word(message, "role") == "tool":
            id_ = word(message, "tool_call_id") or ""
            if id_ not in open_:
                yield f"{place}: '{id_}' is no open call of the messages before"
            open_.pop(id_, None)
            continue
        yield from (f"{place}: before this, '{id_}' needed its result" for id_ in open_)
        ids = _call_ids(message)
        yield from (f"{place}: the id '{id_}' is taken by an earlier call" for id_ in ids if id_ in used)
        yield from (f"{place}: the id '{id_}' is that of two calls" for id_ in repeated(ids))
        open_ = dict.fromkeys(ids)
        used.update(ids)


def _call_ids(message: Any) -> list[str]:
    calls = objects(message.get("tool_calls")) if isinstance(message, dict) else []
    return [id_ for call in calls if (id_ := word(call, "id")) is not None]
