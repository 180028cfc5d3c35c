"""An MCP client of a server that serves the team of a scenario."""

import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from deskmate.core.policy.permissions import Mode
from deskmate.faces.mcp.mcp_server import server_of
from deskmate.faces.mcp.serving import MOST_TEAMS, Serving
from deskmate.models.scripted import Say
from deskmate.queries.stream_reader import teams_at
from deskmate.queries.team_view import look_at_teams
from deskmate.testing import Asked, Scenario
from deskmate.testing.team_scripts import step, write_file
from tests.runtime.team_process import until

SECONDS = 60.0
# A lead that asks before it writes a file, and then says what came of it.
WRITTEN, NOT_WRITTEN = "The file is there.", "The file is not there."


def writes_a_file(asked: Asked) -> Say:
    """Write a file, which default mode asks about, and answer."""
    if step(asked) == 0:
        return Say("I write it.", [write_file("out.txt", "words")])
    return Say(WRITTEN if asked.results and asked.results[-1].ok else NOT_WRITTEN)


@dataclass(frozen=True)
class TeamClient:
    """A client that a test speaks through."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured result of a tool. Fails if the tool does."""
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        found: dict[str, Any] = result.structured_content
        return found

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Return why a tool refuses. Fails if it does not."""
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        assert result.is_error
        (content,) = result.content
        assert isinstance(content, TextContent)
        return content.text

    async def tools(self) -> set[str]:
        """Return the names of the tools."""
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def watch(self, team: str | None = None) -> dict[str, Any]:
        """Wait until a team needs attention. Return the last news."""
        news = await self.call("wait_for_news", team=team)
        while news["running"] and not news["open_questions"]:
            news = await self.call("wait_for_news", team=team, cursor=news["cursor"])
        return news

    async def finish(self, team: str | None = None) -> str:
        """Wait until a team has stopped. Return its answer."""
        news = await self.call("wait_for_news", team=team)
        while news["running"]:
            news = await self.call("wait_for_news", team=team, cursor=news["cursor"], until="any")
        return str((await self.call("get_answer", team=team))["answer"])


@asynccontextmanager
async def served(
    team: Scenario,
    *,
    mode: str = "auto",
    ends_leads: bool = True,
    widest: Mode = Mode.DEFAULT,
    answers: bool = False,
    read_only: bool = False,
    most_teams: int = MOST_TEAMS,
    **flags: object,
) -> AsyncIterator[TeamClient]:
    """Serve a scenario in this process, and yield a client of it.

    `ends_leads`: at the end, end the processes of all teams, however the test ended.
    """
    given = {"sandbox": False, **flags}
    serving = Serving(team.workspace, given, widest, answers=answers, read_only=read_only, most_teams=most_teams)
    with anyio.fail_after(SECONDS), no_leads_left(team.workspace) if ends_leads else nullcontext():
        async with Client(server_of(serving), mode="legacy" if mode == "legacy" else "auto") as client:
            yield TeamClient(client)


@asynccontextmanager
async def over_stdio(team: Scenario, *options: str) -> AsyncIterator[TeamClient]:
    """Serve a scenario in a process of its own, and yield a client of it."""
    words = ["-m", "deskmate", "mcp", "serve", "--no-sandbox", *options]
    program = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ), cwd=team.workspace)
    with anyio.fail_after(SECONDS), no_leads_left(team.workspace):
        async with Client(program) as client:
            yield TeamClient(client)


@contextmanager
def no_leads_left(workspace: Path) -> Iterator[None]:
    """End the processes of all teams of a workspace at the end, however a test ended."""
    try:
        yield
    finally:
        for pid in lead_processes(workspace):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def lead_processes(workspace: Path) -> list[int]:
    """Return the ids of the processes that run teams of a workspace."""
    found = look_at_teams(workspace) if teams_at(workspace) else ()
    return [one.pid for one in found if one.live and one.pid not in (None, os.getpid())]


@asynccontextmanager
async def over_http(team: Scenario, *options: str) -> AsyncIterator[tuple[str, str]]:
    """Serve a scenario over HTTP in a process of its own. Yield the address and the token."""
    words = [sys.executable, "-m", "deskmate", "mcp", "serve", "--no-sandbox", "--http", *options]
    with anyio.fail_after(SECONDS), no_leads_left(team.workspace):
        async with await anyio.open_process(words, cwd=team.workspace, stdin=None) as process:
            assert process.stderr is not None
            said = ""
            while not (found := re.search(r"Serving MCP at (\S+)\n.*: (\S+)\n", said)):
                said += (await process.stderr.receive()).decode()
            try:
                yield found[1], found[2]
            finally:
                with suppress(ProcessLookupError):
                    process.terminate()


async def gone(pid: int) -> None:
    """Return when a process has ended."""
    await until(lambda: not _lives(pid))


def _lives(pid: int) -> bool:
    try:
        # A process that nobody has waited for yet has ended, too.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
