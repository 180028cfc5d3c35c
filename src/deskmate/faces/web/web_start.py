"""From arguments to exit code."""

import logging
import secrets
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import uvicorn

from deskmate import app
from deskmate.core.values import frozen
from deskmate.errors import BadSettings
from deskmate.faces.common.error_log import error_text
from deskmate.faces.common.text_tables import note, warn
from deskmate.faces.web.web_server import web_application
from deskmate.queries.stream_reader import team_at, workspace_at

_LOOPBACK = "127.0.0.1"
# A page that is open is not waited for.
_END_SECONDS = 2.0


def serve_page(folder: Path | None, team: str | None, *, port: int, opens: bool) -> int:
    """Serve the page until Ctrl-C or SIGTERM, and return the exit code. Raises DeskmateError."""
    page = _page(folder, team, port)
    print(page.link, flush=True)
    note("Open this link in a browser on this machine, and keep it to yourself. To stop, press Ctrl-C.")
    if opens:
        _open(page.link)
    page.server.run(sockets=[page.listener])
    return 0


@contextmanager
def page_beside(folder: Path | None, team: str | None) -> Iterator[None]:
    """Serve the page in this process meanwhile, and open it in the browser. Raises DeskmateError.

    Without a team, the page waits for the next one that begins.
    """
    page = _page(folder, team, 0, "" if team else "&next=1")
    note(f"The page of this conversation: {page.link}")
    _open(page.link)
    thread = Thread(target=page.server.run, kwargs={"sockets": [page.listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        page.server.should_exit = page.server.force_exit = True
        thread.join(_END_SECONDS)


@frozen
class _Page:
    """A page that can be served, and the link to it."""

    link: str
    server: uvicorn.Server
    listener: socket.socket


def _page(folder: Path | None, team: str | None, port: int, more: str = "") -> _Page:
    place = workspace_at(folder)
    name = None if team is None else team_at(place, team)
    settings = app.load(app.environment())
    for warning in settings.warnings:
        warn(error_text(warning, before="warning: "))
    listener = _listener(port)
    token = secrets.token_urlsafe(32)
    number = listener.getsockname()[1]
    hosts = frozenset({f"{_LOOPBACK}:{number}", f"localhost:{number}"})
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
    # The part after # stays in the browser: it is in no request and in no log.
    link = f"http://{_LOOPBACK}:{number}/#token={token}" + (f"&team={name}" if name else "") + more
    return _Page(link, uvicorn.Server(configured), listener)


def _open(link: str) -> None:
    # Without a screen, a browser in the terminal would be opened, and take the terminal.
    has_screen = sys.platform != "linux" or app.environment().keys() & {"DISPLAY", "WAYLAND_DISPLAY"}
    if not (has_screen and webbrowser.open(link)):
        warn("No browser could be opened. Open the link yourself.")


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
