"""What `deskmate mcp login` and `logout` print, and what the user pastes."""

import os
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio

from deskmate import app
from deskmate.app.parts.http_servers import log_in, log_out
from deskmate.core.mcp.server_logins import shown_host
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.terminal_text import exact
from deskmate.faces.common.text_tables import note, put
from deskmate.trust.approvals import survey

_MOST_BYTES = 64_000


class TerminalPerson:
    """The user who logs in at a server, at a terminal. `opens`: whether to open a browser."""

    def __init__(self, server: str, *, opens: bool) -> None:
        self._server, self._opens = server, opens

    async def open(self, link: str) -> None:
        """Show the link, and open it if there is a browser here."""
        note(f"{self._server} asks you to log in at {exact(shown_host(link))}. Open this link in your browser:")
        note(f"\n  {exact(link)}\n")
        note("Deskmate waits for 5 minutes. If the browser runs on another machine, the login ends there on a page")
        note("that cannot be shown. Then paste the address of that page here and press Enter.")
        if self._opens and _has_browser():
            # Import this only if it is used.
            import webbrowser

            # Some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    async def pasted(self) -> AsyncIterator[str]:
        """Yield each line of stdin."""
        data = b""
        while len(data) <= _MOST_BYTES:
            try:
                await anyio.wait_readable(sys.stdin)
            except (OSError, ValueError):
                # It is an ordinary file, or closed. Then only the browser can end the login.
                return
            if not (chunk := os.read(sys.stdin.fileno(), _MOST_BYTES)):
                return
            *lines, data = (data + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line.decode(errors="replace")

    def tell(self, words: str) -> None:
        """Say what is wrong with what was pasted."""
        note(words)


def _has_browser() -> bool:
    environ = app.environment()
    return sys.platform == "darwin" or any(environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def login(folder: Path | None, name: str, *, opens: bool, port: int, client_id: str) -> int:
    """Log in at a server. Return the exit code."""
    settings = app.load(app.environment())
    with logging_to(note):
        found = survey(folder, settings.state, reads=False)
        person = TerminalPerson(name, opens=opens)
        anyio.run(partial(log_in, found, settings, name, person, port=port, client_id=client_id))
    return put([f"logged in: {name}", f"To try it, run: deskmate mcp test {name}"])


def logout(folder: Path | None, name: str) -> int:
    """Forget the login at a server. Return the exit code."""
    settings = app.load(app.environment())
    with logging_to(note):
        had_one = log_out(survey(folder, settings.state, reads=False), settings, name)
    return put([f"logged out: {name}" if had_one else f"you were not logged in: {name}"])
