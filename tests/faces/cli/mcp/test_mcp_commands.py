"""deskmate mcp: list, add, test, approve, remove."""

import json
import sys
from pathlib import Path

import pytest

from tests.faces.fake_app import Ended, run_command
from tests.mcp.server_harness import HOSTILE

pytestmark = pytest.mark.behaviour("mcp-client")


class User:
    """A user with a home and a workspace of their own. There is no sandbox, so that these tests run anywhere."""

    def __init__(self, place: Path) -> None:
        self.home, self.work = place / "home", place / "work"
        self.work.mkdir()
        self.own = self.home / ".config/deskmate"
        self.own.mkdir(parents=True)
        (self.own / "settings.toml").write_text("sandbox = false\n")

    def types(self, *words: str, env: dict[str, str] | None = None) -> Ended:
        return run_command("-C", str(self.work), "mcp", *words, env={"HOME": str(self.home), **(env or {})})

    def adds(self, name: str, mode: str, *args: str) -> Ended:
        return self.types("add", name, "--", sys.executable, HOSTILE, mode, *args)

    @property
    def added(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = json.loads((self.own / "mcp.json").read_text())["mcpServers"]
        return found


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path.resolve())


def test_without_servers_the_list_says_how_to_add_one(user: User) -> None:
    ended = user.types("list")
    assert (ended.code, ended.stdout) == (0, "")
    assert "deskmate mcp add" in ended.stderr


def test_a_server_is_added_listed_and_removed(user: User) -> None:
    words = ("add", "time", "--env", "A=b", "--timeout", "5", "--network", "--", "uvx", "--verbose", "mcp-server-time")
    assert user.types(*words).code == 0
    assert user.added["time"] == {
        "command": "uvx",
        "args": ["--verbose", "mcp-server-time"],
        "env": {"A": "b"},
        "network": True,
        "timeout": 5000,
    }
    assert (user.own / "mcp.json").stat().st_mode & 0o777 == 0o600
    assert "uvx --verbose mcp-server-time" in user.types("list").stdout
    assert user.types("remove", "time").code == 0
    assert user.added == {}


def test_a_url_is_added_with_its_headers(user: User) -> None:
    assert user.types("add", "docs", "https://example.org/mcp", "--header", "X-Key: abc").code == 0
    assert user.added["docs"] == {"type": "http", "url": "https://example.org/mcp", "headers": {"X-Key": "abc"}}


@pytest.mark.parametrize(
    "words",
    [
        ("add", "two words", "--", "a"),
        ("add", "web", "http://example.org"),
        ("add", "web", "https://example.org", "--env", "A=b"),
        ("add", "local", "--header", "A: b", "--", "a"),
        ("add", "local", "--env", "novalue", "--", "a"),
        ("remove", "nobody"),
        ("test", "nobody"),
        ("approve", "nobody"),
    ],
)
def test_a_mistake_is_refused_and_nothing_is_written(user: User, words: tuple[str, ...]) -> None:
    assert user.types(*words).code == 2
    assert not (user.own / "mcp.json").exists()


def test_a_name_that_is_taken_is_refused(user: User) -> None:
    user.adds("hostile", "plain")
    before = user.added
    assert user.adds("hostile", "dies").code == 2
    assert user.added == before


def test_a_trial_lists_the_tools_and_leaves_nothing_in_the_workspace(user: User) -> None:
    user.adds("hostile", "plain")
    ended = user.types("test", "hostile")
    assert ended.code == 0
    assert "mcp__hostile__echo" in ended.stdout
    assert list(user.work.iterdir()) == []


def test_a_trial_of_a_server_that_does_not_start_says_why(user: User) -> None:
    user.types("add", "gone", "--", "/nowhere/server")
    ended = user.types("test", "gone")
    assert ended.code == 1
    assert "/nowhere/server" in ended.stderr


def test_what_changed_is_shown_and_approved(user: User, tmp_path: Path) -> None:
    file = tmp_path / "tools"
    file.write_text("echo|Say it again.\n")
    user.adds("hostile", "plain", str(file))
    assert user.types("test", "hostile").code == 0
    file.write_text("echo|Say it never.\n")
    assert "1 changed: echo" in user.types("test", "hostile").stderr
    assert user.types("approve", "hostile").code == 2
    shown = user.types("approve", "hostile", "--yes")
    assert shown.code == 0
    assert "+ Say it never." in shown.stdout
    assert "changed" not in user.types("test", "hostile").stderr


def test_servers_of_the_workspace_are_listed_once_they_are_trusted(user: User) -> None:
    (user.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"gh": {"command": "gh", "env": {"K": "${KEY}"}}}}))
    ended = user.types("list")
    assert "not used, because you have not trusted it: .mcp.json" in ended.stderr
    env = {"HOME": str(user.home)}
    shown = run_command("-C", str(user.work), "trust", "--yes", env=env).stdout
    assert "the MCP server gh starts: gh" in shown
    assert "asks for the variable KEY, which it does not get" in shown
    assert ".mcp.json" in user.types("list").stdout


def test_a_settings_file_with_a_wrong_server_is_refused_with_the_place(user: User) -> None:
    (user.own / "settings.toml").write_text('[mcp.it]\ncommand = ["a"]\n')
    ended = user.types("list")
    assert ended.code == 2
    assert "mcp.it.command" in ended.stderr


@pytest.mark.parametrize("command", ["test", "login", "logout"])
def test_a_server_in_a_file_that_is_not_trusted_yet_is_not_said_to_be_missing(user: User, command: str) -> None:
    (user.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"time": {"command": "uvx"}}}))
    ended = user.types(command, "time")
    assert ended.code == 2
    assert "which you have not trusted\nTo review and trust it, run: deskmate trust" in ended.stderr
