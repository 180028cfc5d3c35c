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
from deskmate.faces.web.listen_address import ListenAddress
from deskmate.faces.web.web_server import web_application
from deskmate.queries.stream_reader import team_at, workspace_at

# A page that is open is not waited for.
_END_SECONDS = 2.0


def serve_page(folder: Path | None, team: str | None, address: ListenAddress, *, opens: bool) -> int:
    """Serve the page until Ctrl-C or SIGTERM, and return the exit code. Raises DeskmateError."""
    page = _page(folder, team, address)
    print(page.link, flush=True)
    if address.reaches_others:
        warn(
            "Other machines can reach this page. With the link, people can direct your teams, and so run commands here."
        )
        note("Open this link in a browser, and keep it to yourself. To stop, press Ctrl-C.")
    else:
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
    page = _page(folder, team, ListenAddress(), "" if team else "&next=1")
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


def _page(folder: Path | None, team: str | None, address: ListenAddress, more: str = "") -> _Page:
    address.check()
    place = workspace_at(folder)
    name = None if team is None else team_at(place, team)
    settings = app.load(app.environment())
    for warning in settings.warnings:
        warn(error_text(warning, before="warning: "))
    listener = address.listener()
    token = secrets.token_urlsafe(32)
    names = address.names(listener.getsockname()[1])
    configured = uvicorn.Config(
        web_application(place, settings, token, frozenset(names), secure=address.scheme == "https"),
        log_config=None,
        server_header=False,
        access_log=False,
        proxy_headers=False,
        lifespan="off",
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        # A page that is open keeps its connection, so the end cannot wait for all of them.
        timeout_graceful_shutdown=1,
    )
    _load(configured, address, listener)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    # The part after # stays in the browser: it is in no request and in no log.
    link = f"{address.scheme}://{names[0]}/#token={token}" + (f"&team={name}" if name else "") + more
    return _Page(link, uvicorn.Server(configured), listener)


def _load(configured: uvicorn.Config, address: ListenAddress, listener: socket.socket) -> None:
    try:
        configured.load()
    except OSError as error:
        listener.close()
        reason = getattr(error, "reason", None) or error.strerror or str(error)
        raise BadSettings(
            f"The certificate {address.certificate} with the key {address.key} cannot be used: {reason}",
            "Both must be files in PEM format that you can read.",
        ) from error


def _open(link: str) -> None:
    # Without a screen, a browser in the terminal would be opened, and take the terminal.
    has_screen = sys.platform != "linux" or app.environment().keys() & {"DISPLAY", "WAYLAND_DISPLAY"}
    if not (has_screen and webbrowser.open(link)):
        warn("No browser could be opened. Open the link yourself.")
