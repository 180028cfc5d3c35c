"""deskmate mcp login and logout, as a user types them."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from tests.faces.cli.mcp.test_mcp_commands import User
from tests.mcp.login_server import login_server

pytestmark = pytest.mark.behaviour("mcp-login")
# A browser that follows every redirect.
BROWSER = f'{sys.executable} -c "import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()" %s'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path.resolve())
    with login_server() as url:
        assert user.types("add", "notes", url).code == 0
        yield user


class NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


def where_it_ends(link: str) -> str:
    """Return the address that a browser on another machine ends on."""
    try:
        build_opener(NoRedirect).open(link)
    except HTTPError as error:
        return str(error.headers["location"])
    raise AssertionError("there is no redirect")


def test_a_user_logs_in_uses_the_server_and_logs_out(user: User) -> None:
    refused = user.types("test", "notes")
    assert (refused.code, "it asks for a login. Run: deskmate mcp login notes" in refused.stderr) == (1, True)
    done = user.types("login", "notes", env={"BROWSER": BROWSER})
    assert (done.code, done.stdout.splitlines()[0]) == (0, "logged in: notes"), done.stderr
    assert "notes asks you to log in at 127.0.0.1" in done.stderr
    assert "mcp__notes__echo_token" in user.types("test", "notes").stdout
    assert user.types("logout", "notes").stdout == "logged out: notes\n"
    assert user.types("logout", "notes").stdout == "you were not logged in: notes\n"
    assert "it asks for a login" in user.types("test", "notes").stderr


def test_the_address_can_be_pasted_at_a_terminal(user: User) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "deskmate", "-C", str(user.work), "mcp", "login", "notes", "--no-browser"]
    environ = {**os.environ, "HOME": str(user.home)}
    with subprocess.Popen(
        words, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdout
        assert process.stderr
        link = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+/authorize\S+", line)))
        os.write(ours, f"{where_it_ends(link)}\n".encode())
        said = process.stdout.read()
        process.stderr.read()
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, said.splitlines()[0]) == (0, "logged in: notes")


def test_only_servers_with_an_address_and_without_a_token_take_a_login(user: User) -> None:
    user.types("add", "time", "--", "uvx", "mcp-server-time")
    user.types("add", "keyed", "https://example.org/mcp", "--header", "Authorization: Bearer abc")
    assert "is started on this machine, so there is no login" in user.types("login", "time").stderr
    assert "has a header Authorization" in user.types("login", "keyed").stderr
    assert "There is no MCP server 'nobody'" in user.types("login", "nobody").stderr
