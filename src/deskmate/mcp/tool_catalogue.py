"""Which tools of servers one agent may use: those it is shown from the beginning, and those it can find.

What an agent is shown never changes while its process runs, so that the beginning of its prompt stays the same.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from deskmate.core.agent.tool_results import Result
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.policy.patterns import text_matches
from deskmate.core.policy.tool_table import MCP_PREFIX
from deskmate.core.values import frozen
from deskmate.ports import ToolContext


class Servers(Protocol):
    """The servers of a process. `first_tools`: those that were known when it began. `late`: servers that were not ready
    by then."""

    first_tools: tuple[ServerTool, ...]
    late: tuple[str, ...]

    @property
    def tools(self) -> tuple[ServerTool, ...]:
        """The tools that are known now."""

    @property
    def starting(self) -> tuple[str, ...]:
        """The servers that are being started."""

    async def settled(self) -> None:
        """Return once no server is being started."""

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], context: ToolContext) -> Result:
        """Call a tool for an agent. Raises ToolError."""


@frozen
class ToolCatalogue:
    """The tools of one agent. `words`: the patterns in its list of tools, None if it has no list and may use all."""

    servers: Servers
    words: tuple[str, ...] | None = None

    @property
    def first(self) -> tuple[ServerTool, ...]:
        """The tools that were known when the process began."""
        return self._own(self.servers.first_tools)

    @property
    def known(self) -> tuple[ServerTool, ...]:
        """The tools that are known now."""
        return self._own(self.servers.tools)

    @property
    def late(self) -> tuple[str, ...]:
        """The servers that were not ready when the process began."""
        return tuple(name for name in self.servers.late if self._may_have(name))

    @property
    def missing(self) -> str:
        """Which of these servers have no tools yet, and what to do about it. Empty if there are none."""
        starting = [name for name in self.late if name in self.servers.starting]
        having = {tool.server for tool in self.servers.tools}
        failed = [name for name in self.late if name not in starting and name not in having]
        lines = [f"Still starting: {', '.join(starting)}. Search again later for their tools."] if starting else []
        lines += [f"Without tools, because they could not be started: {', '.join(failed)}."] if failed else []
        return "\n".join(lines)

    def _own(self, tools: tuple[ServerTool, ...]) -> tuple[ServerTool, ...]:
        if self.words is None:
            return tools
        return tuple(tool for tool in tools if any(text_matches(word, tool.full_name) for word in self.words))

    def _may_have(self, server: str) -> bool:
        """Tell whether a tool of this server may be among those of the agent."""
        if self.words is None:
            return True
        prefix = f"{MCP_PREFIX}{server}__"
        heads = ((word.partition("*")[0], "*" in word) for word in self.words)
        return any(head.startswith(prefix) or (is_open and prefix.startswith(head)) for head, is_open in heads)
