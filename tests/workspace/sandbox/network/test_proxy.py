"""Through the proxy a command reaches the hosts that are listed; nothing else leads out, and nothing of it is left."""

import os
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from deskmate.errors import BadSettings
from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.sandbox.network.allowed_hosts import allowed
from deskmate.workspace.sandbox.network.proxy import PORT, Proxy

pytestmark = pytest.mark.anyio

FETCH = (
    "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], sys.argv[2:] and b'body' or None).read().decode())"
)
TUNNEL = (
    "import http.client as h, sys; c = h.HTTPConnection('127.0.0.1', 3128); c.set_tunnel(sys.argv[1]); "
    "c.request('GET', '/far'); print(c.getresponse().read().decode())"
)


@pytest.fixture
def online(root: Path, bubblewrap: Sandbox, server: int) -> LocalWorkspace:
    sandbox = replace(bubblewrap, network=(f"127.0.0.1:{server}", "localhost:1"))
    return LocalWorkspace(root, "main", "lead", sandbox=sandbox, grace_seconds=0.3, environ=os.environ)


async def run(workspace: LocalWorkspace, command: str) -> Ran:
    with anyio.fail_after(120):
        return await workspace.run(command, timeout_seconds=60, blob="lead-1-0.txt")


async def test_what_is_listed_is_reached(online: LocalWorkspace, server: int) -> None:
    far = f"127.0.0.1:{server}"
    commands = (
        f'python3 -c "{FETCH}" http://{far}/a?b=c',
        f'python3 -c "{FETCH}" http://{far} post',
        f'python3 -c "{TUNNEL}" {far}',
    )
    assert await run(online, "; ".join(commands)) == Ran(0, f"GET /a?b=c {far}\nPOST / {far} body\nGET /far {far}\n")


async def test_curl_finds_its_way(online: LocalWorkspace, server: int) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    ran = await run(online, f"curl -s http://127.0.0.1:{server}/x; curl -s http://example.org/")
    told = "commands may not reach example.org: the user can allow it with --network HOST or the setting 'network'"
    assert ran == Ran(0, f"GET /x 127.0.0.1:{server}{told}\n", told)


async def test_nothing_else_leads_out(online: LocalWorkspace, server: int) -> None:
    tries = {
        "another port": f'python3 -c "{FETCH}" http://127.0.0.1:{server + 1}/',
        "another name": f'python3 -c "{TUNNEL}" example.org:443',
        "a name for this machine": f'python3 -c "{FETCH}" http://localhost.localdomain:{server}/',
        "without the proxy": f"exec 3<>/dev/tcp/127.0.0.1/{server}",
        "UDP": "python3 -c \"import socket; socket.socket(2, 2).sendto(b'x', ('192.0.2.1', 53))\"",
        "names": "python3 -c \"import socket; socket.getaddrinfo('example.org', 80)\"",
    }
    command = "; ".join(f"({one}) > /dev/null 2>&1 && echo {name}" for name, one in tries.items())
    ran = await run(online, f"{command}; true")
    assert (ran.exit, ran.output) == (0, "")


async def test_a_name_that_leads_to_this_machine_is_refused(online: LocalWorkspace) -> None:
    ran = await run(online, f'python3 -c "{TUNNEL}" localhost:1')
    assert "403 commands may not reach localhost:1: it leads to" in ran.output


async def test_what_a_command_serves_to_itself_stays_with_it(root: Path, bubblewrap: Sandbox) -> None:
    workspace = LocalWorkspace(
        root, "main", "lead", sandbox=replace(bubblewrap, network=("example.org",)), environ=os.environ
    )
    serve = (
        "import http.server as h; s = h.HTTPServer(('127.0.0.1', 8000), h.BaseHTTPRequestHandler); print(1, flush=True)"
    )
    fetch = "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/')"
    ran = await run(workspace, f'python3 -c "{serve}; s.handle_request()" | (read x; python3 -c "{fetch}")')
    assert "HTTP Error 501" in ran.output


async def test_a_command_has_its_usual_signals_and_nothing_open_besides(online: LocalWorkspace) -> None:
    ran = await run(online, "grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l; cat")
    ours = Path("/proc/self/status").read_text()
    ignored, before = (int(re.findall(r"SigIgn:\t(\w+)", text)[0], 16) for text in (ran.output, ours))
    # It ignores only the signals that the process which started the tests ignores.
    assert (ran.exit, ran.output.splitlines()[1:], ignored & ~before) == (0, ["4"], 0)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


def held() -> tuple[int, int]:
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


async def test_no_thread_and_no_connection_is_left(
    online: LocalWorkspace, server: int, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    await run(online, "true")
    before = await to_thread.run_sync(held)
    hold = (
        f"exec 3<>/dev/tcp/127.0.0.1/{PORT}; printf 'CONNECT 127.0.0.1:{server} HTTP/1.1\\r\\n\\r\\n' >&3; read x <&3"
    )
    # Some go on in the background, unheard.
    assert (await run(online, f"for i in 1 2 3; do ({hold}; sleep 60) & done; {hold}; echo $x")).output == (
        "HTTP/1.1 200 OK\n"
    )
    await to_thread.run_sync(eventually, lambda: held() <= before)


def test_a_list_that_is_none_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"'https://example.org' is not a host"):
        find_sandbox(tmp_path, network=["https://example.org"], environ=os.environ)


def test_where_no_python_can_be_started_inside_there_is_no_list_and_no_waiting(
    tmp_path: Path, bubblewrap: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    found = find_sandbox(bubblewrap.state, network=["example.org"], landlock=False, environ=os.environ)
    assert (found.level, found.reason) == (
        Level.NONE,
        "bubblewrap does not work here: the gate did not listen",
    )


def test_behind_a_fence_a_list_is_off_and_says_so(tmp_path: Path, landlock: Sandbox) -> None:
    found = find_sandbox(tmp_path, network=["example.org"], programs=[], environ=os.environ)
    assert found.level is landlock.level is Level.LANDLOCK
    assert found.reason.endswith("The network is off, because a list of hosts needs bubblewrap")


# -- what a hostile command says to it ------------------------------------------------------------


@contextmanager
def serving(*lines: str) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    with Proxy(allowed(lines)).serving(listener):
        yield port


def asked(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as caller:
        caller.sendall(request)
        caller.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: caller.recv(4096), b""))


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"", b"400"),
        (b"\x16\x03\x01\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", b"400"),
        (b"GET https://example.org/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET ftp://example.org/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://example.org@evil.net/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://evil.net\\@example.org/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http:///example.org HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://evil.net/ HTTP/1.1\r\nHost: example.org\r\n\r\n", b"403"),
        (b"GET HTTP://EVIL.NET#example.org HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT evil.net:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", b"403"),
        (b"CONNECT example.org:22 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT example.org HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT 2130706433:80 HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT example.org:443 HTTP/2\r\n\r\n", b"400"),
        (b"CONNECT  example.org:443 HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://example.org/" + b"a" * 100_000, b"400"),
    ],
)
def test_what_is_not_allowed_or_not_plain_is_refused(request_: bytes, status: bytes) -> None:
    with serving("example.org") as port:
        assert asked(port, request_).split(b" ")[1] == status


def test_a_host_is_told_who_was_asked_for_and_nothing_of_the_proxy(server: int) -> None:
    with serving(f"127.0.0.1:{server}") as port:
        request = f"GET http://127.0.0.1:{server}/x HTTP/1.1\r\nHost: evil.net\r\nProxy-Authorization: x\r\n\r\n"
        assert asked(port, request.encode()).endswith(f"GET /x 127.0.0.1:{server}".encode())


def test_nobody_answers_and_that_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with serving(f"127.0.0.1:{port}") as proxy:
        assert asked(proxy, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode()).split(b"\r\n")[0] == (
            f"HTTP/1.1 502 127.0.0.1:{port} does not answer".encode()
        )
