"""Resources of MCP servers that a typed text names. Without servers, nothing of them is imported."""

from typing import TYPE_CHECKING, TypeAlias

from deskmate.core.prompt.user_frames import UserFile

if TYPE_CHECKING:
    from deskmate.app.parts.mcp_servers import TeamServers

# The server, and the URI of its resource.
Resource: TypeAlias = tuple[str, str]


def resources_named(text: str, servers: "TeamServers | None") -> tuple[Resource, ...]:
    """Return the resources that a text names."""
    if servers is None:
        return ()
    from deskmate.faces.common.mcp.mcp_mentions import resources_in

    return resources_in(text, servers)


async def read_resources(
    resources: tuple[Resource, ...], servers: "TeamServers | None"
) -> tuple[tuple[UserFile, ...], tuple[str, ...]]:
    """Return resources to attach to a message, and why others cannot be attached."""
    if not resources or servers is None:
        return (), ()
    from deskmate.faces.common.mcp.mcp_mentions import attached_resources

    return await attached_resources(resources, servers)
