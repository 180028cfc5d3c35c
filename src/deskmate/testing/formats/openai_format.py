"""Chat completions: requests read, answers written.

`openai_rules` has checked a request before it is read here. Thinking is sent as `reasoning_content`, as open servers
with this format do.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
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
    Told,
    ToolSpec,
    Usage,
)
from deskmate.models.scripted import Say, Use
from deskmate.testing.scripts import Answer

PATH = "/v1/chat/completions"

_KINDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
}
_STATUSES = {"overloaded_error": 503, "rate_limit_error": 429}
_ENDS = {"length": "length", "refused": "content_filter"}
_CREATED = 1_700_000_000

# -- reading --------------------------------------------------------------------------------------


def read(body: Mapping[str, Any]) -> Prompt:
    """Return a request as a provider-neutral prompt. Results and the words after them are one passage."""
    messages = body["messages"]
    told = (message for message in messages if message["role"] not in ("system", "developer"))
    return Prompt(
        system="\n\n".join(_text(each["content"]) for each in messages if each["role"] in ("system", "developer")),
        passages=tuple(_passage(spoken, list(group)) for spoken, group in groupby(told, _is_spoken)),
        tools=tuple(_tool(tool["function"]) for tool in body.get("tools", ())),
    )


def _is_spoken(message: Mapping[str, Any]) -> bool:
    return bool(message["role"] == "assistant")


def _passage(spoken: bool, messages: list[Mapping[str, Any]]) -> Passage:
    if spoken:
        return Spoke(tuple(block for message in messages for block in _spoken(message)))
    return Told(tuple(block for message in messages for block in _given(message)))


def _spoken(message: Mapping[str, Any]) -> Iterator[Spoken]:
    if message.get("content"):
        yield TextBlock(_text(message["content"]))
    for call in message.get("tool_calls", ()):
        yield CallBlock(call["id"], call["function"]["name"], *arguments_in(call["function"]["arguments"]))


def arguments_in(raw: str) -> tuple[Mapping[str, Any], str]:
    """Return the arguments of a call that was sent back, or {} and why they cannot be read."""
    try:
        found = json.loads(raw)
    except ValueError:
        found = None
    return (found, "") if isinstance(found, dict) else ({}, "the arguments are not a JSON object")


def _given(message: Mapping[str, Any]) -> Iterator[Given]:
    if message["role"] == "tool":
        yield ResultBlock(message["tool_call_id"], _text(message["content"]))
    elif isinstance(message["content"], str):
        yield TextBlock(message["content"])
    else:
        yield from (TextBlock(part["text"]) for part in message["content"] if part["type"] == "text")


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def _tool(function: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(function["name"], function.get("description", ""), function.get("parameters", {}))


# -- answering ------------------------------------------------------------------------------------


def whole(answer: Answer) -> bytes:
    """Return an answer that is not streamed."""
    say = answer.say
    message: dict[str, Any] = {"role": "assistant", "content": _content(say), "refusal": None}
    if say.thinking and not say.sealed:
        message["reasoning_content"] = say.thinking
    if say.calls:
        message["tool_calls"] = [_call(answer, index, use) for index, use in enumerate(say.calls)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _end(say)}
    return _json(_completion(answer, "chat.completion", choices=[choice], usage=_usage(answer.usage)))


def events(answer: Answer, body: Mapping[str, Any]) -> list[bytes]:
    """Return an answer as the events of a stream, with the usage at the end if it was requested."""
    with_usage = (body.get("stream_options") or {}).get("include_usage", False)
    absent = {"usage": None} if with_usage else {}
    found = [_chunk(answer, [_choice(delta)], **absent) for delta in _deltas(answer)]
    found.append(_chunk(answer, [_choice({}, _end(answer.say))], **absent))
    if with_usage:
        found.append(_chunk(answer, [], usage=_usage(answer.usage)))
    return [*found, b"data: [DONE]\n\n"]


def _content(say: Say) -> str | None:
    return None if say.calls and not say.text else say.text


def _end(say: Say) -> str:
    return _ENDS.get(say.end) or ("tool_calls" if say.calls else "stop")


def _call(answer: Answer, index: int, use: Use) -> dict[str, Any]:
    id_ = use.id or f"call_{answer.digest[:20]}{index:02d}"
    return {"id": id_, "type": "function", "function": {"name": use.tool, "arguments": raw_arguments(use)}}


def raw_arguments(use: Use) -> str:
    """Return the arguments of a call as they are sent."""
    return json.dumps(use.arguments, ensure_ascii=False) if use.raw is None else use.raw


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    say = answer.say
    yield {"role": "assistant", "content": None if _content(say) is None else "", "refusal": None}
    for text in answer.fragments("" if say.sealed else say.thinking):
        yield {"reasoning_content": text}
    for text in answer.fragments(say.text):
        yield {"content": text}
    for index, use in enumerate(say.calls):
        call = _call(answer, index, use)
        yield {"tool_calls": [{"index": index, **call, "function": {"name": use.tool, "arguments": ""}}]}
        for text in answer.fragments(raw_arguments(use)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def _choice(delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": end}


def _chunk(answer: Answer, choices: list[dict[str, Any]], **fields: Any) -> bytes:
    return _event(_completion(answer, "chat.completion.chunk", choices=choices, **fields))


def _completion(answer: Answer, kind: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.digest}", "object": kind, "created": _CREATED, "model": answer.model, **fields}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


# -- errors ---------------------------------------------------------------------------------------


def problem(status: int, message: str, code: str | None = None) -> bytes:
    """Return the body of an error."""
    kind, usual = _KINDS.get(status, ("server_error", None))
    return _json({"error": {"message": message, "type": kind, "param": None, "code": code or usual}})


def prompt_too_long() -> bytes:
    """Return the body of the error that refuses a prompt larger than the context window."""
    words = "This model's maximum context length is 128000 tokens; the messages come to 128001"
    return problem(400, words, "context_length_exceeded")


def error_event(kind: str) -> bytes:
    """Return the event that ends a stream with an error."""
    words = f"the stream was chosen to end with {kind}"
    return _event({"error": {"message": words, "type": kind, "param": None, "code": None}})


def status_of(kind: str) -> int:
    """Return the status of an error that is not streamed."""
    return _STATUSES.get(kind, 500)


def _event(value: Any) -> bytes:
    return b"data: %b\n\n" % _json(value)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
