"""What is wrong with a conversation.

`fake_provider` refuses every request that has a flaw. `anthropic_rules` and `openai_rules` know the two formats.
"""

import json
from collections.abc import Mapping
from typing import Any

from deskmate.testing.formats import anthropic_rules, openai_rules
from deskmate.testing.scripts import Format

_encode = json.JSONEncoder(ensure_ascii=False).encode


def flaws(format: Format, body: Any) -> list[str]:
    """Return everything that is wrong with a request body, each with its place. Empty if it can be answered."""
    if not isinstance(body, dict):
        return ["the body is no object"]
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return ["messages: must be a list of at least one message"]
    if unreadable := _lone_surrogates(body):
        return unreadable
    rules = anthropic_rules if format == "anthropic" else openai_rules
    return list(rules.flaws(body))


def unwelcome(format: Format, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the status and the reason why headers are refused, or None if they are right.

    A key is sent as `x-api-key` or, as the vendor's own client does, as a bearer token. Open servers with the other
    format need no key.
    """
    if format == "openai":
        return None
    if not headers.get("x-api-key") and not headers.get("authorization", "").removeprefix("Bearer "):
        return 401, "headers: x-api-key is missing"
    if not headers.get("anthropic-version"):
        return 400, "headers: anthropic-version is missing"
    return None


def _lone_surrogates(body: Mapping[str, Any]) -> list[str]:
    """Return the places that contain half a surrogate pair, which no provider accepts."""
    if _is_text(body):
        return []
    places = {f"messages.{index}": message for index, message in enumerate(body["messages"])}
    places |= {key: value for key, value in body.items() if key != "messages"}
    return [f"{place}: holds half a surrogate pair" for place, value in places.items() if not _is_text(value)]


def _is_text(value: Any) -> bool:
    try:
        _encode(value).encode()
    except UnicodeEncodeError:
        return False
    return True
