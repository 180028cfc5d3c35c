"""MCP's own conformance suite, run on our server over HTTP: `make conformance`.

The suite comes from npm and needs Node 22, so it is no part of `make test`. It cannot send a token, so the token is put
into its requests here, before the guard looks at them. Everything else is as `deskmate mcp serve --http` does it.

    python -m tests.faces.mcp.conformance [COMMAND THAT STARTS THE SUITE ...]
"""

import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from queue import SimpleQueue

import anyio
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
)

from deskmate.core.policy.permissions import Mode
from deskmate.faces.mcp import loopback
from deskmate.faces.mcp.http_guard import HttpGuard, Receive, Scope, Send
from deskmate.faces.mcp.mcp_server import server_of
from deskmate.faces.mcp.serving import Serving

SUITE = ("npx", "--yes", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
TOKEN = "t" * 43
BOTH = ("tools-list", "resources-list", "prompts-list")
OLD = (*BOTH, "server-initialize", "server-session-lifecycle", "ping")
SCENARIOS = {
    "2025-06-18": OLD,
    "2025-11-25": (*OLD, "dns-rebinding-protection", "server-sse-multiple-streams"),
    "2026-07-28": (
        *BOTH,
        "server-stateless",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
    ),
}


class TokenAdder(HttpGuard):
    """The guard, with the token in every request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await super().__call__(scope, receive, send)


# Tools that the suite wants of every server. Ours has them only here.


def test_missing_capability(ctx: Context) -> str:
    """Need something that the client cannot do."""
    capabilities: dict[str, dict[str, str]] = {"sampling": {}}
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", {"requiredCapabilities": capabilities})
    return "done"


def test_streaming_elicitation(ctx: Context) -> str | InputRequiredResult:
    """Ask the user something."""
    if ctx.input_responses:
        return "done"
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
    return InputRequiredResult(input_requests={"who": ElicitRequest(params=params)})


def test_logging_tool(ctx: Context) -> str:
    """Say nothing, as nobody asked for it."""
    return "done"


def main(suite: tuple[str, ...]) -> int:
    """Run all scenarios. Return 1 if one fails that is not known to."""
    with tempfile.TemporaryDirectory() as folder:
        url = served(Path(folder))
        results = [passes(suite, url, one, version) for version, some in SCENARIOS.items() for one in some]
    return 0 if all(results) else 1


def served(folder: Path) -> str:
    """Serve a folder for as long as this process runs. Return the address."""
    server, told = server_of(Serving(folder, {}, Mode.DEFAULT)), SimpleQueue[str]()
    for tool in (test_missing_capability, test_streaming_elicitation, test_logging_tool):
        server.add_tool(tool)
    thread = threading.Thread(
        target=anyio.run, args=(loopback.serve_http, server, 0, TOKEN, told.put, TokenAdder), daemon=True
    )
    thread.start()
    return told.get(timeout=60)


def passes(suite: tuple[str, ...], url: str, scenario: str, version: str) -> bool:
    words = [*suite, "server", "--url", url, "--scenario", scenario, "--spec-version", version]
    said = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False).stdout
    found = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", said)
    failed = int(found[3]) if found else None
    good = failed == 0
    print(f"{'ok ' if good else 'BAD'} {version} {scenario}: {found[0] if found else 'no result'}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or SUITE))
