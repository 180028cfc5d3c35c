"""What is wrong with a conversation.

`fake_provider` refuses every request that has a flaw. The modules that end with `_rules` know the formats.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deskmate.testing.formats import anthropic_rules, gemini_rules, openai_rules, responses_rules
from deskmate.testing.formats.format_shapes import CONVERSATIONS
from deskmate.testing.scripts import Format

_RULES: Mapping[Format, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "anthropic": anthropic_rules.flaws,
    "openai": openai_rules.flaws,
    "responses": responses_rules.flaws,
    "gemini": gemini_rules.flaws,
}
_encode = json.JSONEncoder(ensure_ascii=False).encode


def flaws(format: Format, body: Any) -> list[str]:
    """Return everything that is wrong with a request body, each with its place. Empty if it can be answered."""
    if not isinstance(body, dict):
        return ["the body is no object"]
    field, part = CONVERSATIONS[format]
    said = body.get(field)
    is_text = format == "responses" and isinstance(said, str)
    if not said or not (isinstance(said, list) or is_text):
        return [f"{field}: must be a list of at least one {part}"]
    if unreadable := _lone_surrogates(body, field):
        return unreadable
    return list(_RULES[format](body))


def unwelcome(format: Format, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the status and the reason why headers are refused, or None if they are right.

    A key is sent as `x-api-key` or, as the vendor's own client does, as a bearer token. Open servers with OpenAI's
    formats need no key.
    """
    if format == "gemini":
        return None if headers.get("x-goog-api-key") else (403, "headers: x-goog-api-key is missing")
    if format != "anthropic":
        return None
    if not headers.get("x-api-key") and not headers.get("authorization", "").removeprefix("Bearer "):
        return 401, "headers: x-api-key is missing"
    if not headers.get("anthropic-version"):
        return 400, "headers: anthropic-version is missing"
    return None


def _lone_surrogates(body: Mapping[str, Any], field: str) -> list[str]:
    """Return the places that contain half a surrogate pair, which no provider accepts."""
    if _is_text(body):
        return []
    places = {f"{field}.{index}": message for index, message in enumerate(body[field])}
    places |= {key: value for key, value in body.items() if key != field}
    return [f"{place}: holds half a surrogate pair" for place, value in places.items() if not _is_text(value)]


def _is_text(value: Any) -> bool:
    try:
        _encode(value).encode()
    except UnicodeEncodeError:
        return False
    return True
