"""The Gemini API: requests read, answers written.

`gemini_rules` has checked a request before it is read here. The model and whether the answer is streamed are in the
address of a request: `fake_provider` adds both to the body.
"""

import base64
import json
from collections.abc import Iterator, Mapping
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
from deskmate.testing.formats.anthropic_format import sealed
from deskmate.testing.formats.gemini_rules import schema_of
from deskmate.testing.formats.openai_format import arguments_in, raw_arguments
from deskmate.testing.scripts import Answer

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_KINDS = {"overloaded_error": 503, "rate_limit_error": 429}
_ENDS = {"length": "MAX_TOKENS", "refused": "SAFETY"}

# -- reading --------------------------------------------------------------------------------------


def read(body: Mapping[str, Any]) -> Prompt:
    """Return a request as a provider-neutral prompt."""
    system = body.get("systemInstruction") or {"parts": []}
    declared = [each for tool in body.get("tools", ()) for each in tool["functionDeclarations"]]
    return Prompt(
        system="\n\n".join(part["text"] for part in system["parts"]),
        passages=tuple(map(_passage, body["contents"])),
        tools=tuple(ToolSpec(each["name"], each.get("description", ""), schema_of(each) or {}) for each in declared),
    )


def _passage(content: Mapping[str, Any]) -> Passage:
    if content["role"] == "model":
        return Spoke(tuple(block for part in content["parts"] for block in _spoken(part)))
    return Told(tuple(block for part in content["parts"] for block in _given(part)))


def _spoken(part: Mapping[str, Any]) -> Iterator[Spoken]:
    if signature := part.get("thoughtSignature"):
        yield ThinkingBlock("", signature, sealed=True)
    if call := part.get("functionCall"):
        yield CallBlock(call["id"], call["name"], call.get("args") or {})
    else:
        yield TextBlock(part["text"])


def _given(part: Mapping[str, Any]) -> Iterator[Given]:
    if result := part.get("functionResponse"):
        response = result["response"]
        ok = "error" not in response
        yield ResultBlock(result["id"], str(response["output" if ok else "error"]), ok)
    elif "text" in part:
        yield TextBlock(part["text"])


# -- answering ------------------------------------------------------------------------------------


def signature(thinking: str) -> str:
    """Return the signature of a call that follows a thought."""
    return base64.b64encode(sealed(thinking).encode()).decode()


def whole(answer: Answer) -> bytes:
    """Return an answer that is not streamed."""
    return _json(_chunk(answer, [part for part, _ in _parts(answer)], last=True))


def events(answer: Answer, body: Mapping[str, Any]) -> list[bytes]:
    """Return an answer as the events of a stream. Calls come whole. The last event has the usage."""
    found = []
    for part, text in _parts(answer):
        pieces = [{**part, "text": each} for each in answer.fragments(text)] or [part]
        found += [_chunk(answer, [piece]) for piece in pieces]
    return [b"data: %b\r\n\r\n" % _json(chunk) for chunk in [*found, _chunk(answer, [{"text": ""}], last=True)]]


def _chunk(answer: Answer, parts: list[dict[str, Any]], *, last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = _ENDS.get(answer.say.end, "STOP")
    return {
        "candidates": [candidate],
        "modelVersion": answer.model,
        "responseId": answer.digest[:20],
        "usageMetadata": _usage(answer.usage, answer.say) if last else {"promptTokenCount": answer.usage.prompt},
    }


def _usage(usage: Usage, say: Say) -> dict[str, int]:
    thought = min(usage.output - 1, len(say.thinking) // 4)
    return {
        "promptTokenCount": usage.prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - thought,
        "thoughtsTokenCount": thought,
        "totalTokenCount": usage.prompt + usage.output,
    }


def _parts(answer: Answer) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the parts of an answer, each with the text that is streamed in fragments."""
    say = answer.say
    if say.thinking and not say.sealed:
        yield {"text": say.thinking, "thought": True}, say.thinking
    if say.text:
        yield {"text": say.text}, say.text
    for index, use in enumerate(say.calls):
        part = {"functionCall": _call(answer, index, use)}
        # Only the first of several calls has one.
        yield ({**part, "thoughtSignature": signature(say.thinking)} if index == 0 else part), ""


def _call(answer: Answer, index: int, use: Use) -> dict[str, Any]:
    id_ = use.id or f"call_{answer.digest[:20]}{index:02d}"
    return {"id": id_, "name": use.tool, "args": arguments_in(raw_arguments(use))[0]}


# -- errors ---------------------------------------------------------------------------------------


def problem(status: int, message: str) -> bytes:
    """Return the body of an error."""
    return _json({"error": {"code": status, "message": message, "status": _STATUSES.get(status, "UNKNOWN")}})


def prompt_too_long() -> bytes:
    """Return the body of the error that refuses a prompt larger than the context window."""
    return problem(400, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).")


def error_event(kind: str) -> bytes:
    """Return the event that ends a stream with an error."""
    return b"data: %b\r\n\r\n" % problem(status_of(kind), f"the stream was chosen to end with {kind}")


def status_of(kind: str) -> int:
    """Return the status of an error that is not streamed."""
    return _KINDS.get(kind, 500)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
