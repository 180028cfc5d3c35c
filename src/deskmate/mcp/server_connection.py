"""One server: started when it is needed, restarted when it died.

A call is never repeated automatically, because it may have had an effect. Its caller decides whether to call again.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp_types import CallToolResult

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_tools import ReadTools, ServerTool, read_tools
from deskmate.core.mcp.tool_approvals import ToolChanges, changes_of
from deskmate.errors import StoreUnavailable, ToolError
from deskmate.mcp.approved_tools import ApprovedTools
from deskmate.mcp.sdk_connection import SdkConnection, Transport, words_of
from deskmate.mcp.user_input import Ask, Inquiry
from deskmate.ports import Clock

CONNECT_SECONDS = 30.0
# After this many failures in a row, only the user starts it again.
MOST_FAILURES = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
# Servers of the newest version tell of changes only to those who listen. So the tools are listed again after a while.
_FRESH_SECONDS = 60.0


class ServerConnection:
    """A server that may or may not run now. Use it only while `tasks` are open."""

    def __init__(
        self,
        entry: ServerEntry,
        transport: Transport,
        approved: ApprovedTools,
        clock: Clock,
        version: str,
        tell: Callable[[str], None],
    ) -> None:
        self.entry, self.approved = entry, approved
        self._transport, self._clock, self._version, self._tell = transport, clock, version, tell
        self._connection: SdkConnection | None = None
        self._starting = anyio.Lock()
        self._failures = 0
        self._failed_at = 0.0
        self._listed_at = 0.0
        self.why = ""
        self.read = ReadTools(())
        self.changes = ToolChanges()

    @property
    def state(self) -> str:
        """How it is now, in words for the user."""
        if self._connection is not None and not self._connection.ended.is_set():
            return "ready" if self._connection.ready.is_set() else "starting"
        if self._connection is not None:
            return f"ended: {self._connection.why}"
        if self._failures >= MOST_FAILURES:
            return f"failed {self._failures} times, the last time because {self.why}"
        return f"ended: {self.why}" if self.why else "not started"

    async def call(
        self, tasks: TaskGroup, tool: ServerTool, arguments: Mapping[str, Any], call: str, ask: Ask
    ) -> tuple[CallToolResult, list[str]]:
        """Call a tool that is approved as it is now. Raises ToolError for everything that goes wrong.

        `call`, `ask`: the id of the call, and how its user is asked for input. Returns what came of that, too.
        """
        connection = await self.connect(tasks)
        await self._check(connection, tool)
        try:
            with self._clock.move_on_after(self.entry.seconds) as scope:
                inquiry = Inquiry(call, self.entry.name, ask, scope, self.entry.seconds)
                result = await connection.call(tool.name, dict(arguments), inquiry)
                self._failures = 0
                return result, inquiry.notes
        except ToolError as error:
            raise self._lost(error.message) from error
        except Exception as error:
            # The connection may have just ended, and the transport says why.
            with anyio.move_on_after(0.1):
                await connection.ended.wait()
            if connection.ended.is_set():
                raise self._lost(connection.why) from error
            raise ToolError(f"{self.entry.name} refused the call: {words_of(error)}") from error
        raise ToolError(
            f"{self.entry.name} did not answer within {self.entry.seconds:g} s. The call may have had an effect. "
            "Check that before you try again."
        )

    async def read_resource(self, tasks: TaskGroup, uri: str) -> str:
        """Return the text of a resource. Raises ToolError."""
        connection = await self.connect(tasks)
        return await self._bounded(connection, lambda: connection.read_resource(uri))

    async def get_prompt(self, tasks: TaskGroup, name: str, words: str) -> str:
        """Return the text of a prompt. Raises ToolError."""
        connection = await self.connect(tasks)
        return await self._bounded(connection, lambda: connection.get_prompt(name, words))

    async def _bounded(self, connection: SdkConnection, ask: Callable[[], Awaitable[str]]) -> str:
        try:
            with self._clock.move_on_after(self.entry.seconds):
                return await ask()
        except ToolError:
            raise
        except Exception as error:
            raise ToolError(f"{self.entry.name}: {connection.why or words_of(error)}") from error
        raise ToolError(f"{self.entry.name} did not answer within {self.entry.seconds:g} s")

    def _lost(self, why: str) -> ToolError:
        return ToolError(
            f"The MCP server {self.entry.name} ended during the call: {why or 'no reason is known'}. The call may have "
            "had an effect. Check that before you try again. The server is started again with the next call."
        )

    async def _check(self, connection: SdkConnection, tool: ServerTool) -> None:
        """Raise ToolError if the tool is not what the user approved."""
        if connection.is_stale or self._clock.monotonic() - self._listed_at > _FRESH_SECONDS:
            await self._list(connection)
        now = next((one for one in self.read.tools if one.name == tool.name), None)
        if now is None:
            raise ToolError(f"{self.entry.name} no longer has the tool {tool.name}. Use another one.")
        if not self._is_approved(now):
            # Another process may have approved it just now.
            self.approved.refresh()
        if not self._is_approved(now):
            raise ToolError(
                f"{self.entry.name} changed the tool {tool.name} since the user approved it, so it was not called. "
                f"Ask the user to look at the change, with: deskmate mcp approve {self.entry.name}"
            )

    def _is_approved(self, tool: ServerTool) -> bool:
        return any(one.name == tool.name and one.digest == tool.digest for one in self.approved.tools or ())

    async def connect(self, tasks: TaskGroup) -> SdkConnection:
        """Return an open connection. Start the server if needed, after a pause if it has just died."""
        async with self._starting:
            connection = self._connection
            if connection is not None and not connection.ended.is_set():
                return connection
            if connection is not None:
                self._note_failure(connection.why)
            await self._pause()
            connection = self._connection = SdkConnection(self._transport, self._version)
            tasks.start_soon(connection.hold)
            with self._clock.move_on_after(CONNECT_SECONDS):
                await connection.ready.wait()
                if not connection.ended.is_set():
                    await self._list(connection)
                    return connection
            connection.end(f"it was not ready within {CONNECT_SECONDS:g} s")
            self._note_failure(connection.why)
            raise ToolError(f"The MCP server {self.entry.name} could not be used: {connection.why}")

    def _note_failure(self, why: str) -> None:
        self._connection = None
        self._failures += 1
        self._failed_at = self._clock.monotonic()
        self.why = why or "no reason is known"
        self._tell(f"MCP server {self.entry.name}: {self.why}")

    async def _pause(self) -> None:
        if self._failures >= MOST_FAILURES:
            raise ToolError(
                f"The MCP server {self.entry.name} failed {self._failures} times, the last time because {self.why}. "
                f"It is not started again. Continue without it. The user can restart it: /mcp restart {self.entry.name}"
            )
        if self._failures:
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self._failures - 1))
            await self._clock.sleep(max(0.0, self._failed_at + pause - self._clock.monotonic()))

    async def _list(self, connection: SdkConnection) -> None:
        listed = None
        try:
            with self._clock.move_on_after(self.entry.seconds):
                listed = await connection.list_tools()
            if listed is None:
                connection.end(f"it did not list its tools within {self.entry.seconds:g} s")
        except Exception as error:
            connection.end(connection.why or f"it did not list its tools: {words_of(error)}")
        if listed is None or connection.ended.is_set():
            self._note_failure(connection.why)
            raise ToolError(f"The MCP server {self.entry.name} could not be used: {self.why}")
        self.read = read_tools(self.entry.name, listed)
        self._listed_at = self._clock.monotonic()
        if self.approved.tools is None:
            try:
                self.approved.approve(self.read.tools)
            except StoreUnavailable as error:
                # They are approved in this process, and again in the next one.
                self._tell(str(error))
        changes = changes_of(self.approved.tools or (), self.read.tools)
        if changes and changes != self.changes:
            self._tell(
                f"MCP server {self.entry.name} has other tools than you approved: {changes.words}. "
                f"To look at them, run: deskmate mcp approve {self.entry.name}"
            )
        self.changes = changes

    def approve(self) -> None:
        """Approve the tools as the server lists them now."""
        self.approved.approve(self.read.tools)
        self.changes = ToolChanges()

    def restart(self) -> None:
        """End the server. It is started again, at once and as if it had never failed, with the next call."""
        if self._connection is not None:
            self._connection.end("the user restarted it")
        self._connection, self._failures, self.why = None, 0, ""
