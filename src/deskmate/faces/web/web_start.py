"""From arguments to exit code."""

import logging
import secrets
import socket
import webbrowser
from pathlib import Path

import uvicorn

from deskmate import app
from deskmate.errors import BadSettings
from deskmate.faces.common.error_log import error_text
from deskmate.faces.common.text_tables import note, warn
from deskmate.faces.web.web_server import web_application
from deskmate.queries.stream_reader import team_at, workspace_at

_LOOPBACK = "127.0.0.1"


def serve_page(folder: Path | None, team: str | None, *, port: int, opens: bool) -> int:
    """Serve the page until Ctrl-C or SIGTERM, and return the exit code. Raises DeskmateError."""
    place = workspace_at(folder)
    name = None if team is None else team_at(place, team)
    settings = app.load(app.environment())
    for warning in settings.warnings:
        warn(error_text(warning, before="warning: "))
    listener = _listener(port)
    token = secrets.token_urlsafe(32)
    number = listener.getsockname()[1]
    hosts = frozenset({f"{_LOOPBACK}:{number}", f"localhost:{number}"})
    # The part after # stays in the browser: it is in no request and in no log.
    link = f"http://{_LOOPBACK}:{number}/#token={token}" + (f"&team={name}" if name else "")
    print(link, flush=True)
    note("Open this link in a browser on this machine, and keep it to yourself. To stop, press Ctrl-C.")
    if opens and not webbrowser.open(link):
        warn("No browser could be opened. Open the link yourself.")
    configured = uvicorn.Config(
        web_application(place, settings, token, hosts),
        log_config=None,
        server_header=False,
        access_log=False,
        lifespan="off",
        # A page that is open keeps its connection, so the end cannot wait for all of them.
        timeout_graceful_shutdown=1,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    uvicorn.Server(configured).run(sockets=[listener])
    return 0


def _listener(port: int) -> socket.socket:
    """Return a socket that listens on this machine only. Raises BadSettings if the port cannot be used."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise BadSettings(
            f"Port {port} of this machine cannot be used: {error.strerror}", "Choose another one with --port."
        ) from error
    return listener
