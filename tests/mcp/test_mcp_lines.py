"""/mcp in a conversation."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deskmate.errors import Refused
from deskmate.faces.common.mcp.mcp_lines import mcp_lines
from deskmate.mcp.team_servers import TeamServers
from tests.mcp.server_harness import ServerHarness, running

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]


def session(servers: TeamServers | None) -> Any:
    return cast(Any, SimpleNamespace(servers=servers))


async def test_a_conversation_without_servers_says_how_to_add_one() -> None:
    assert len(await mcp_lines(session(None), [])) == 2


async def test_the_state_the_tools_and_what_changed_are_shown_and_approved(tmp_path: Path) -> None:
    file = tmp_path / "tools"
    file.write_text("echo|Say it again.\n")
    servers = ServerHarness(tmp_path).servers("plain", file)
    async with running(servers):
        assert await mcp_lines(session(servers), []) == ["hostile: ready, from here", "  tools: echo"]
        file.write_text("echo|Say it never.\n")
        lines = await mcp_lines(session(servers), ["restart", "hostile"])
        assert "waits for your approval: 1 changed: echo" in lines[-1]
        shown = await mcp_lines(session(servers), ["approve", "hostile"])
        assert {"  - Say it again.", "  + Say it never."} <= set(shown)
        await mcp_lines(session(servers), ["approve", "hostile", "yes"])
        assert len(await mcp_lines(session(servers), [])) == 2


async def test_an_unknown_server_or_word_is_refused(tmp_path: Path) -> None:
    servers = ServerHarness(tmp_path).servers("plain")
    async with running(servers):
        for words in (["restart", "nobody"], ["dance"], ["approve", "hostile", "no"]):
            with pytest.raises(Refused):
                await mcp_lines(session(servers), words)
