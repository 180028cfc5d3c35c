"""OpenAI's Responses API: requests read, answers written.

`responses_rules` has checked a request before it is read here. Thinking is sent as a summary, and encrypted.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import count, groupby
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
from deskmate.testing.formats.anthropic_format import is_sealed, sealed
from deskmate.testing.formats.openai_format import arguments_in, problem, prompt_too_long, raw_arguments, status_of
from deskmate.testing.scripts import Answer

PATH = "/v1/responses"
__all__ = ["PATH", "error_event", "events", "is_sealed", "problem", "prompt_too_long", "read", "status_of", "whole"]

_REASONS = {"length": "max_output_tokens", "refused": "content_filter"}
_CREATED = 1_700_000_000

# -- reading --------------------------------------------------------------------------------------


def read(body: Mapping[str, Any]) -> Prompt:
    """Return a request as a provider-neutral prompt. Results and the words after them are one passage."""
    items = _listed(body["input"])
    told = [item for item in items if item.get("role") not in ("system", "developer")]
    more = [_text(item["content"]) for item in items if item.get("role") in ("system", "developer")]
    return Prompt(
        system="\n\n".join(filter(None, [body.get("instructions") or "", *more])),
        passages=tuple(_passage(spoken, list(group)) for spoken, group in groupby(told, _is_spoken)),
        tools=tuple(
            ToolSpec(tool["name"], tool.get("description") or "", tool.get("parameters") or {})
            for tool in body.get("tools", ())
        ),
    )


def _is_spoken(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in ("reasoning", "function_call")


def _passage(spoken: bool, items: list[Mapping[str, Any]]) -> Passage:
    if spoken:
        return Spoke(tuple(_spoken(item) for item in items))
    return Told(tuple(block for item in items for block in _given(item)))


def _spoken(item: Mapping[str, Any]) -> Spoken:
    match item.get("type"):
        case "function_call":
            return CallBlock(item["call_id"], item["name"], *arguments_in(item["arguments"]))
        case "reasoning":
            text = "\n\n".join(part["text"] for part in item["summary"])
            return ThinkingBlock(text, item.get("encrypted_content") or "")
    return TextBlock(_text(item["content"]))


def _given(item: Mapping[str, Any]) -> Iterator[Given]:
    if item.get("type") == "function_call_output":
        yield ResultBlock(item["call_id"], _text(item["output"]))
    else:
        yield from (TextBlock(part["text"]) for part in _parts(item["content"]) if part["type"] == "input_text")


def _parts(content: Any) -> Any:
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    return "\n\n".join(part["text"] for part in _parts(content) if "text" in part)


def _listed(given: Any) -> Any:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


# -- answering ------------------------------------------------------------------------------------


def whole(answer: Answer) -> bytes:
    """Return an answer that is not streamed."""
    return _json(_response(answer, [item for item, _ in _items(answer)], answer.usage))


def events(answer: Answer, body: Mapping[str, Any]) -> list[bytes]:
    """Return an answer as the events of a stream."""
    numbers, found, items = count(), list[bytes](), list[dict[str, Any]]()

    def say(type_: str, **fields: Any) -> None:
        event = {"type": type_, "sequence_number": next(numbers), **fields}
        found.append(b"event: %b\ndata: %b\n\n" % (type_.encode(), _json(event)))

    begun = {**_response(answer, [], None), "status": "in_progress", "incomplete_details": None}
    say("response.created", response=begun)
    say("response.in_progress", response=begun)
    for place, (item, text) in enumerate(_items(answer)):
        say("response.output_item.added", output_index=place, item=_opened(item))
        for type_, fields in _deltas(item, answer.fragments(text)):
            say(type_, item_id=item["id"], output_index=place, **fields)
        say("response.output_item.done", output_index=place, item=item)
        items.append(item)
    end = _response(answer, items, answer.usage)
    say(f"response.{end['status']}", response=end)
    return found


def _response(answer: Answer, items: list[dict[str, Any]], usage: Usage | None) -> dict[str, Any]:
    reason = _REASONS.get(answer.say.end)
    return {
        "id": f"resp_{answer.digest}",
        "object": "response",
        "created_at": _CREATED,
        "model": answer.model,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage(usage) if usage else None,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.output,
    }


def _items(answer: Answer) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the items of an answer, each with the text that is streamed in fragments."""
    say, digest = answer.say, answer.digest[:20]
    if say.thinking:
        shown = "" if say.sealed else say.thinking
        summary = [{"type": "summary_text", "text": shown}] if shown else []
        item = {"id": f"rs_{digest}", "type": "reasoning", "summary": summary}
        yield {**item, "encrypted_content": sealed(say.thinking)}, shown
    if say.text or not say.calls:
        part = {"type": "output_text", "text": say.text, "annotations": [], "logprobs": []}
        item = {"id": f"msg_{digest}", "type": "message", "role": "assistant", "status": _status(say)}
        yield {**item, "content": [part] if say.text else []}, say.text
    for index, use in enumerate(say.calls):
        yield _call(answer, index, use), raw_arguments(use)


def _call(answer: Answer, index: int, use: Use) -> dict[str, Any]:
    id_ = f"{answer.digest[:20]}{index:02d}"
    head = {"id": f"fc_{id_}", "type": "function_call", "status": _status(answer.say)}
    return {**head, "call_id": use.id or f"call_{id_}", "name": use.tool, "arguments": raw_arguments(use)}


def _status(say: Say) -> str:
    return "completed" if say.end == "done" else "incomplete"


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as its first event shows it: empty."""
    match item["type"]:
        case "reasoning":
            return {**item, "summary": [], "encrypted_content": ""}
        case "message":
            return {**item, "content": [], "status": "in_progress"}
    return {**item, "arguments": "", "status": "in_progress"}


def _deltas(item: dict[str, Any], fragments: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    text = "".join(fragments)
    match item["type"]:
        case "reasoning" if text:
            part = {"type": "summary_text", "text": ""}
            yield "response.reasoning_summary_part.added", {"summary_index": 0, "part": part}
            for each in fragments:
                yield "response.reasoning_summary_text.delta", {"summary_index": 0, "delta": each}
            yield "response.reasoning_summary_text.done", {"summary_index": 0, "text": text}
            yield "response.reasoning_summary_part.done", {"summary_index": 0, "part": {**part, "text": text}}
        case "message" if text:
            part = {**item["content"][0], "text": ""}
            yield "response.content_part.added", {"content_index": 0, "part": part}
            for each in fragments:
                yield "response.output_text.delta", {"content_index": 0, "delta": each, "logprobs": []}
            yield "response.output_text.done", {"content_index": 0, "text": text, "logprobs": []}
            yield "response.content_part.done", {"content_index": 0, "part": item["content"][0]}
        case "function_call":
            for each in fragments:
                yield "response.function_call_arguments.delta", {"delta": each}
            yield "response.function_call_arguments.done", {"arguments": text, "name": item["name"]}


# -- errors ---------------------------------------------------------------------------------------


def error_event(kind: str) -> bytes:
    """Return the event that ends a stream with an error."""
    words = f"the stream was chosen to end with {kind}"
    event = {"type": "error", "sequence_number": 0, "code": kind, "message": words, "param": None}
    return b"event: error\ndata: %b\n\n" % _json(event)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
