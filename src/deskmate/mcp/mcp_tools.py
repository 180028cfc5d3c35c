"""The tools of servers, as agents have them.

Each is a tool of its own if their schemas are short. Otherwise the model finds them with `McpSearch` and calls them
with `McpCall`, so that the beginning of the prompt stays short and the same. Rules see the name of the tool either way.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import Field, RootModel

from deskmate.core.agent.tool_results import Result
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.mcp.tool_search import are_long, found_text, overview
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.tool_table import MCP_CALL, MCP_SEARCH
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Arguments, Described


class Caller(Protocol):
    """Who calls tools of servers."""

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], context: ToolContext) -> Result:
        """Call a tool for an agent. Raises ToolError."""


class AnyArguments(RootModel[dict[str, Any]]):
    """Arguments that only the server checks."""


class SearchArguments(Arguments):
    """What to look for."""

    query: str = Field(max_length=500, description="words, or the full name of a tool")


class McpCallArguments(Arguments):
    """Which tool to call."""

    tool: str = Field(description="its full name, mcp__server__tool")
    arguments: dict[str, Any] = Field({}, description="its arguments")


@frozen
class McpTool(Described):
    """One tool of a server. `schema`: what the model reads of its arguments."""

    schema: Mapping[str, Any]
    tool: ServerTool
    caller: Caller

    async def attempt(self, arguments: AnyArguments, context: ToolContext) -> Attempt:
        """Return what the permission rules see. Nothing is known of what it touches, whatever the server says."""
        return Attempt(self.name, (), inside=False)

    async def run(self, arguments: AnyArguments, context: ToolContext) -> Result:
        """Call the tool."""
        return await self.caller.call(self.tool, arguments.root, context)


@frozen
class McpSearch(Described):
    """Finds tools of servers."""

    tools: tuple[ServerTool, ...]

    async def run(self, arguments: SearchArguments, context: ToolContext) -> Result:
        """Return the tools that match, with their schemas."""
        return Result(found_text(self.tools, arguments.query))


@frozen
class McpCall(Described):
    """Calls a tool that `McpSearch` found."""

    tools: Mapping[str, McpTool]

    async def attempt(self, arguments: McpCallArguments, context: ToolContext) -> Attempt:
        """Return what the permission rules see: a call of the tool itself."""
        return Attempt(self._tool(arguments).name, (), inside=False)

    async def run(self, arguments: McpCallArguments, context: ToolContext) -> Result:
        """Call the tool."""
        return await self._tool(arguments).run(AnyArguments(arguments.arguments), context)

    def _tool(self, arguments: McpCallArguments) -> McpTool:
        found = self.tools.get(arguments.tool)
        if found is None:
            raise ToolError(f"There is no tool '{arguments.tool:.80}'. Find it with {MCP_SEARCH}.")
        return found


@frozen
class ToolsOfServers:
    """What an agent gets: tools that its model is shown, and tools that it can only find."""

    listed: tuple[Tool, ...] = ()
    found: tuple[Tool, ...] = ()


def tools_of_servers(tools: tuple[ServerTool, ...], caller: Caller) -> ToolsOfServers:
    """Return these tools as an agent has them."""
    made = tuple(McpTool(one.full_name, one.shown, AnyArguments, one.schema, one, caller) for one in tools)
    if not are_long(tools):
        return ToolsOfServers(made)
    about = f"{text(f'tools/{MCP_SEARCH}')} Servers, and how many tools each has: {overview(tools)}."
    search = McpSearch(MCP_SEARCH, about, SearchArguments, tools)
    call = McpCall(MCP_CALL, text(f"tools/{MCP_CALL}"), McpCallArguments, {one.name: one for one in made})
    return ToolsOfServers((search, call), made)
