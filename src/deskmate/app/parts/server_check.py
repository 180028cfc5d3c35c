"""An MCP server tried out, and its tools approved."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from deskmate.app.parts.mcp_servers import team_servers
from deskmate.config import Settings
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.mcp.tool_approvals import ToolChanges
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import task_group
from deskmate.trust.approvals import Survey
from deskmate.trust.configured_servers import server_named
from deskmate.trust.sandbox_choice import sandbox_of


@frozen
class CheckedServer:
    """What came of a trial. `why`: why the server cannot be used, empty if it can. `approve` approves all its tools."""

    why: str = ""
    seconds: float = 0.0
    tools: tuple[ServerTool, ...] = ()
    problems: tuple[str, ...] = ()
    changes: ToolChanges = ToolChanges()
    approve: Callable[[], None] = lambda: None


def check_server(found: Survey, settings: Settings, name: str) -> CheckedServer:
    """Start a server as a team would, list its tools, and end it. Raises BadInput if there is no such server."""
    # First of all: nothing is tried, and no sandbox, for a server that does not exist.
    server_named(settings, found, name)
    with tempfile.TemporaryDirectory() as records:
        servers = team_servers(
            found.workspace,
            "trial/trial",
            settings,
            found.consent,
            sandbox_of(settings),
            SystemClock(),
            Path(records).resolve(),
        )
        assert servers is not None, "a server is configured"
        servers.tell = lambda text: None

        async def try_out() -> CheckedServer:
            begun = time.monotonic()
            async with task_group() as servers.tasks:
                try:
                    one = await servers.connect(name)
                    seconds = time.monotonic() - begun
                    return CheckedServer("", seconds, one.read.tools, one.read.problems, one.changes, one.approve)
                except ToolError as error:
                    return CheckedServer(servers.connection(name).why or error.message)
                finally:
                    servers.tasks.cancel_scope.cancel()

        return anyio.run(try_out)
