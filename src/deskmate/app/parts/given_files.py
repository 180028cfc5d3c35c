"""What a user gives for one run: a schema of the result, agent types and MCP servers as JSON or in a file, and hosts.

This is imported only if one of these options is used.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskmate.config import Settings, overridden
from deskmate.core.mcp.server_entries import read_servers
from deskmate.core.profiles.agent_files import read_agents
from deskmate.errors import BadInput, BadSettings
from deskmate.workspace.sandbox.network.allowed_hosts import allowed

if TYPE_CHECKING:
    from deskmate.core.profiles.agent_profiles import AgentProfile
    from deskmate.tools.result_tool import ResultTool

_MOST_BYTES = 1_000_000


def result_of(file: str) -> "ResultTool":
    """Return the tool for a result that fits the JSON schema in a file. Raises BadInput."""
    from deskmate.tools.json_result import json_result_tool

    return json_result_tool(_json(*_read("--json-schema", file)), file)


def agents_of(given: str) -> "dict[str, AgentProfile]":
    """Return agent types by name, from JSON or a file. Raises BadInput."""
    text, place = _text("--agents", given)
    return read_agents(_object(text, place, '{"reviewer": {"description": "…", "prompt": "…"}}'), place)


def with_servers(settings: Settings, given: str) -> Settings:
    """Return settings with these MCP servers, from JSON or a file. They replace others of their names.

    Raises BadInput, or BadSettings for a field that a server of the user cannot have.
    """
    text, place = _text("--mcp-config", given)
    found = read_servers(text.encode(), place, of_project=False)
    if found.problems:
        raise BadInput(found.problems[0], "See: deskmate mcp add --help")
    tables = {name: _table(entry.written) for name, entry in found.entries.items()}
    return overridden(settings, {"mcp": {**{name: one.model_dump() for name, one in settings.mcp.items()}, **tables}})


def check_hosts(hosts: Iterable[str]) -> None:
    """Raise BadSettings for one that is not a host, also if this run has no sandbox that would use it."""
    try:
        allowed(hosts)
    except BadSettings as error:
        raise BadSettings(f"The option --network: {error.message}", error.hint) from error


def _table(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a server as settings have them, with its time limit in seconds."""
    fields = {key: value for key, value in written.items() if key != "type"}
    return {**fields, "timeout": fields["timeout"] / 1000} if "timeout" in fields else fields


def _text(option: str, given: str) -> tuple[str, str]:
    """Return JSON that was given itself or in a file, and where it is."""
    return (given, option) if given.lstrip().startswith("{") else _read(option, given)


def _read(option: str, file: str) -> tuple[str, str]:
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise BadInput(f"{file} has more than {_MOST_BYTES:,} bytes", f"Give {option} a smaller file.")
        return data.decode(), file
    except OSError as error:
        raise BadInput(f"Cannot read {file}: {error.strerror}", f"Give {option} a file that exists.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not UTF-8", f"Give {option} a file with JSON.") from error


def _json(text: str, place: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadInput(f"{place} is not JSON{where}") from error
    return found


def _object(text: str, place: str, example: str) -> Mapping[str, object]:
    found = _json(text, place)
    if not isinstance(found, dict) or not found:
        raise BadInput(f"{place} must be a JSON object", f"As in: {example}")
    return found
