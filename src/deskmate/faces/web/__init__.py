"""The web page: a team in a browser, live.

listen_address  where the page listens, and by which names browsers reach it
web_start       from arguments to exit code
web_server      the routes
request_guard   who may ask: token, Host and Origin, checked before any route
page_files      the files of the page, as they are served and as one file
team_pages      what the routes answer
live            a team as pages see it: read once, and told as changes
team_export     a team as one HTML file
shown_json      items as JSON
markdown_tree   Markdown as a tree of elements, so that the page never handles HTML
page_requests   what the user does on the page, checked and carried out
open_api        the description of the interface for programs

The folder `page` has the page itself: HTML, style, scripts and the libraries they use. It is served as it is, without
a build step.
"""

from contextlib import AbstractContextManager
from pathlib import Path


def serve(
    folder: Path | None,
    team: str | None,
    *,
    port: int,
    opens: bool,
    listen: str | None,
    certificate: Path | None,
    key: Path | None,
    proxy: str | None,
) -> int:
    """Serve the page until Ctrl-C and return the exit code. Raises DeskmateError."""
    _check_installed()
    from deskmate.faces.web.listen_address import LOOPBACK, ListenAddress
    from deskmate.faces.web.web_start import serve_page

    address = ListenAddress(port, listen or LOOPBACK, certificate, key, proxy or "")
    return serve_page(folder, team, address, opens=opens)


def shown_beside(folder: Path | None, team: str | None) -> AbstractContextManager[None]:
    """Return a context in which the page is served beside a conversation. Raises DeskmateError."""
    _check_installed()
    from deskmate.faces.web.web_start import page_beside

    return page_beside(folder, team)


def save(folder: Path | None, team: str | None, file: str) -> int:
    """Write a team as a page into a new file, or to stdout for `-`. Return the exit code. Raises DeskmateError."""
    _check_installed()
    from deskmate.faces.web.team_export import save_page

    return save_page(folder, team, file)


def _check_installed() -> None:
    from deskmate.errors import BadSettings
    from deskmate.queries.installation import Installation, has_web_page

    if not has_web_page():
        command = Installation.current().command_for_all
        raise BadSettings("The web page is not installed", f"To install it, run: {command}")
