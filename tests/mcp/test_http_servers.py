"""Servers over HTTP: an ordinary one, made with the SDK, and hostile ones."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.errors import ToolError
from deskmate.mcp.http_transport import http_streams
from deskmate.mcp.team_servers import TeamServers
from deskmate.runtime.system_clock import SystemClock
from tests.mcp.server_harness import DIRECT, ServerHarness, running

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]
SERVER = """
import socket, sys
from mcp.server import MCPServer
import uvicorn
server = MCPServer("words")
@server.tool()
def shout(text: str) -> str:
    "Say it loudly."
    return text.upper()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run([listener])
"""
HOSTILE = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "h", "version": "1"}}
            return self.answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())
        if asked["method"] == "tools/list":
            self.send_response(200); self.send_header("content-type", "application/json"); self.end_headers()
            try:
                while True: self.wfile.write(b" " * 1_000_000)
            except OSError: return
        self.send_response(202 if "id" not in asked else 404); self.end_headers()
    def answer(self, data):
        self.send_response(200); self.send_header("content-type", "application/json"); self.end_headers()
        self.wfile.write(data)
    def do_GET(self): self.send_response(405); self.end_headers()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
Serve = Callable[[str], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a script that prints its port, and return its URL."""
    running = list[subprocess.Popen[str]]()

    def start(script: str) -> str:
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout
        return f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"

    yield start
    for process in running:
        process.kill()
        process.communicate()


def servers_at(place: Path, url: str) -> TeamServers:
    def make(entry: ServerEntry, folder: Path) -> Any:
        return partial(http_streams, entry, DIRECT, None)

    entry = ServerEntry("web", "here", url=url)
    return TeamServers(
        [entry], make, state=place / "state", folder=place, records=place, team="main", clock=SystemClock(), version="0"
    )


async def test_a_tool_of_a_server_over_http_is_called(tmp_path: Path, serve: Serve) -> None:
    servers = servers_at(tmp_path, serve(SERVER))
    async with running(servers):
        assert (await ServerHarness(tmp_path).call(servers, "shout", text="hello")).text.endswith("HELLO")


async def test_an_answer_without_end_is_cut(tmp_path: Path, serve: Serve) -> None:
    servers = servers_at(tmp_path, serve(HOSTILE))
    async with running(servers):
        assert servers.approved["web"].tools is None
        assert "8,000,000 bytes" in servers.connection("web").state


async def test_a_server_that_is_not_there_is_reported(tmp_path: Path) -> None:
    servers = servers_at(tmp_path, "http://127.0.0.1:9/mcp")
    async with running(servers):
        with pytest.raises(ToolError):
            await servers.connect("web")
        assert "web" in json.dumps(list(servers.entries))
