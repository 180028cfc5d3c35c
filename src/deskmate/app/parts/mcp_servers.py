"""The MCP servers of a run: which are configured, and how each is reached.

This is imported only if a file describes a server.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.config import Settings, environment
from deskmate.errors import BadSettings
from deskmate.ports import Clock
from deskmate.queries.installation import Installation
from deskmate.trust.approvals import Consent
from deskmate.trust.configured_servers import servers_of
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from deskmate.app.parts.http_servers import ServerLogins
    from deskmate.core.mcp.server_entries import ServerEntry
    from deskmate.mcp.server_connection import ServerConnection as ServerConnection
    from deskmate.mcp.team_servers import TeamServers as TeamServers

_LOG = logging.getLogger(__name__)


def team_servers(
    place: Path,
    seat: str,
    settings: Settings,
    consent: Consent,
    sandbox: Sandbox,
    clock: Clock,
    records: Path | None = None,
) -> "TeamServers | None":
    """Return the servers that a process uses, None if none is configured. `seat`: `team/member` of the process.

    `records`: the folder with the records of the team, by default the workspace. Raises BadSettings if the SDK is not
    installed.
    """
    found = servers_of(settings, consent.definitions)
    for problem in found.problems:
        _LOG.warning("%s", problem)
    for entry in found.entries.values():
        for flaw in entry.flaws:
            _LOG.warning("%s: the MCP server '%s': %s", entry.place, entry.name, flaw)
    if not found.entries:
        return None
    try:
        from deskmate.mcp.team_servers import TeamServers
    except ModuleNotFoundError as error:
        names = ", ".join(found.entries)
        raise BadSettings(
            f"MCP servers are configured ({names}), but the package {error.name} is not installed",
            f"Run: {Installation.current().command_for_all}",
        ) from error
    from deskmate.app.parts.http_servers import ServerLogins

    logins = ServerLogins(settings, place, clock)
    make = partial(_transport, records or place, seat, settings, sandbox, logins)
    return TeamServers(
        found.entries.values(),
        make,
        secrets_of=logins.secrets_of,
        state=settings.state,
        folder=place,
        records=records or place,
        team=seat.partition("/")[0],
        clock=clock,
        version=version("deskmate"),
    )


def _transport(
    records: Path,
    seat: str,
    settings: Settings,
    sandbox: Sandbox,
    logins: "ServerLogins",
    entry: "ServerEntry",
    folder: Path,
) -> "Callable[[Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]":
    def open_(tell: Callable[[str], None]) -> "AbstractAsyncContextManager[TransportStreams]":
        ready = entry.expanded(environment(), settings.mcp_variables)
        if ready.url:
            return logins.streams(entry, ready, tell)
        # Import a transport only if it is used.
        from deskmate.mcp.server_launch import server_command
        from deskmate.mcp.stdio_transport import stdio_streams

        wanted = sandbox if entry.network is None else replace(sandbox, network=entry.network)
        return stdio_streams(server_command(ready, folder, records, seat, environment(), wanted), tell)

    return open_
