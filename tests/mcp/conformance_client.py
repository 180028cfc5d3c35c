"""Our client as MCP's own conformance suite starts it: it logs in if needed, lists the tools and calls the first one.

    python -m tests.mcp.conformance_client URL

The suite says in MCP_CONFORMANCE_CONTEXT which client a server knows already.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.errors import ToolError
from deskmate.mcp.login.login_flow import log_in
from tests.mcp.server_harness import DIRECT, ServerHarness, running
from tests.mcp.test_logins import Browser, Place


async def given(request: InputRequest) -> InputResponse:
    """Accept what a form offers."""
    values = {field.name: field.default for field in request.fields or () if field.default is not None}
    return InputResponse(request_id=request.request_id, approve=True, values=values)


def arguments(tool: ServerTool) -> dict[str, Any]:
    """Return some arguments that a tool takes."""
    samples: Mapping[str, Any] = {"string": "a", "number": 5, "integer": 5, "boolean": True}
    fields = tool.schema.get("properties", {})
    return {name: samples.get(str(one.get("type")), "a") for name, one in fields.items() if isinstance(one, dict)}


async def main(url: str) -> None:
    """Use a server as a team does, with a login if it asks for one."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), url)
        # The servers of the suite can ask again, for more rights.
        for _ in range(3):
            try:
                await use(place)
                break
            except ToolError as error:
                if "deskmate mcp login" not in str(error):
                    raise
            entry = ServerEntry("notes", "here", url=url)
            place.store.save(await log_in(entry, DIRECT, Browser(), client_id=context.get("client_id", "")))


async def use(place: Place) -> None:
    """List the tools, and call each."""
    servers = place.servers()
    async with running(servers):
        await servers.connect("notes")
        for tool in servers.approved["notes"].tools or ():
            await ServerHarness(place.folder, given=given).call(servers, tool.name, **arguments(tool))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
