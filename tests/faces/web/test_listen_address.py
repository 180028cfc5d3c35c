"""Where the page listens: on this machine, unless it is told otherwise and what is sent is encrypted."""

import os
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from deskmate.errors import BadSettings
from deskmate.faces.web.listen_address import ListenAddress
from tests.faces.disk_teams import at
from tests.faces.fake_app import Env
from tests.models.wires.test_certificates import AUTHORITY, CERTIFICATES

pytestmark = pytest.mark.behaviour("web-safe")

PAIR = CERTIFICATES / "server.pem"
SOON = 60


@pytest.mark.parametrize(
    ("address", "names"),
    [
        (ListenAddress(), ("127.0.0.1:7", "localhost:7")),
        (ListenAddress(listen="::1"), ("[::1]:7", "localhost:7")),
        (ListenAddress(listen="10.1.2.3", certificate=PAIR, key=PAIR), ("10.1.2.3:7",)),
        (
            ListenAddress(listen="0.0.0.0", certificate=PAIR, key=PAIR),
            (f"{socket.gethostname().lower()}:7", "localhost:7", "127.0.0.1:7"),
        ),
        (ListenAddress(proxy="https://Desk.example.com"), ("desk.example.com",)),
        (ListenAddress(proxy="https://desk.example.com:8443/"), ("desk.example.com:8443",)),
        (ListenAddress(proxy="https://desk.example.com:443"), ("desk.example.com",)),
    ],
)
def test_the_page_answers_only_under_the_names_by_which_it_is_reached(
    address: ListenAddress, names: tuple[str, ...]
) -> None:
    address.check()
    assert address.names(7) == names


def test_browsers_leave_out_the_port_that_everybody_uses() -> None:
    assert ListenAddress(listen="10.1.2.3", certificate=PAIR, key=PAIR).names(443) == ("10.1.2.3",)
    assert ListenAddress().names(80) == ("127.0.0.1", "localhost")


@pytest.mark.parametrize(
    "address",
    [
        ListenAddress(listen="0.0.0.0"),
        ListenAddress(listen="10.1.2.3"),
        ListenAddress(listen="::"),
        ListenAddress(listen="evil.example"),
        ListenAddress(certificate=PAIR),
        ListenAddress(key=PAIR),
        ListenAddress(proxy="http://desk.example.com"),
        ListenAddress(proxy="https://"),
        ListenAddress(proxy="https://me@desk.example.com"),
        ListenAddress(proxy="https://desk.example.com/page"),
        ListenAddress(proxy="https://desk.example.com?x"),
        ListenAddress(listen="0.0.0.0", proxy="desk.example.com"),
    ],
)
def test_another_interface_without_encryption_is_refused(address: ListenAddress) -> None:
    with pytest.raises(BadSettings) as raised:
        address.check()
    assert raised.value.hint


def test_the_command_says_how_to_encrypt(place: Path, env: Env) -> None:
    ended = at(place, "web", "--listen", "0.0.0.0", env=env)
    assert (ended.code != 0, ended.stdout) == (True, "")
    assert "--tls-cert" in ended.stderr
    assert "--proxy" in ended.stderr


def test_a_certificate_that_is_none_is_named(place: Path, env: Env) -> None:
    ended = at(place, "web", "--tls-cert", str(AUTHORITY), "--tls-key", __file__, env=env)
    assert ended.code != 0
    assert "PEM" in ended.stderr


@pytest.mark.behaviour("web")
def test_the_page_is_encrypted_and_warns_if_other_machines_reach_it(place: Path, env: Env) -> None:
    environ = {**os.environ, **{name: value for name, value in env.items() if value is not None}}
    options = ["--listen", "0.0.0.0", "--tls-cert", str(PAIR), "--tls-key", str(PAIR)]
    command = [sys.executable, "-m", "deskmate", "-C", str(place), "web", *options]
    with subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as web:
        try:
            assert web.stdout is not None
            address, _, token = web.stdout.readline().strip().partition("/#token=")
            port = address.rpartition(":")[2]
            trusted = ssl.create_default_context(cafile=str(AUTHORITY))
            headers = {"Authorization": f"Bearer {token}"}
            with httpx2.Client(verify=trusted, headers=headers, base_url=f"https://127.0.0.1:{port}") as client:
                assert client.get("/api/teams").json()["teams"][0]["name"] == "main"
                # Its own pages come with https, and nothing else may ask.
                for origin, status in ((f"https://127.0.0.1:{port}", 200), (f"http://127.0.0.1:{port}", 403)):
                    assert client.get("/api/teams", headers={"Origin": origin}).status_code == status
            with pytest.raises(httpx2.HTTPError):
                httpx2.get(f"http://127.0.0.1:{port}/")
        finally:
            web.terminate()
        _, errors = web.communicate(timeout=SOON)
    assert address.startswith("https://")
    assert "Other machines" in errors
    assert token not in errors
