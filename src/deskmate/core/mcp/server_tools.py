"""The tools that a server lists, as far as they can be offered.

A listing is hostile until it was read here: names may collide or imitate others, descriptions may contain tags and
escape sequences, and schemas may have any size. What is left out is said in words.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from deskmate.core.policy.tool_table import MCP_PREFIX
from deskmate.core.prompt.frames import unframed
from deskmate.core.values import frozen

MOST_TOOLS = 200
# Providers take no longer names.
_NAME_CHARS = 64
_TEXT_CHARS = 2_000
_SCHEMA_CHARS, _SCHEMA_DEPTH = 16_000, 24
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
# They take room in every request and say nothing to a model.
_NOISE = frozenset({"$schema", "$id", "title"})


@frozen
class ServerTool:
    """One tool of a server. `name`: as the server calls it. `text`: its description, harmless and bounded.

    `digest`: the SHA-256 of its name, description and schema as the server sent them.
    """

    server: str
    name: str
    text: str
    schema: Mapping[str, Any]
    digest: str

    @property
    def full_name(self) -> str:
        """The name by which models call it."""
        return f"{MCP_PREFIX}{self.server}__{_ODD.sub('_', self.name)}"

    @property
    def shown(self) -> str:
        """Its description as a model reads it, which says whose words these are."""
        return f"[MCP server {self.server}] {self.text or self.name}"

    @property
    def chars(self) -> int:
        """About how many characters it takes in a request."""
        return len(self.full_name) + len(self.shown) + len(json.dumps(self.schema))


@frozen
class ReadTools:
    """The tools that can be offered, in the order of the server, and why others cannot."""

    tools: tuple[ServerTool, ...]
    problems: tuple[str, ...] = ()


def read_tools(server: str, listed: Iterable[Mapping[str, Any]]) -> ReadTools:
    """Return what can be offered of a listing. `listed`: tools with `name`, `description` and `inputSchema`."""
    listed = list(listed)
    problems = []
    if len(listed) > MOST_TOOLS:
        problems.append(f"{server} lists {len(listed)} tools. Only the first {MOST_TOOLS} are used.")
    tools = []
    for one in listed[:MOST_TOOLS]:
        if flaw := _flaw(server, one):
            problems.append(f"{server}: the tool {shown_name(one.get('name'))} is left out: {flaw}.")
        else:
            tools.append(_tool(server, one))
    counts = Counter(tool.full_name for tool in tools)
    problems += (
        f"{server}: {count} tools would have the name {name}, so all of them are left out."
        for name, count in counts.items()
        if count > 1
    )
    return ReadTools(tuple(tool for tool in tools if counts[tool.full_name] == 1), tuple(problems))


def shown_name(name: object) -> str:
    """Return the name of a tool for people, whatever a server put there."""
    return ascii(name)[:80]


def _flaw(server: str, one: Mapping[str, Any]) -> str:
    name, schema = one.get("name"), one.get("inputSchema")
    if not isinstance(name, str) or not name:
        return "it has no name"
    if len(f"{MCP_PREFIX}{server}__{name}") > _NAME_CHARS:
        return f"its name is too long, with the server's more than {_NAME_CHARS} characters"
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return "its arguments are not described as an object"
    if _depth(schema) > _SCHEMA_DEPTH:
        return f"its schema is nested more than {_SCHEMA_DEPTH} levels deep"
    if (chars := len(json.dumps(schema))) > _SCHEMA_CHARS:
        return f"its schema has {chars:,} characters, more than {_SCHEMA_CHARS:,}"
    return ""


def _depth(node: object) -> int:
    """Return how deep a value is nested, but no more than one level beyond the limit. Needs no recursion."""
    level, depth = [node], 0
    while level and depth <= _SCHEMA_DEPTH:
        depth += 1
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(inner, dict | list)
        ]
    return depth


def _tool(server: str, one: Mapping[str, Any]) -> ServerTool:
    from hashlib import sha256

    description = one.get("description")
    told = [one["name"], description, one["inputSchema"]]
    digest = sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    text = harmless_text(description if isinstance(description, str) else "")
    left_out = f" … ({len(text) - _TEXT_CHARS:,} more characters)" if len(text) > _TEXT_CHARS else ""
    schema = {key: _plain(value) for key, value in one["inputSchema"].items() if key not in _NOISE}
    return ServerTool(
        server, one["name"], f"{text[:_TEXT_CHARS]}{left_out}", {"type": "object", "properties": {}, **schema}, digest
    )


def _plain(node: Any) -> Any:
    """Return a part of a schema without control characters and tags that imitate ours."""
    match node:
        case dict():
            return {harmless_text(str(key)): _plain(value) for key, value in node.items()}
        case list():
            return [_plain(value) for value in node]
        case str():
            return harmless_text(node)
        case _:
            return node


def harmless_text(text: str) -> str:
    """Return a text of a server without escape sequences, control characters and tags that imitate ours."""
    return unframed(_ESCAPES.sub("", text)).strip()
