"""All servers of one process of Deskmate.

The members that run in the process share one process of each server, unless the user wants one for each member.
"""

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, agent_id
from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.mcp.tool_approvals import approval_key
from deskmate.core.policy.redaction import Redaction
from deskmate.core.policy.tool_table import MCP_PREFIX
from deskmate.core.team.members import Member
from deskmate.errors import ToolError
from deskmate.mcp.approved_tools import ApprovedTools
from deskmate.mcp.call_results import result_of
from deskmate.mcp.mcp_tools import ToolsOfServers, tools_of_servers
from deskmate.mcp.sdk_connection import Transport
from deskmate.mcp.server_connection import ServerConnection
from deskmate.mcp.tool_catalogue import ToolCatalogue
from deskmate.ports import Clock, ToolContext
from deskmate.workspace.local_workspace import GRACE_SECONDS
from deskmate.workspace.sweep import Groups

_LOG = logging.getLogger(__name__)
# How long the first request waits for servers that start, and how long without a word.
_WAIT_SECONDS, _SILENT_SECONDS = 3.0, 1.0
# Makes the transport of a server, in a folder.
MakeTransport = Callable[[ServerEntry, Path], Transport]
# Returns the secrets that a server got from Deskmate, and could show in what it says.
SecretsOf = Callable[[ServerEntry], Mapping[str, str]]


class TeamServers:
    """The servers that a team uses. `make`: returns how to reach one. `folder`: the workspace. `records`: where
    the records of the team are."""

    def __init__(
        self,
        entries: Iterable[ServerEntry],
        make: MakeTransport,
        *,
        secrets_of: SecretsOf = lambda entry: {},
        state: Path,
        folder: Path,
        records: Path,
        team: str,
        clock: Clock,
        version: str,
    ) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self._make, self._folder, self._records, self._team = make, folder, records, team
        self._secrets_of = secrets_of
        self._clock, self._version = clock, version
        self.approved = {
            name: ApprovedTools(state, approval_key(entry, str(folder)), folder) for name, entry in self.entries.items()
        }
        self._connections: dict[tuple[str, str], ServerConnection] = {}
        # Who is told what happens to a server. A face that says it itself replaces this.
        self.tell: Callable[[str], None] = _warn
        self.tasks: TaskGroup | None = None
        self.first_tools: tuple[ServerTool, ...] = ()
        self.late: tuple[str, ...] = ()
        self._starts: dict[str, anyio.Event] = {}

    async def begin(self, tasks: TaskGroup) -> None:
        """Let servers run in these tasks, and decide which tools are offered: those that are approved.

        A server of which nothing was approved yet is started at once, and what it lists is approved with it. Other
        servers are started only when one of their tools is called. A server that is not ready within a few seconds
        goes on starting. Its tools can be found once it is ready.
        """
        self.tasks = tasks
        for name, approved in self.approved.items():
            if approved.tools is None:
                self._starts[name] = anyio.Event()
                tasks.start_soon(self._try, name)
        with self._clock.move_on_after(_SILENT_SECONDS):
            await self.settled()
        if self._starts:
            self.tell(f"Waiting up to {_WAIT_SECONDS:g} s for MCP servers to start: {', '.join(self._starts)}")
            with self._clock.move_on_after(_WAIT_SECONDS - _SILENT_SECONDS):
                await self.settled()
        self.first_tools, self.late = self.tools, self.starting
        if self.late:
            self.tell(f"MCP servers still starting: {', '.join(self.late)}. Agents can find their tools once they run")

    @property
    def tools(self) -> tuple[ServerTool, ...]:
        """The tools that are approved now."""
        return tuple(tool for one in self.approved.values() for tool in one.tools or ())

    @property
    def starting(self) -> tuple[str, ...]:
        """The servers that are being started for the first time."""
        return tuple(self._starts)

    async def settled(self) -> None:
        """Return once no server is being started for the first time."""
        while self._starts:
            await next(iter(self._starts.values())).wait()

    def sweep(self, member: str) -> None:
        """End what an earlier process of a member left running. Call it while holding its seat."""
        Groups(self._records, self._team, f"{member}.mcp").sweep(frozenset(), GRACE_SECONDS)

    async def _try(self, name: str) -> None:
        try:
            # The connection tells why it failed.
            with contextlib.suppress(ToolError):
                await self.connect(name)
                if name in self.late:
                    self.tell(f"The MCP server {name} is ready now")
        finally:
            self._starts.pop(name).set()

    async def connect(self, name: str) -> ServerConnection:
        """Return a server that runs now, with its tools listed. Raises ToolError."""
        connection = self.connection(name)
        await connection.connect(self._group)
        return connection

    def connection(self, name: str, member: str = "", folder: Path | None = None) -> ServerConnection:
        """Return a server, which may not run. `member`, `folder`: of whom it is, if each member has its own."""
        entry = self.entries[name]
        key = (name, member if entry.per_member else "")
        if key not in self._connections:
            place = folder if entry.per_member and folder else self._folder
            self._connections[key] = ServerConnection(
                entry, self._make(entry, place), self.approved[name], self._clock, self._version, self.tell
            )
        return self._connections[key]

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], context: ToolContext) -> Result:
        """Call a tool for an agent. Raises ToolError."""
        connection = self.connection(tool.server, _seat(context), Path(context.workspace.root))
        try:
            answer, notes = await connection.call(self._group, tool, arguments, context.call, context.ask_user)
            result = await result_of(tool.server, answer, notes, context)
        except ToolError as error:
            raise ToolError(self._hidden(tool.server, error.message)) from error
        return replace(result, text=self._hidden(tool.server, result.text))

    def _hidden(self, name: str, text: str) -> str:
        """Return what a server said without the token that it got. It may be newer than what this process knows."""
        secrets = self._secrets_of(self.entries[name])
        return Redaction(secrets).text(text) if secrets else text

    async def read_resource(self, name: str, uri: str) -> str:
        """Return the text of a resource that the user named. Raises ToolError."""
        return self._hidden(name, await self.connection(name).read_resource(self._group, uri))

    async def get_prompt(self, name: str, prompt: str, words: str) -> str:
        """Return the text of a prompt that the user chose. Raises ToolError."""
        return self._hidden(name, await self.connection(name).get_prompt(self._group, prompt, words))

    @property
    def _group(self) -> TaskGroup:
        if self.tasks is None:
            raise ToolError("MCP servers cannot be used now. Continue without them.")
        return self.tasks

    def tools_for(self, me: Member) -> ToolsOfServers:
        """Return the tools that an agent has: all, or those that its agent type names."""
        words = None if me.base_tools is None else tuple(word for word in me.base_tools if word.startswith(MCP_PREFIX))
        return tools_of_servers(ToolCatalogue(self, words))


def _seat(context: ToolContext) -> str:
    """Return the agent that calls, by a name that no other agent of the process has.

    Members of a lead's two teams may have the same name. The lead is the same in both.
    """
    name = context.me.name
    return name if name.partition(":")[0] == LEAD else agent_id(name, context.roster.team)


def _warn(text: str) -> None:
    _LOG.warning("%s", text)
