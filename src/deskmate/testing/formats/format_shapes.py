"""What all formats require."""

import base64
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from deskmate.core.picture_formats import picture_type

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


# The field of a request that contains the conversation, by format, and what it is a list of.
CONVERSATIONS = {
    "anthropic": ("messages", "message"),
    "openai": ("messages", "message"),
    "responses": ("input", "item"),
    "gemini": ("contents", "content"),
}


def unknown_fields(place: str, value: Mapping[str, Any], known: Collection[str]) -> Iterator[str]:
    """Yield the fields that a provider would not accept."""
    yield from (f"{place}: the field '{field}' is not known here" for field in value if field not in known)


def is_name(value: Any, pattern: re.Pattern[str]) -> bool:
    """Return whether a value is a text that matches the pattern."""
    return isinstance(value, str) and bool(pattern.fullmatch(value))


def word(value: Any, field: str) -> str | None:
    """Return the text in a field of an object, or None for anything else."""
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list. Empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def repeated(ids: list[str]) -> list[str]:
    """Return the ids that occur more than once."""
    if len(set(ids)) == len(ids):
        return []
    return [id_ for id_, count in Counter(ids).items() if count > 1]


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number above 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def tool_names(tools: list[tuple[str, Any, Any]], pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield what is wrong with tools, given as (place, name, schema)."""
    seen = set()
    for place, name, schema in tools:
        if not is_name(name, pattern):
            yield f"{place}: the name {name!r} does not match {pattern.pattern}"
        elif name in seen:
            yield f"{place}: the name '{name}' is taken by an earlier tool"
        else:
            seen.add(name)
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"{place}: the schema must be one of type object"


def image(place: str, media_type: str | None, data: str | None) -> Iterator[str]:
    """Yield what is wrong with a picture."""
    if media_type not in IMAGES:
        yield f"{place}: {media_type!r} is none of {', '.join(sorted(IMAGES))}"
    try:
        found = base64.b64decode(data or "", validate=True)
    except ValueError:
        found = b""
    if not found:
        yield f"{place}: the picture is no base64"
    elif media_type in IMAGES and picture_type(found) != media_type:
        yield f"{place}: the picture is not of type {media_type}"
