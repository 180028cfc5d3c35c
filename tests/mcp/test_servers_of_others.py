"""Servers that others wrote, used as they are published."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deskmate.core.mcp.server_entries import ServerEntry
from tests.mcp.server_harness import ServerHarness, running

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]


@pytest.fixture
def harness(tmp_path: Path) -> ServerHarness:
    harness = ServerHarness(tmp_path)
    return harness.with_sandbox() if shutil.which("bwrap") else harness


def entry(*command: str) -> ServerEntry:
    return ServerEntry("other", "here", command=command)


async def test_the_time_server_converts_a_time(harness: ServerHarness) -> None:
    servers = harness.of(entry(sys.executable, "-m", "mcp_server_time"))
    async with running(servers):
        given = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        result = await harness.call(servers, "convert_time", **given)
    assert json.loads(result.text.partition("\n")[2])["time_difference"] == "+9.0h"


async def test_the_git_server_reads_the_repository_of_the_workspace(harness: ServerHarness) -> None:
    servers = harness.of(entry(sys.executable, "-m", "mcp_server_git"))
    work = harness.place / "work"
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "new.txt").write_text("new")
    async with running(servers):
        result = await harness.call(servers, "git_status", repo_path=str(work))
    assert "new.txt" in result.text


@pytest.mark.parametrize(
    ("command", "tool", "arguments", "said"),
    [
        (("mcp-server-filesystem", "."), "read_text_file", {"path": "hello.txt"}, "hello there"),
        (("mcp-server-everything",), "get-sum", {"a": 2, "b": 3}, "5"),
    ],
)
async def test_a_server_of_npm_answers(
    harness: ServerHarness, command: tuple[str, ...], tool: str, arguments: dict[str, object], said: str
) -> None:
    program = command[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed. To install it: npm install -g @modelcontextprotocol/{program[4:]}")
    servers = harness.of(entry(*command))
    (harness.place / "work/hello.txt").write_text("hello there")
    async with running(servers):
        result = await harness.call(servers, tool, **arguments)
    assert said in result.text
