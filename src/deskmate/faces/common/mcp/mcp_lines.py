"""/mcp: the state of each server, its tools and problems, and what the user can do about it."""

from typing import TYPE_CHECKING

from deskmate.errors import Refused, ToolError

if TYPE_CHECKING:
    from deskmate.app.parts.mcp_servers import ServerConnection, TeamServers
    from deskmate.app.sessions.team_session import TeamSession

_USAGE = "Type /mcp, /mcp restart NAME, or /mcp approve NAME [yes]"


async def mcp_lines(session: "TeamSession", words: list[str]) -> list[str]:
    """Return the state of all servers, or what came of what the user wants of one. Raises Refused."""
    servers = session.servers
    if servers is None:
        return ["no MCP servers are used here", "To add one, run: deskmate mcp add NAME -- COMMAND, then start again"]
    if not words:
        return [line for name in servers.entries for line in _state_lines(servers, name)]
    match words:
        case ["restart", name]:
            one = _known(servers, name)
            one.restart()
            await _start(servers, name)
            return _state_lines(servers, name)
        case ["approve", name, *rest] if rest in ([], ["yes"]):
            _known(servers, name)
            return await _approve(servers, name, approves=bool(rest))
        case _:
            raise Refused(f"'/mcp {' '.join(words)[:80]}' is not a command", _USAGE)


def _known(servers: "TeamServers", name: str) -> "ServerConnection":
    if name not in servers.entries:
        raise Refused(f"There is no MCP server '{name[:80]}'", f"Servers: {', '.join(servers.entries)}")
    return servers.connection(name)


async def _start(servers: "TeamServers", name: str) -> "ServerConnection":
    try:
        return await servers.connect(name)
    except ToolError as error:
        raise Refused(error.message) from error


def _state_lines(servers: "TeamServers", name: str) -> list[str]:
    one = servers.connection(name)
    tools = servers.approved[name].tools or ()
    lines = [f"{name}: {one.state}, from {one.entry.place}"]
    lines += [f"  tools: {', '.join(tool.name for tool in tools)}"] if tools else []
    lines += [f"  note: {problem}" for problem in one.read.problems]
    if one.changes:
        lines.append(f"  waits for your approval: {one.changes.words}. To look at it: /mcp approve {name}")
    return lines


async def _approve(servers: "TeamServers", name: str, *, approves: bool) -> list[str]:
    one = await _start(servers, name)
    if not one.changes:
        return [f"{name}: all its tools are as you approved them"]
    if not approves:
        return [*one.changes.lines(), f"To approve this: /mcp approve {name} yes"]
    one.approve()
    return [f"approved: {len(one.read.tools)} tools of {name}", "New tools are offered when the team starts again"]
