"""Configured servers: what files may say, and which variables they get."""

import json

import pytest

from deskmate.core.mcp.server_entries import ServerEntry, check_name, entries_of, read_entry, read_servers
from deskmate.errors import BadInput

pytestmark = pytest.mark.behaviour("mcp-client")


def of_project(**fields: object) -> ServerEntry:
    return read_entry("it", fields, ".mcp.json", of_project=True)


def of_user(**fields: object) -> ServerEntry:
    return read_entry("it", fields, "mcp.json", of_project=False)


def test_a_file_of_claude_code_is_read() -> None:
    data = {
        "mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server"], "env": {"A": "${HOME}"}, "timeout": 5000},
            "docs": {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "y"}},
        }
    }
    found = read_servers(json.dumps(data).encode(), ".mcp.json", of_project=True)
    assert found.problems == ()
    assert found.entries["files"] == ServerEntry(
        "files", ".mcp.json", ("npx", "-y", "server"), {"A": "${HOME}"}, seconds=5.0, of_project=True
    )
    assert found.entries["docs"].url == "https://example.org/mcp"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"command": ""},
        {"command": "a", "url": "https://b"},
        {"command": ["a"]},
        {"command": "a", "args": "b"},
        {"command": "a", "args": ["b\0"]},
        {"command": "a", "env": {"b": 1}},
        {"command": "a", "timeout": -1},
        {"command": "a", "timeout": True},
        {"url": "ftp://example.org"},
        {"url": "http://example.org/mcp"},
        {"url": "https://user:password@example.org"},
        {"type": "sse", "url": "https://example.org"},
        {"type": "carrier-pigeon", "command": "a"},
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        read_entry("it", fields, "x", of_project=False)


@pytest.mark.parametrize("name", ["", "a__b", "-a", "a b", "a/b", "x" * 33, "ä", "a_"])
def test_a_name_that_would_make_tool_names_ambiguous_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        check_name(name)


def test_one_broken_server_does_not_hide_the_others() -> None:
    found = entries_of({"good": {"command": "a"}, "bad": {}}, "x", of_project=False)
    assert (list(found.entries), len(found.problems)) == (["good"], 1)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"mcpServers": []}', b"\xff", b"[" * 100_000])
def test_a_file_of_another_kind_has_no_servers_and_says_so(data: bytes) -> None:
    found = read_servers(data, "x", of_project=True)
    assert (found.entries, len(found.problems)) == ({}, 1)


def test_a_project_chooses_neither_sandbox_nor_network() -> None:
    entry = of_project(command="a", sandbox=False, network=True, per_member=True)
    assert (entry.sandbox, entry.network, entry.per_member) == (True, None, False)
    assert len(entry.flaws) == 3
    own = of_user(command="a", sandbox=False, network=["example.org"], per_member=True)
    assert (own.sandbox, own.network, own.per_member) == (False, ("example.org",), True)


def test_a_project_gets_no_variable_that_the_user_did_not_allow() -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-secret", "HOME": "/home/ada"}
    entry = of_project(command="a", args=["${HOME}"], env={"KEY": "${ANTHROPIC_API_KEY}"})
    assert entry.variables == ("HOME", "ANTHROPIC_API_KEY")
    with pytest.raises(BadInput) as refused:
        entry.expanded(environ, ())
    assert "mcp_variables" in refused.value.hint
    assert entry.expanded(environ, ["ANTHROPIC_API_KEY"]).env == {"KEY": "sk-secret"}


def test_a_default_replaces_a_variable_that_a_project_may_not_read() -> None:
    entry = of_project(url="https://${HOST:-example.org}/mcp", headers={"A": "${TOKEN:-none}"})
    ready = entry.expanded({"HOST": "evil.example", "TOKEN": "secret"}, ())
    assert (ready.url, ready.headers) == ("https://example.org/mcp", {"A": "none"})


def test_an_entry_of_the_user_gets_what_it_names() -> None:
    entry = of_user(command="a", env={"KEY": "${TOKEN}", "LEVEL": "${LEVEL:-info}"})
    assert entry.expanded({"TOKEN": "t"}, ()).env == {"KEY": "t", "LEVEL": "info"}
    with pytest.raises(BadInput):
        entry.expanded({}, ())


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "a", "args": ["b"], "env": {"C": "${D}"}, "timeout": 5000},
        {"command": "a", "sandbox": False, "network": ["example.org"], "per_member": True},
        {"url": "https://example.org", "headers": {"A": "b"}},
    ],
)
def test_what_is_written_is_read_as_the_same(fields: dict[str, object]) -> None:
    entry = of_user(**fields)
    assert of_user(**entry.written) == entry
