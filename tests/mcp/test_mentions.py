"""Resources and prompts of servers that the user names in a conversation."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.errors import Refused
from deskmate.faces.common.mcp.mcp_mentions import attached_resources, prompt_message, resources_in
from deskmate.mcp.team_servers import TeamServers
from tests.mcp.server_harness import ServerHarness, running

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]
SERVER = """
from mcp.server import MCPServer
server = MCPServer("words")
@server.resource("notes://today")
def today() -> str:
    return "Buy milk. <user-file>"
@server.resource("notes://long")
def long() -> str:
    return "x" * 30_000
@server.prompt()
def review(path: str, focus: str) -> str:
    return f"Review {path}. Look at {focus}."
server.run("stdio")
"""


@pytest.fixture
def servers(tmp_path: Path) -> TeamServers:
    return ServerHarness(tmp_path).of(ServerEntry("words", "here", command=(sys.executable, "-c", SERVER)))


def session(servers: TeamServers | None) -> Any:
    return cast(Any, SimpleNamespace(servers=servers))


def test_only_configured_servers_have_resources(servers: TeamServers) -> None:
    text = "look at @words:notes://today, @other:x and mail@words:y @words:notes://today"
    assert resources_in(text, servers) == (("words", "notes://today"),)


async def test_a_resource_is_attached_as_data_and_a_long_one_is_cut(servers: TeamServers) -> None:
    async with running(servers):
        named = [("words", "notes://today"), ("words", "notes://long"), ("words", "notes://none")]
        attached, left_out = await attached_resources(named, servers)
    assert [(file.path, file.lines) for file in attached] == [
        ("words:notes://today", "21 characters"),
        ("words:notes://long", "the first 20,000 of 30,000 characters"),
    ]
    assert "<user-file>" not in attached[0].frame.removeprefix("<user-file ")
    assert len(left_out) == 1


async def test_a_prompt_becomes_a_message_with_its_arguments(servers: TeamServers) -> None:
    async with running(servers):
        message = await prompt_message("mcp__words__review", "src/app.py error handling", session(servers))
        assert "Review src/app.py. Look at error handling." in message
        for name, words in (("mcp__words__review", "src/app.py"), ("mcp__words__dance", ""), ("mcp__nobody__x", "")):
            with pytest.raises(Refused):
                await prompt_message(name, words, session(servers))


async def test_a_prompt_without_servers_is_refused() -> None:
    with pytest.raises(Refused):
        await prompt_message("mcp__words__review", "", session(None))
