"""What both need to write a request."""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from deskmate.core.prompt.prompts import Image, Prompt

NOTHING = "(nothing)"
NO_OUTPUT = "(no output)"

# What both providers take as the id and as the name of a call.
_ID = re.compile("[A-Za-z0-9_-]{1,40}")
_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
_NO_NAME = re.compile("[^A-Za-z0-9_-]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON, the same bytes for the same body; lone surrogates, which have no UTF-8, become U+FFFD."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def wire_id(call: str) -> str:
    """Return the id of a call as providers take it; calls that differ keep ids that differ."""
    if _ID.fullmatch(call):
        return call
    # Ours fit; only who hands over others pays for loading it.
    from hashlib import sha256

    return f"call_{sha256(call.encode(errors='replace')).hexdigest()[:32]}"


def wire_name(tool: str) -> str:
    """Return the name of a called tool as providers take it, also where a model made it up."""
    return tool if _NAME.fullmatch(tool) else _NO_NAME.sub("_", tool)[:64] or "unnamed"


def is_blank(text: str) -> bool:
    """Return whether a text holds nothing that providers would take: they refuse blank ones."""
    return not text.strip()


def base64_of(image: Image, prompt: Prompt) -> str:
    """Return a picture of the prompt in base64."""
    return base64.b64encode(prompt.pictures[image.blob]).decode()
