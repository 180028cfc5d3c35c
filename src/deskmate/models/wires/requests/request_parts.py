"""What all need to write a request."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from deskmate.core.prompt.prompts import Image, ThinkingBlock

NOTHING = "(nothing)"
NO_OUTPUT = "(no output)"

# What all providers accept as the id and as the name of a call.
_ID = re.compile("[A-Za-z0-9_-]{1,40}")
_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
_NO_NAME = re.compile("[^A-Za-z0-9_-]")
_SURROGATE = re.compile("[\ud800-\udfff]")


# Made once: `json.dumps` makes a new one for each call with these options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(value: Any) -> bytes:
    """Return a value as JSON, always the same bytes. Lone surrogates, which UTF-8 cannot encode, become U+FFFD."""
    text = _ENCODER.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def body_of(fields: Mapping[str, Any], messages: Iterable[bytes], name: str = "messages") -> list[bytes]:
    """Return the body of a request, in parts: its fields, of which bytes are JSON already, and the messages.

    `messages`: JSON with a comma after each message. `name`: the field of the messages.
    """
    head = [
        encode(name) + b":" + (value if isinstance(value, bytes) else encode(value)) for name, value in fields.items()
    ]
    *parts, last = messages
    return [b"".join([b"{", b",".join(head), b"," + encode(name) + b":["]), *parts, last.removesuffix(b",") + b"]}"]


def wire_id(call: str) -> str:
    """Return the id of a call in a form that providers accept. Different calls keep different ids."""
    if _ID.fullmatch(call):
        return call
    # Our own ids match. Import it only for other ids.
    from hashlib import sha256

    return f"call_{sha256(call.encode(errors='replace')).hexdigest()[:32]}"


def wire_name(tool: str) -> str:
    """Return the name of a tool in a form that providers accept, even if a model made it up."""
    return tool if _NAME.fullmatch(tool) else _NO_NAME.sub("_", tool)[:64] or "unnamed"


def is_blank(text: str) -> bool:
    """Return whether a text is blank. Providers refuse blank texts."""
    return not text.strip()


def is_signed(thought: ThinkingBlock, *signers: str) -> bool:
    """Return whether one of these signed a thought. A provider refuses what others signed."""
    return bool(thought.signature) and thought.signer in signers


def base64_of(image: Image, pictures: Mapping[str, bytes]) -> str:
    """Return a picture in base64."""
    return base64.b64encode(pictures[image.blob]).decode()
