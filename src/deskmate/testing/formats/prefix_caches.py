"""What a provider's cache would have read.

A token is always four bytes of canonical JSON. `fake_provider` puts the counts into its answers. Entries never expire
and may be of any size, so a test sees what a client does, not the effect of a provider's thresholds.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from deskmate.testing.formats.format_shapes import CONVERSATIONS

# How many blocks a provider looks back from a breakpoint, including the breakpoint.
LOOK_BACK = 20
# A cache without breakpoints reads prefixes of at least this many tokens, in units of this many.
LEAST = 1024
UNIT = 128
_BYTES = 4

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of a prompt: all, those read from the cache, those written to it. `digest` names the prompt."""

    tokens: int
    read: int
    written: int
    digest: str


def tokens(text: str) -> int:
    """Return how many tokens a text has."""
    return _tokens(len(text.encode()))


def _tokens(size: int) -> int:
    return -(-size // _BYTES)


def _chained(digest: bytes, data: bytes) -> bytes:
    return blake2b(digest + data, digest_size=16).digest()


class ExplicitCache:
    """Anthropic's cache: prefixes are written at the breakpoints of a request and found from those of a later one."""

    def __init__(self) -> None:
        self._written: set[bytes] = set()

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Count a prompt and remember its breakpoints."""
        digest, size = str(body["model"]).encode(), 0
        prefixes, breakpoints = [(digest, size)], []
        for block, is_breakpoint in _blocks(body):
            data = _encode(block).encode()
            digest, size = _chained(digest, data), size + _tokens(len(data))
            prefixes.append((digest, size))
            if is_breakpoint:
                breakpoints.append(len(prefixes) - 1)
        if body.get("cache_control"):
            breakpoints.append(len(prefixes) - 1)
        found = [prefixes[near] for point in breakpoints for near in range(max(1, point - LOOK_BACK + 1), point + 1)]
        read = max((upto for prefix, upto in found if prefix in self._written), default=0)
        covered = prefixes[breakpoints[-1]][1] if breakpoints else 0
        self._written.update(prefixes[point][0] for point in breakpoints)
        return Counted(size, read, covered - read, digest.hex())


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[Any, bool]]:
    """Yield the blocks of a prompt in cache order, each with whether it is a breakpoint."""
    for tool in body.get("tools", ()):
        yield _bare("tool", tool)
    for block in _listed(body.get("system", ())):
        yield _bare("system", block)
    for message in body["messages"]:
        for block in _listed(message["content"]):
            yield _bare(message["role"], block)


def _bare(place: str, block: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return a block without its breakpoint, which may move without changing the prompt."""
    if "cache_control" not in block:
        return (place, block), False
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return (place, bare), block["cache_control"] is not None


def _listed(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class ImplicitCache:
    """The cache of OpenAI and Gemini: the longest prefix that a request shares with an earlier one, in units."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Count a prompt and remember all of it."""
        system = [body[field] for field in ("instructions", "systemInstruction") if field in body]
        said = next(body[field] for field, _ in CONVERSATIONS.values() if field in body)
        parts = [str(body["model"]), *map(_encode, [*body.get("tools", ()), *system, *said])]
        data = "\n".join(parts).encode()
        digest, units, read = b"", UNIT * _BYTES, 0
        for start in range(0, len(data), units):
            digest = _chained(digest, data[start : start + units])
            if digest in self._seen and start + units <= len(data):
                read = (start + units) // _BYTES
            self._seen.add(digest)
        return Counted(_tokens(len(data)), read if read >= LEAST else 0, 0, digest.hex())
