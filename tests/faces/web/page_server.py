"""The page of a workspace, served to a test."""

import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import uvicorn

from deskmate.config import Settings, load
from deskmate.faces.web.web_server import web_application

TOKEN = "the-token-of-this-test"
HOST = "127.0.0.1"


@dataclass
class PageServer:
    """A server of the page, and a client that may ask it."""

    port: int
    client: httpx2.AsyncClient
    server: uvicorn.Server
    ended: anyio.Event

    async def stop(self) -> None:
        """End the server, as a second Ctrl-C does."""
        self.server.should_exit = self.server.force_exit = True
        await self.ended.wait()

    @property
    def link(self) -> str:
        """What `deskmate web` prints."""
        return f"http://{HOST}:{self.port}/#token={TOKEN}"

    async def post(self, team: str, kind: str, body: object) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to a request of the user."""
        answer = await self.client.post(f"/api/teams/{team}/{kind}", content=json.dumps(body), headers=_JSON)
        return answer.status_code, answer.json()

    async def changes(
        self, team: str, *, member: str = "lead", after: int = 0
    ) -> AsyncGenerator[tuple[int, Any], None]:
        """Yield the changes of a team and the id of each, as they come."""
        headers = {"Last-Event-ID": str(after)}
        path = f"/api/teams/{team}/events?member={member}"
        async with self.client.stream("GET", path, headers=headers, timeout=None) as answer:
            assert answer.status_code == 200, await answer.aread()
            number = 0
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    number = int(line[4:])
                elif line.startswith("data: "):
                    yield number, json.loads(line[6:])


_JSON = {"Content-Type": "application/json"}


@asynccontextmanager
async def page_server(folder: Path, *, port: int = 0, settings: Settings | None = None) -> AsyncIterator[PageServer]:
    """Serve the page of a workspace."""
    with socket.create_server((HOST, port)) as listener:
        number = listener.getsockname()[1]
        application = web_application(
            folder,
            settings or load({"HOME": str(folder)}),
            TOKEN,
            frozenset({f"{HOST}:{number}", f"localhost:{number}"}),
        )
        config = uvicorn.Config(application, log_config=None, lifespan="off", timeout_graceful_shutdown=0)
        server = uvicorn.Server(config)
        base = f"http://{HOST}:{number}"
        ended = anyio.Event()

        async def serve() -> None:
            await server.serve([listener])
            ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            async with httpx2.AsyncClient(base_url=base, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
                yield PageServer(number, client, server, ended)
            server.should_exit = True
