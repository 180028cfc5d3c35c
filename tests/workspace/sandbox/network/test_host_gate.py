"""A command that needs a host asks for it while it runs, and gets there if somebody says yes."""

import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.sandbox.network.network_words import offline_words

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("network-asks")]

FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"
NAME = "pypi.example"


@dataclass
class Place:
    """A workspace whose commands ask about hosts. `looked`: which names were looked up; each leads to `address`.

    All addresses are of this machine, so they are listed. Only the names must be asked about.
    """

    root: Path
    sandbox: Sandbox
    server: int
    asked: list[str] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)
    address: str = "127.0.0.1"

    def resolve(self, host: str, port: int) -> Sequence[tuple[Any, ...]]:
        self.looked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (self.address, port))]

    async def run(self, command: str, answer: Callable[[str], Awaitable[str]] | None, *, seconds: float = 60.0) -> Ran:
        sandbox = replace(self.sandbox, network=(f"127.0.0.1:{self.server}",), resolve=self.resolve)
        workspace = LocalWorkspace(self.root, "main", "lead", sandbox=sandbox, grace_seconds=0.3, environ=os.environ)

        async def ask(host: str) -> str:
            self.asked.append(host)
            assert answer, "nobody is to be asked"
            return await answer(host)

        with anyio.fail_after(120):
            return await workspace.run(command, timeout_seconds=seconds, blob="lead-1-0.txt", ask_host=ask)

    def fetch(self, host: str = "", path: str = "/") -> str:
        return f'no_proxy= NO_PROXY= python3 -c "{FETCH}" http://{host or f"{NAME}:{self.server}"}{path} 2>&1 | tail -1'


@pytest.fixture
def place(root: Path, bubblewrap: Sandbox, server: int) -> Place:
    return Place(root, bubblewrap, server)


async def yes(host: str) -> str:
    return ""


async def no(host: str) -> str:
    return "the user refused it"


async def test_a_host_that_is_allowed_while_the_command_waits_is_reached(place: Place) -> None:
    ran = await place.run(place.fetch(path="/simple/demo/"), yes)
    assert ran == Ran(0, f"GET /simple/demo/ {NAME}:{place.server}\n")
    assert place.asked == [f"{NAME}:{place.server}"]


async def test_a_refused_host_is_refused_with_the_reason_and_never_looked_up(place: Place) -> None:
    ran = await place.run(place.fetch(), no)
    assert f"commands may not reach {NAME}:{place.server}: the user refused it" in ran.output
    assert ran.ended == f"commands may not reach {NAME}:{place.server}: the user refused it"
    assert place.looked == []


async def test_the_time_of_a_command_stands_still_while_somebody_is_asked(place: Place) -> None:
    async def later(host: str) -> str:
        await anyio.sleep(2.5)
        return ""

    ran = await place.run(place.fetch(), later, seconds=2.0)
    assert (ran.exit, ran.ended) == (0, "")


async def test_a_command_that_is_cut_off_withdraws_its_question(place: Place) -> None:
    begun, withdrawn = anyio.Event(), anyio.Event()

    async def never(host: str) -> str:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        return ""

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(place.run, place.fetch(), never)
        with anyio.fail_after(60):
            await begun.wait()
        tasks.cancel_scope.cancel()
    assert withdrawn.is_set()


@pytest.mark.parametrize(
    "host",
    ["localhost:1", "box.localhost", "printer", "127.0.0.2", "10.0.0.1", "169.254.169.254", "[::1]", "[fe80::1]"],
)
async def test_nobody_is_asked_about_this_machine_and_private_networks(place: Place, host: str) -> None:
    ran = await place.run(place.fetch(host), None)
    assert "it is not public" in ran.output
    assert (place.asked, place.looked) == ([], [])


@pytest.mark.parametrize("address", ["127.0.0.2", "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1"])
async def test_an_allowed_name_that_leads_into_a_private_network_is_refused(place: Place, address: str) -> None:
    place.address = address
    ran = await place.run(place.fetch(), yes)
    assert f"it leads to {address}, which is not public" in ran.output


async def test_a_name_is_looked_up_once_and_that_address_is_used(place: Place) -> None:
    # The second lookup would lead elsewhere, as in an attack with a name that changes.
    await place.run(place.fetch(), yes)
    assert place.looked == [NAME]


async def test_without_a_question_the_sandbox_starts_no_proxy(root: Path, bubblewrap: Sandbox) -> None:
    workspace = LocalWorkspace(root, "main", "lead", sandbox=bubblewrap, environ=os.environ)
    with anyio.fail_after(60):
        ran = await workspace.run('echo "$HTTP_PROXY"', timeout_seconds=60, blob="lead-1-0.txt")
    assert ran == Ran(0, "\n")


@pytest.mark.parametrize(
    ("output", "hosts"),
    [
        ("curl: (6) Could not resolve host: pypi.example", "--network pypi.example"),
        ("npm error request to x failed, reason: getaddrinfo EAI_AGAIN npm.example", "--network npm.example"),
        ("HTTPSConnectionPool(host='pypi.example', port=443): Temporary failure in name resolution", "pypi.example"),
        ("wget: unable to resolve host address ‘a.example’", "--network a.example"),
        ("connect: Network is unreachable", "--network HOST"),
    ],
)
async def test_without_anybody_to_ask_the_model_is_told_which_option_allows_a_host(output: str, hosts: str) -> None:
    assert hosts in offline_words(output)


async def test_other_errors_are_not_taken_for_a_missing_network() -> None:
    assert offline_words("FileNotFoundError: no such file: host='a.example'") == ""
