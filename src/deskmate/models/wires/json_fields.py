"""Reading JSON that a provider sent."""

import json
from collections.abc import Mapping
from typing import Any

_DIGITS = 4300


def _whole(text: str) -> int | float:
    # Python refuses longer integers. As a float it is infinite, so only this value is odd and not the whole object.
    return int(text) if len(text) <= _DIGITS else float(text)


# Made once: `json.loads` makes a new one for each call with other than default options.
_READ, _READ_LONG = json.JSONDecoder(), json.JSONDecoder(parse_int=_whole)


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None if the text is anything else."""
    try:
        found = _READ.decode(text)
    except (ValueError, RecursionError):
        try:
            found = _READ_LONG.decode(text)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def words(found: Mapping[str, Any], key: str) -> str:
    """Return the string under a key, or an empty one."""
    value = found.get(key)
    return value if isinstance(value, str) else ""


def inner(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def objects(found: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in the list under a key. Other items are skipped."""
    value = found.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(found: Mapping[str, Any], key: str) -> int | None:
    """Return the non-negative integer under a key, or None."""
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
