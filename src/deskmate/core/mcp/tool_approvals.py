"""Which tools of a server are approved, and what changed since.

The tools that a server lists when it is first used are approved with it. From then on exactly these descriptions and
schemas count. A tool that changes is not called, and a new one is not offered, until the user approves it again.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.values import frozen
from deskmate.errors import BadRecord

VERSION = 1


@frozen
class ToolChanges:
    """How what a server lists differs from what was approved. `changed`: as approved, and as listed now."""

    new: tuple[ServerTool, ...] = ()
    changed: tuple[tuple[ServerTool, ServerTool], ...] = ()
    gone: tuple[ServerTool, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)

    @property
    def words(self) -> str:
        """What changed, on one line."""
        parts = [
            f"{len(tools)} {what}: {', '.join(tool.name for tool in tools)}"
            for what, tools in (("new", self.new), ("changed", [now for _, now in self.changed]), ("gone", self.gone))
            if tools
        ]
        return "; ".join(parts)

    def lines(self) -> Iterator[str]:
        """Yield what changed, for a person who approves it."""
        for tool in self.new:
            yield f"new: {tool.name}"
            yield from (f"  + {line}" for line in _described(tool))
        for before, now in self.changed:
            yield f"changed: {now.name}"
            compared = list(difflib.ndiff(_described(before), _described(now)))
            yield from (f"  {line}" for line in compared if not line.startswith("? "))
        yield from (f"gone: {tool.name}" for tool in self.gone)


def _described(tool: ServerTool) -> list[str]:
    return [*tool.text.splitlines(), *json.dumps(tool.schema, indent=1).splitlines()]


def changes_of(approved: Iterable[ServerTool], listed: Iterable[ServerTool]) -> ToolChanges:
    """Return how a listing differs from what was approved."""
    before, now = {tool.name: tool for tool in approved}, {tool.name: tool for tool in listed}
    return ToolChanges(
        new=tuple(tool for name, tool in now.items() if name not in before),
        changed=tuple((before[name], tool) for name, tool in now.items() if _differs(before.get(name), tool)),
        gone=tuple(tool for name, tool in before.items() if name not in now),
    )


def _differs(before: ServerTool | None, now: ServerTool) -> bool:
    return before is not None and before.digest != now.digest


def approval_key(entry: ServerEntry, workspace: str) -> str:
    """Return what the approvals of a server are kept under. It changes with its command or URL."""
    from hashlib import sha256

    told = [entry.name, list(entry.command), entry.url, sorted(entry.env), workspace if entry.of_project else ""]
    return sha256(json.dumps(told).encode()).hexdigest()[:32]


def write_approvals(tools: Iterable[ServerTool]) -> bytes:
    """Return approved tools in the form in which they are stored."""
    kept = [
        {"server": one.server, "name": one.name, "text": one.text, "schema": one.schema, "digest": one.digest}
        for one in tools
    ]
    return json.dumps({"version": VERSION, "tools": kept}, indent=1).encode() + b"\n"


def read_approvals(data: bytes) -> tuple[ServerTool, ...]:
    """Return approved tools. Raises BadRecord for anything but what `write_approvals` writes."""
    try:
        found = json.loads(data)
        if found["version"] != VERSION:
            raise BadRecord(f"its version is not {VERSION}")
        return tuple(map(_read, found["tools"]))
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise BadRecord("it does not list approved tools") from error


def _read(one: Mapping[str, Any]) -> ServerTool:
    return ServerTool(str(one["server"]), str(one["name"]), str(one["text"]), dict(one["schema"]), str(one["digest"]))
