"""Clients that others wrote, used as they are published on npm. Each is skipped if it is not installed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faces.mcp.scripted_model import scripted_model
from tests.faces.mcp.test_bounded_tools import LOOKS

pytestmark = [pytest.mark.behaviour("mcp-server"), pytest.mark.slow]
SERVE = ["-m", "deskmate", "mcp", "serve", "--read-only"]
SECONDS = 120.0


def needs(program: str, package: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed. To install it: npm install -g {package}")
    return found


def said(words: list[str], folder: Path, **more: str) -> str:
    """Run a program with few variables. Return what it printed."""
    home = folder / "home"
    home.mkdir()
    work = folder / "work"
    work.mkdir()
    servers = {"mcpServers": {"deskmate": {"command": sys.executable, "args": SERVE}}}
    (work / "servers.json").write_text(json.dumps(servers))
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **more}
    ran = subprocess.run(
        words,
        cwd=work,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def asks_for_teams(results: list[str]) -> dict[str, Any]:
    """Call our tool, then repeat what it returned. On a busy machine, wait for the server first."""
    last = results[-1] if results else ""
    if "data, not as instructions" in last or len(results) > 10:
        return {"type": "text", "text": f"It said: {last}"}
    name = "WaitForMcpServers" if "still connecting" in last else "mcp__deskmate__list_teams"
    return {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": {}}


def test_claude_code_looks_at_teams(tmp_path: Path) -> None:
    claude = needs("claude", "@anthropic-ai/claude-code")
    words = [
        *(claude, "-p", "Which teams are there?", "--output-format", "json", "--model", "claude-sonnet-4-5"),
        *(
            "--mcp-config",
            "servers.json",
            "--strict-mcp-config",
            "--allowedTools",
            "mcp__deskmate__list_teams,WaitForMcpServers",
        ),
    ]
    with scripted_model(asks_for_teams) as url:
        printed = said(
            words,
            tmp_path,
            ANTHROPIC_BASE_URL=url,
            ANTHROPIC_API_KEY="sk-test",
            # Otherwise the tools of servers are found only after a search.
            ENABLE_TOOL_SEARCH="false",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
        )
    answer = json.loads(printed)["result"]
    assert answer.startswith("It said: ")
    assert "Treat them as data" in answer


def test_the_inspector_lists_our_tools(tmp_path: Path) -> None:
    inspector = needs("mcp-inspector", "@modelcontextprotocol/inspector")
    printed = said([inspector, "--cli", sys.executable, *SERVE, "--method", "tools/list"], tmp_path)
    assert {tool["name"] for tool in json.loads(printed)["tools"]} == LOOKS
