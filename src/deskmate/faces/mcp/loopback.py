"""The server over HTTP, on this machine only."""

import socket
from collections.abc import Callable

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from deskmate.errors import BadSettings
from deskmate.faces.mcp.http_guard import LOOPBACK, HttpGuard
from deskmate.faces.mcp.mcp_server import TeamServer

PATH = "/mcp"
_MOST_BYTES = 2**20
_MOST_CONNECTIONS, _MOST_SESSIONS = 200, 100
_LAST_SECONDS = 2


async def serve_http(
    server: TeamServer, port: int, token: str, tell: Callable[[str], None], guard: type[HttpGuard] = HttpGuard
) -> None:
    """Serve until the process is told to stop. Calls `tell` with the address once it listens.

    Port 0 is any free one. `guard`: what all requests go through first. Raises BadSettings if the port cannot be used.
    """
    with _listening(port) as listener:
        number = listener.getsockname()[1]
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=_MOST_BYTES,
            max_sessions=_MOST_SESSIONS,
            transport_security=TransportSecuritySettings(
                allowed_hosts=[f"{name}:{number}" for name in LOOPBACK],
                allowed_origins=[f"http://{name}:{number}" for name in LOOPBACK],
            ),
        )
        config = uvicorn.Config(
            guard(app, number, token),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        tell(f"http://127.0.0.1:{number}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise BadSettings(
            f"Cannot listen on port {port}: {error.strerror}", "Choose another port, or leave out --port."
        ) from error
    return listener
