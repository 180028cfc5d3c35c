"""Teams as resources, for clients that attach what a person chooses."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from deskmate.errors import DeskmateError
from deskmate.faces.common.error_log import discreet, error_lines
from deskmate.faces.mcp.look_tools import LookTools
from deskmate.faces.mcp.shown_results import ShownResult

_JSON = "application/json"


def add_resources(server: "MCPServer", looks: LookTools) -> None:
    """Add the resources of every team to a server."""

    @server.resource("deskmate://teams", mime_type=_JSON, description="The teams of this workspace")
    async def teams() -> str:
        return await _text(looks.list_teams)

    @server.resource("deskmate://teams/{team}/board", mime_type=_JSON, description="The tasks of a team")
    async def board(team: str) -> str:
        return await _text(lambda: looks.list_tasks(team, limit=100))

    @server.resource("deskmate://teams/{team}/log/{member}", mime_type=_JSON, description="What a member did last")
    async def transcript(team: str, member: str) -> str:
        return await _text(lambda: looks.read_transcript(member, team))


async def _text(look: Callable[[], ShownResult | Awaitable[ShownResult]]) -> str:
    try:
        found = look()
        return (await found if isawaitable(found) else found).model_dump_json()
    except DeskmateError as error:
        raise ResourceNotFoundError(discreet("\n".join(error_lines(error)))) from error
