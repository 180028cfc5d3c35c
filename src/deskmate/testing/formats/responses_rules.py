"""What the Responses API requires of a conversation that it does not store.

`conversations` has checked that there are items. `format_shapes` has what all formats require.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from deskmate.testing.formats.anthropic_format import is_sealed
from deskmate.testing.formats.format_shapes import image, is_count, is_name, tool_names, unknown_fields, word

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_ID = 64
_DATA = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)

_REQUEST = """
background conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls
previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store
stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user
"""
_TOOL = frozenset({"type", "name", "description", "parameters", "strict"})
_ITEMS: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "id", "status"}),
    "function_call_output": frozenset({"type", "call_id", "output", "id", "status"}),
    "reasoning": frozenset({"type", "id", "summary", "encrypted_content", "content", "status"}),
}
_EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def flaws(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that is wrong with a request."""
    yield from unknown_fields("body", body, _REQUEST.split())
    if not word(body, "model"):
        yield "model: must be a name"
    if body.get("store") is not False:
        yield "store: this provider keeps nothing, so it must be false"
    if "max_output_tokens" in body and not is_count(body["max_output_tokens"]):
        yield "max_output_tokens: must be a whole number above 0"
    if isinstance(reasoning := body.get("reasoning"), dict) and reasoning.get("effort") not in _EFFORTS:
        yield f"reasoning.effort: must be one of {', '.join(sorted(_EFFORTS))}"
    yield from _tools(body.get("tools", []))
    if isinstance(body["input"], str):
        return
    for place, item in enumerate(body["input"]):
        yield from _item(f"input.{place}", item)
    yield from _order(body["input"])


def _tools(tools: Any) -> Iterator[str]:
    if not isinstance(tools, list) or not all(word(tool, "type") == "function" for tool in tools):
        yield "tools: must be a list of objects of type function"
        return
    for index, tool in enumerate(tools):
        yield from unknown_fields(f"tools.{index}", tool, _TOOL)
    found = [(f"tools.{index}", each.get("name"), each.get("parameters")) for index, each in enumerate(tools)]
    yield from tool_names(found, _NAME)


def _kind(item: Any) -> str:
    return word(item, "type") or ("message" if word(item, "role") else "")


def _item(place: str, item: Any) -> Iterator[str]:
    kind = _kind(item)
    if kind not in _ITEMS:
        yield f"{place}: must be of one of the types {', '.join(_ITEMS)}"
        return
    yield from unknown_fields(place, item, _ITEMS[kind])
    match kind:
        case "message" if word(item, "role") == "assistant":
            yield from _content(place, item.get("content"), ("output_text",))
        case "message":
            yield from _content(place, item.get("content"), ("input_text", "input_image"))
        case "function_call":
            yield from _call(place, item)
        case "function_call_output":
            yield from _content(place, item.get("output"), ("input_text", "input_image"))
        case "reasoning":
            yield from _reasoning(place, item)


def _call(place: str, call: Mapping[str, Any]) -> Iterator[str]:
    if not 0 < len(word(call, "call_id") or "") <= _MAX_ID:
        yield f"{place}: the call_id {call.get('call_id')!r} must be a text of 1 to {_MAX_ID} characters"
    if not is_name(call.get("name"), _NAME):
        yield f"{place}: the name {call.get('name')!r} does not match {_NAME.pattern}"
    if not isinstance(call.get("arguments"), str):
        yield f"{place}: the arguments must be a text"


def _reasoning(place: str, item: Mapping[str, Any]) -> Iterator[str]:
    if not (word(item, "id") or "").startswith("rs_"):
        yield f"{place}: the id of a reasoning item begins with rs_"
    if not is_sealed(word(item, "encrypted_content") or ""):
        yield f"{place}: the encrypted content could not be verified"
    summary = item.get("summary")
    if not isinstance(summary, list) or not all(word(part, "type") == "summary_text" for part in summary):
        yield f"{place}: the summary must be a list of parts of type summary_text"


def _content(place: str, content: Any, kinds: tuple[str, ...]) -> Iterator[str]:
    if isinstance(content, str) and content:
        return
    if not isinstance(content, list) or not content:
        yield f"{place}: the content must be a text that is not empty or a list of at least one part"
        return
    for index, part in enumerate(content):
        kind = word(part, "type")
        if kind not in kinds:
            yield f"{place}.{index}: a part of type {kind!r} does not belong here"
        elif kind == "input_image":
            found = _DATA.fullmatch(word(part, "image_url") or "")
            yield from image(f"{place}.{index}", *found.groups()) if found else [f"{place}.{index}: needs a data URL"]
        elif not word(part, "text"):
            yield f"{place}.{index}: the text is empty"


def _order(items: list[Any]) -> Iterator[str]:
    """Yield calls without a result, results without a call, and thoughts that nothing follows."""
    open_: dict[str, int] = {}
    used: set[str] = set()
    for place, item in enumerate(items):
        kind, id_ = _kind(item), word(item, "call_id") or ""
        if kind == "function_call":
            if id_ in used:
                yield f"input.{place}: the call_id '{id_}' is taken by an earlier call"
            open_[id_] = place
            used.add(id_)
        elif kind == "function_call_output" and open_.pop(id_, None) is None:
            yield f"input.{place}: no tool call found for function call output with call_id '{id_}'"
        elif kind == "reasoning" and not _follows(items, place):
            yield f"input.{place}: this reasoning item was provided without its required following item"
    yield from (f"input.{place}: no tool output found for function call '{id_}'" for id_, place in open_.items())


def _follows(items: list[Any], place: int) -> bool:
    after = next((item for item in items[place + 1 :] if _kind(item) != "reasoning"), None)
    return _kind(after) == "function_call" or (word(after, "role") == "assistant")
