"""Serve, from options to exit code."""

import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio

from deskmate import app
from deskmate.core.policy.permissions import Mode
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.text_tables import note
from deskmate.faces.mcp.access_token import new_token, token_in
from deskmate.faces.mcp.mcp_server import TeamServer, server_of
from deskmate.faces.mcp.serving import Serving
from deskmate.queries.stream_reader import workspace_at


def carry_out(
    workspace: Path | None,
    flags: Mapping[str, object],
    *,
    http: bool,
    port: int,
    token_file: Path | None,
    read_only: bool,
    answers: bool,
    most_teams: int,
) -> int:
    """Serve until the client leaves or the process is told to stop. Return the exit code. Raises DeskmateError."""
    app.seclude()
    app.raise_open_files(app.environment())
    place = workspace_at(workspace)
    given = {name: value for name, value in flags.items() if value is not None}
    settings = app.load(app.environment(), given)
    if "model" in given:
        # A mistyped model is told now, not to a client that starts a team later.
        app.choose_model(settings)
    for warning in settings.warnings:
        note(error_text(warning, before="deskmate: warning: "))
    widest = settings.permission_mode or Mode.DEFAULT
    serving = Serving(place, given, widest, answers=answers, read_only=read_only, most_teams=most_teams)
    with logging_to(note):
        server = server_of(serving)
        if http:
            return _over_http(server, place, port, token_file)
        if sys.stdin.isatty():
            note(
                "Serving MCP on stdin and stdout, for a program. To stop, press Ctrl-C. See: deskmate mcp serve --help"
            )
        _end_at_interrupt()
        anyio.run(server.run_stdio_async)
        return 0


def _end_at_interrupt() -> None:
    """Let Ctrl-C end this process at once. A thread that waits for stdin would delay an orderly end until stdin ends.

    Nothing is lost: whatever a tool has answered is on disk, and teams run in processes of their own.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _over_http(server: TeamServer, place: Path, port: int, token_file: Path | None) -> int:
    # Imported here because it is slow, and stdio does not need it.
    from deskmate.faces.mcp.loopback import serve_http

    token = token_in(token_file, place) if token_file else new_token()

    def tell(url: str) -> None:
        note(f"Serving MCP at {url}")
        note(f"The token is in {token_file}" if token_file else f"The token of this run is: {token}")
        shown = f"$(cat {shlex.quote(str(token_file))})" if token_file else token
        note(f'Add it to Claude Code: claude mcp add -t http deskmate {url} -H "Authorization: Bearer {shown}"')

    anyio.run(serve_http, server, port, token, tell)
    return 0
