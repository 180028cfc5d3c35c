"""The tools of servers, as agents have them.

Each is a tool of its own if their schemas are short. Otherwise the model finds them with `McpSearch` and calls them
with `McpCall`, so that the beginning of the prompt stays short and the same. The tools of a server that is ready too
late are found in the same way. Rules see the name of the tool either way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from pydantic import Field, RootModel

from deskmate.core.agent.tool_results import Result
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.mcp.tool_search import are_long, found_text, matching, overview
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.tool_table import MCP_CALL, MCP_SEARCH
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.mcp.tool_catalogue import Servers, ToolCatalogue
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Arguments, Described


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
    servers: Servers

    async def attempt(self, arguments: AnyArguments, context: ToolContext) -> Attempt:
        """Return what the permission rules see. Nothing is known of what it touches, whatever the server says."""
        return Attempt(self.name, (), inside=False)

    async def run(self, arguments: AnyArguments, context: ToolContext) -> Result:
        """Call the tool."""
        return await self.servers.call(self.tool, arguments.root, context)


@frozen
class McpSearch(Described):
    """Finds tools of servers."""

    catalogue: ToolCatalogue

    async def run(self, arguments: SearchArguments, context: ToolContext) -> Result:
        """Return the tools that match, with their schemas. Wait for servers that are starting if none matches yet."""
        if not matching(self.catalogue.known, arguments.query):
            await self.catalogue.servers.settled()
        found = found_text(self.catalogue.known, arguments.query)
        return Result("\n\n".join(filter(None, [found, self.catalogue.missing])))


class FoundTools(Mapping[str, McpTool]):
    """All tools that an agent can call, by name, also of servers that were ready later than the agent."""

    def __init__(self, catalogue: ToolCatalogue) -> None:
        self._catalogue = catalogue

    def __getitem__(self, name: str) -> McpTool:
        for tool in self._catalogue.known:
            if tool.full_name == name:
                return _made(tool, self._catalogue.servers)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (tool.full_name for tool in self._catalogue.known)

    def __len__(self) -> int:
        return len(self._catalogue.known)


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
    found: Mapping[str, Tool] = field(default_factory=dict)


def tools_of_servers(catalogue: ToolCatalogue) -> ToolsOfServers:
    """Return the tools of a catalogue as an agent has them."""
    first, late = catalogue.first, catalogue.late
    made = tuple(_made(tool, catalogue.servers) for tool in first)
    is_long = are_long(first)
    if not is_long and not late:
        return ToolsOfServers(made)
    found = FoundTools(catalogue)
    about = f"{text(f'tools/{MCP_SEARCH}')} Servers, and how many tools each has: {overview(first, late)}."
    search = McpSearch(MCP_SEARCH, about, SearchArguments, catalogue)
    call = McpCall(MCP_CALL, text(f"tools/{MCP_CALL}"), McpCallArguments, found)
    return ToolsOfServers((search, call) if is_long else (*made, search, call), found)


def _made(tool: ServerTool, servers: Servers) -> McpTool:
    return McpTool(tool.full_name, tool.shown, AnyArguments, tool.schema, tool, servers)
