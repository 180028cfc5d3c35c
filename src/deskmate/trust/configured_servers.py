"""The MCP servers that the user's files and a workspace describe.

Those of a workspace are a definition, so they count only as far as they are approved. `core.mcp` reads the text.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from deskmate.config import Settings
from deskmate.core.mcp.server_entries import ReadServers, ServerEntry, entries_of, read_servers
from deskmate.core.policy.trusted_files import SERVERS, Definition
from deskmate.errors import BadInput, BadSettings, StoreUnavailable
from deskmate.fs.safe_files import file_lock, private_folder, read_regular, replace_file
from deskmate.trust.approvals import Survey
from deskmate.trust.project_files import ADDED_SERVERS

LOCK = "mcp.lock"
_MOST_BYTES = 1_000_000


def servers_of(settings: Settings, definitions: Iterable[Definition] = ()) -> ReadServers:
    """Return the servers of the settings, those that were added, and those of the definitions.

    The first of a name wins, so a project never replaces a server of the user.
    """
    in_settings = {name: one.fields for name, one in settings.mcp.items()}
    found = [
        entries_of(in_settings, str(settings.file), of_project=False),
        added_servers(settings),
        *(read_servers(one.data, one.path, of_project=True) for one in definitions if one.path == SERVERS),
    ]
    entries: dict[str, ServerEntry] = {}
    problems = [problem for one in found for problem in one.problems]
    for entry in (entry for one in found for entry in one.entries.values()):
        if entry.name in entries:
            problems.append(
                f"The MCP server '{entry.name}' of {entry.place} is not used: {entries[entry.name].place} has one "
                "of that name"
            )
        else:
            entries[entry.name] = entry
    return ReadServers(entries, tuple(problems))


def server_named(settings: Settings, found: Survey, name: str) -> ServerEntry:
    """Return a server that is used in a folder. Raises BadInput that says which there are."""
    configured = servers_of(settings, found.consent.definitions).entries
    if name in configured:
        return configured[name]
    if SERVERS in found.unused:
        raise BadInput(
            f"There is no MCP server '{name}', or {SERVERS} has it, which you have not trusted",
            "To review and trust it, run: deskmate trust",
        )
    names = ", ".join(configured) or "none"
    raise BadInput(f"There is no MCP server '{name}'", f"Configured: {names}. To add one: deskmate mcp add")


def added_servers(settings: Settings) -> ReadServers:
    """Return the servers that `deskmate mcp add` wrote. Raises BadSettings if their file cannot be read."""
    file = settings.file.parent / ADDED_SERVERS
    try:
        data = read_regular(os.path.realpath(file), _MOST_BYTES)
    except FileNotFoundError:
        return ReadServers()
    except OSError as error:
        raise BadSettings(f"Cannot read {file}: {error.strerror}", "Check that you own it and can read it.") from error
    return read_servers(data, str(file), of_project=False)


def change_servers(settings: Settings, change: Callable[[dict[str, ServerEntry]], Mapping[str, ServerEntry]]) -> None:
    """Change the servers that were added. Raises BadSettings if a part of their file would be lost."""
    # The real path, because many users keep their settings elsewhere and have a link here.
    folder_path = Path(os.path.realpath(settings.file.parent))
    try:
        folder_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with private_folder(folder_path.parent.resolve(), folder_path.name) as folder, file_lock(folder, LOCK):
            known = added_servers(settings)
            if known.problems:
                raise BadSettings(known.problems[0], f"Correct {folder_path / ADDED_SERVERS} or delete it.")
            written = {name: entry.written for name, entry in change(dict(known.entries)).items()}
            replace_file(folder, ADDED_SERVERS, json.dumps({"mcpServers": written}, indent=2).encode() + b"\n")
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot write {folder_path / ADDED_SERVERS}: {error.strerror}", "Make its folder writable for you."
        ) from error


def file_of(settings: Settings) -> Path:
    """Return the file that `deskmate mcp add` writes."""
    return settings.file.parent / ADDED_SERVERS
