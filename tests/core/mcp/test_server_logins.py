"""Logins at servers: which addresses a server may name, and tokens as they are stored and renewed."""

import json

import pytest

from deskmate.core.mcp.server_logins import (
    ServerLogin,
    check_address,
    read_login,
    renewed,
    shown_host,
    write_login,
)
from deskmate.errors import BadInput, BadRecord

pytestmark = pytest.mark.behaviour("mcp-login")
AWAY, HERE = "https://tools.example/mcp", "http://localhost:8000/mcp"
LOGIN = ServerLogin(
    url=AWAY, token_url="https://login.example/token", client_id="me", access_token="first", refresh_token="again"
)


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://login.example/authorize",
        "https://trusted.example@evil.example/",
        "https://",
        "https://login.example:port/",
        "https://login.example/\x1b[2J",
        "https://login.example/two words",
        "https://login.example/" + "a" * 9_000,
        "http://127.0.0.1:9/authorize",
        "https://127.0.0.1/authorize",
        "https://localhost/authorize",
        "https://login.localhost./authorize",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/admin",
    ],
)
def test_a_server_elsewhere_names_no_such_address(address: str) -> None:
    with pytest.raises(BadInput):
        check_address(address, AWAY, "page")


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("https://login.example/authorize?a=b", AWAY),
        ("https://8.8.8.8/authorize", AWAY),
        ("http://localhost:9/authorize", HERE),
        ("http://127.0.0.1:9/authorize", HERE),
        ("https://login.example/authorize", HERE),
    ],
)
def test_an_ordinary_address_may_be_named(address: str, server: str) -> None:
    assert check_address(address, server, "page") == address


def test_a_host_with_letters_that_look_like_others_is_written_out() -> None:
    assert shown_host("https://\u0430pple.example/") == "xn--pple-43d.example"


def test_a_login_is_read_as_it_was_written() -> None:
    assert read_login(write_login(LOGIN)) == LOGIN


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"[" * 100_000, write_login(LOGIN.model_copy(update={"version": 2}))]
)
def test_a_file_that_is_no_login_is_refused(data: bytes) -> None:
    with pytest.raises(BadRecord):
        read_login(data)


def test_a_renewed_login_keeps_what_nobody_changed() -> None:
    told = {"access_token": "second", "expires_in": 60}
    assert renewed(LOGIN, json.dumps(told).encode(), 1000.0) == LOGIN.model_copy(
        update={"access_token": "second", "expires_at": 1060.0}
    )


@pytest.mark.parametrize(
    "told",
    [{}, [], "text", {"access_token": 1}, {"access_token": "a\r\nHost: b"}, {"access_token": "a" * 40_000}],
)
def test_an_answer_without_a_usable_token_is_refused(told: object) -> None:
    with pytest.raises(BadInput):
        renewed(LOGIN, json.dumps(told).encode(), 0)


def test_a_token_ends_shortly_before_its_time() -> None:
    login = LOGIN.model_copy(update={"expires_at": 1000.0})
    assert (login.has_ended(900.0), login.has_ended(980.0), LOGIN.has_ended(1e12)) == (False, True, False)
