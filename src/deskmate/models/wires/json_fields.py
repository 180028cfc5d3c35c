"""Reading JSON that a provider sent."""

import json
from collections.abc import Mapping
from typing import Any

_DIGITS = 4300


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object a text holds; None if it holds anything else."""
    try:
        found = json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(text: str) -> int | float:
    # Python reads no longer ones: as a fraction it is infinite, and only what it counts is odd, not all around it.
    return int(text) if len(text) <= _DIGITS else float(text)


def words(found: Mapping[str, Any], key: str) -> str:
    """Return the string under a key, or an empty one."""
    value = found.get(key)
    return value if isinstance(value, str) else ""


def inner(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def objects(found: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in the list under a key."""
    value = found.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(found: Mapping[str, Any], key: str) -> int | None:
    """Return the whole number, not negative, under a key."""
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
