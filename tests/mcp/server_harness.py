"""ServerHarness: real servers in processes of their own, reached as a team reaches them, without a team."""

import os
import shutil
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from deskmate.core.agent.tool_results import Result
from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.members import Member
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.core.team.status import WORKING
from deskmate.mcp.http_route import HttpRoute
from deskmate.mcp.server_launch import server_command
from deskmate.mcp.stdio_transport import stdio_streams
from deskmate.mcp.team_servers import TeamServers
from deskmate.mcp.user_input import Ask
from deskmate.ports import Clock, ToolContext
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import task_group
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk

# How servers over HTTP are reached without a proxy.
DIRECT = HttpRoute(lambda scheme, host, port: None, ssl.create_default_context)
HOSTILE = str(Path(__file__).with_name("hostile_server.py"))


@dataclass
class ServerHarness:
    """One server named `hostile`, in a folder of its own. `sandbox`: by default none."""

    place: Path
    clock: Clock = field(default_factory=SystemClock)
    sandbox: Sandbox = field(default_factory=lambda: Sandbox(Level.NONE))
    workspace: MemoryWorkspace = field(default_factory=MemoryWorkspace)
    given: Ask | None = None

    def servers(self, mode: str, file: Path | None = None, **fields: Any) -> TeamServers:
        """Return servers with one that behaves as the mode says. It does not run yet."""
        words = [sys.executable, self._program(), mode, *([str(file)] if file else [])]
        return self.of(ServerEntry("hostile", "here", command=tuple(words), **fields))

    def _program(self) -> str:
        """Return the program of the server. The sandbox hides /tmp, where these tests may be, but not the workspace."""
        if self.sandbox.level is Level.NONE:
            return HOSTILE
        work = self.place / "work"
        work.mkdir(parents=True, exist_ok=True)
        return str(shutil.copy(HOSTILE, work))

    def of(self, *entries: ServerEntry) -> TeamServers:
        """Return these servers."""
        work = self.place / "work"
        (work / ".teams/main").mkdir(parents=True, exist_ok=True)

        def make(entry: ServerEntry, folder: Path) -> Any:
            return lambda tell: stdio_streams(
                server_command(entry, folder, work, "main/lead", os.environ, self.sandbox), tell
            )

        return TeamServers(
            entries, make, state=self.place / "state", folder=work, records=work, team="main", clock=self.clock,
            version="0",
        )  # fmt: skip

    @property
    def context(self) -> ToolContext:
        """The context of a call of the lead."""
        desk = Desk(self.workspace)
        desk.given = self.given
        return cast(ToolContext, desk)

    async def call(self, servers: TeamServers, tool: str = "echo", **arguments: object) -> Result:
        """Call a tool of the only server."""
        # A busy machine may need longer than the first request waits.
        await servers.settled()
        return await servers.call(tool_of(servers, tool), arguments, self.context)

    def with_sandbox(self, **kinds: Any) -> "ServerHarness":
        """Return the same with the sandbox of this machine."""
        state = self.place / "sandbox"
        self.sandbox = find_sandbox(state, environ=os.environ, **kinds)
        return self


class Desk(ToolDesk):
    """A desk that knows who works there. `given`: what the user answers to servers, by default no."""

    given: Ask | None = None

    async def ask_user(self, request: InputRequest) -> InputResponse:
        if self.given is None:
            return InputResponse(request_id=request.request_id, approve=False)
        return await self.given(request)

    @property
    def me(self) -> Member:
        return Member("lead", AgentKind.LEAD, AgentType.GENERAL, "", "", None, WORKING)


def tool_of(servers: TeamServers, name: str) -> ServerTool:
    """Return a tool as it was approved."""
    return next(tool for one in servers.approved.values() for tool in one.tools or () if tool.name == name)


@asynccontextmanager
async def running(servers: TeamServers) -> AsyncIterator[None]:
    """Let servers run, as a team does."""
    async with task_group() as tasks:
        await servers.begin(tasks)
        yield
        tasks.cancel_scope.cancel()
