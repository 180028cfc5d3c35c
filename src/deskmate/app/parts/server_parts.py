"""What depends on servers: the tools of MCP servers, and other machines. Most runs have neither, and load neither."""

from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.config import Settings
from deskmate.ports import Clock
from deskmate.trust.approvals import Consent
from deskmate.trust.project_files import has_servers
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from deskmate.app.hosts.host_parts import HostParts
    from deskmate.mcp.team_servers import TeamServers


def hosts_of(place: Path, settings: Settings) -> "HostParts | None":
    """Return the hosts of a workspace. Imports nothing of them if its teams are in files."""
    if settings.store is None:
        return None
    from deskmate.app.hosts.host_parts import HostParts

    return HostParts(place, settings.caps)


def servers_of(
    place: Path, seat: str, settings: Settings, consent: Consent, sandbox: Sandbox, clock: Clock
) -> "TeamServers | None":
    """Return the MCP servers of a process. Imports nothing of them if no file describes one."""
    if not has_servers(settings, consent.definitions):
        return None
    from deskmate.app.parts.mcp_servers import team_servers

    return team_servers(place, seat, settings, consent, sandbox, clock)
