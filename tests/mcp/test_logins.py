"""Logins at servers over HTTP: honest and hostile authorization servers, renewal, and what agents cannot see."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import anyio
import httpx2
import pytest

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_logins import ServerLogin
from deskmate.errors import BadSettings, DeskmateError, ToolError
from deskmate.mcp.http_route import RoutedTransport
from deskmate.mcp.http_transport import http_streams
from deskmate.mcp.login.login_flow import log_in
from deskmate.mcp.login.login_store import LoginStore
from deskmate.mcp.login.small_answers import SmallAnswers
from deskmate.mcp.login.token_auth import TokenAuth
from deskmate.mcp.team_servers import TeamServers
from deskmate.runtime.system_clock import SystemClock
from tests.mcp.login_server import login_server
from tests.mcp.server_harness import DIRECT, ServerHarness, running

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-login")]
Serve = Callable[[str], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server with a flaw, and return its URL."""
    with ExitStack() as started:
        yield lambda flaw: started.enter_context(login_server(flaw))


@dataclass
class Browser:
    """A person whose browser opens the link. `pastes`: they paste where it ends instead."""

    pastes: bool = False
    opened: list[str] = field(default_factory=list)
    ended: str = ""
    told: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda link: None

    async def open(self, link: str) -> None:
        self.opened.append(link)
        async with httpx2.AsyncClient() as client:
            self.ended = (await client.get(link)).headers["location"]
        self.before(self.ended)

    async def pasted(self) -> AsyncIterator[str]:
        if self.pastes:
            yield "what is this?"
            yield self.ended
        else:
            async with httpx2.AsyncClient() as client:
                await client.get(self.ended)
        await anyio.sleep_forever()

    def tell(self, words: str) -> None:
        self.told.append(words)


@dataclass
class Place:
    """A server, and where its login is kept."""

    folder: Path
    url: str

    @property
    def entry(self) -> ServerEntry:
        return ServerEntry("notes", "here", url=self.url)

    @property
    def store(self) -> LoginStore:
        return LoginStore(self.folder / "state", "key", self.url, self.folder / "work")

    async def log_in(self, person: Browser | None = None) -> ServerLogin:
        login = await log_in(self.entry, DIRECT, person or Browser())
        self.store.save(login)
        return login

    def servers(self) -> TeamServers:
        """Return the server as a team uses it."""

        async def send(request: httpx2.Request) -> httpx2.Response:
            async with SmallAnswers(RoutedTransport(DIRECT), self.url) as transport:
                return await transport.handle_async_request(request)

        def make(entry: ServerEntry, folder: Path) -> Any:
            return lambda tell: http_streams(
                entry, DIRECT, TokenAuth("notes", self.store, send, SystemClock(), tell), tell
            )

        def secrets_of(entry: ServerEntry) -> dict[str, str]:
            login = self.store.load()
            return {f"login {at}": one for at, one in enumerate(login.secrets())} if login else {}

        return TeamServers(
            [self.entry], make, secrets_of=secrets_of, state=self.folder / "state", folder=self.folder / "work",
            records=self.folder / "work", team="main", clock=SystemClock(), version="0",
        )  # fmt: skip

    async def call(self) -> str:
        """Call the tool of the server as a team does."""
        servers = self.servers()
        async with running(servers):
            await servers.connect("notes")
            return (await ServerHarness(self.folder).call(servers, "echo_token")).text

    def ask(self, path: str) -> Any:
        """Ask the server for one of its paths for tests."""
        with urlopen(self.url.replace("/mcp", path)) as answer:
            return json.load(answer)


@pytest.fixture
def place(tmp_path: Path, serve: Serve) -> Callable[[str], Place]:
    return lambda flaw: Place(tmp_path, serve(flaw))


async def test_a_login_with_the_browser_is_used_for_calls(place: Callable[[str], Place]) -> None:
    here = place("")
    await here.log_in()
    # The server shows the token. The result does not.
    assert "Bearer [redacted: login 0]" in await here.call()


async def test_a_pasted_address_ends_the_login(place: Callable[[str], Place]) -> None:
    here, person = place(""), Browser(pastes=True)
    await here.log_in(person)
    assert "Bearer" in await here.call()
    assert "must contain /callback?code=" in person.told[0]


async def test_without_a_login_the_error_says_how_to_log_in(place: Callable[[str], Place]) -> None:
    with pytest.raises(ToolError, match=r"it asks for a login\. Run: deskmate mcp login notes"):
        await place("").call()


async def test_a_refused_token_is_renewed(place: Callable[[str], Place]) -> None:
    here = place("")
    before = await here.log_in()
    here.ask("/test/end-access")
    assert "Bearer" in await here.call()
    after = here.store.load()
    assert after
    assert {after.access_token, after.refresh_token}.isdisjoint({before.access_token, before.refresh_token})


async def test_many_who_renew_at_once_renew_once(place: Callable[[str], Place]) -> None:
    here = place("")
    await here.log_in()
    here.ask("/test/end-access")
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(here.call)
    assert here.ask("/test/renewals") == 1


async def test_a_login_that_has_ended_is_said_to_have_ended(place: Callable[[str], Place]) -> None:
    here = place("")
    await here.log_in()
    here.ask("/test/end-all")
    with pytest.raises(ToolError, match=r"your login has ended\. Run: deskmate mcp login notes"):
        await here.call()


async def test_a_login_is_in_a_file_that_only_the_user_reads(place: Callable[[str], Place]) -> None:
    here = place("")
    await here.log_in()
    [file] = (here.folder / "state/mcp-logins").glob("*.json")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o644)
    assert here.store.load() is None


async def test_a_login_is_only_for_its_address(place: Callable[[str], Place]) -> None:
    here = place("")
    await here.log_in()
    assert (
        LoginStore(here.folder / "state", "key", "https://elsewhere.example/mcp", here.folder / "work").load() is None
    )


async def test_a_login_in_the_workspace_is_refused(tmp_path: Path) -> None:
    store = LoginStore(tmp_path / "state", "key", "https://a.example/mcp", tmp_path)
    with pytest.raises(BadSettings, match="agents could read the login"):
        store.check()


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("wrong-iss", "iss mismatch"),
        ("other-issuer", "issuer mismatch"),
        ("plain-link", "not encrypted"),
        ("password-link", "not an ordinary https:// address"),
        ("plain-token", "not encrypted"),
        ("no-pkce", "does not support PKCE"),
        ("endless", "sent more than 256,000 bytes"),
        ("bad-token", "cannot be used"),
        ("says-no", "refused the login: access_denied"),
    ],
)
async def test_a_hostile_authorization_server_gets_no_login(
    place: Callable[[str], Place], flaw: str, said: str
) -> None:
    here = place(flaw)
    with pytest.raises(DeskmateError, match=said):
        await here.log_in()
    assert here.store.load() is None


@pytest.mark.parametrize("flaw", ["script-link", "moved"])
async def test_metadata_that_cannot_be_believed_is_not_used(place: Callable[[str], Place], flaw: str) -> None:
    here, person = place(flaw), Browser()
    await here.log_in(person)
    # The addresses that the server has by itself, instead of those that it named.
    assert person.opened[0].startswith(here.url.replace("/mcp", "/authorize?"))


async def test_an_answer_with_another_state_ends_nothing(place: Callable[[str], Place]) -> None:
    here, statuses = place(""), list[int]()

    def forge(ended: str) -> None:
        forged = httpx2.URL(ended).copy_merge_params({"state": "forged", "code": "stolen"})
        with pytest.raises(OSError, match="400"):
            urlopen(str(forged))
        statuses.append(400)

    class Forged(Browser):
        async def pasted(self) -> AsyncIterator[str]:
            await anyio.to_thread.run_sync(forge, self.ended)
            async for text in super().pasted():
                yield text

    await here.log_in(Forged())
    assert statuses == [400]
    assert here.store.load()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
async def test_a_page_with_another_name_cannot_bring_an_answer(place: Callable[[str], Place], host: str) -> None:
    statuses = list[int]()

    class Rebound(Browser):
        async def pasted(self) -> AsyncIterator[str]:
            async with httpx2.AsyncClient() as client:
                statuses.append((await client.get(self.ended, headers={"host": host})).status_code)
            async for text in super().pasted():
                yield text

    await place("").log_in(Rebound())
    assert statuses == [400]


def test_answers_arrive_on_this_machine_only(place: Callable[[str], Place]) -> None:
    person = Browser()
    anyio.run(partial(place("").log_in, person))
    assert person.ended.startswith("http://127.0.0.1:")


async def test_a_server_without_a_login_is_said_to_want_none(tmp_path: Path) -> None:
    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with pytest.raises(DeskmateError, match="asks for no login: it answered with status 200"):
            await log_in(ServerEntry("notes", "here", url=f"http://127.0.0.1:{port}/mcp"), DIRECT, Browser())
        tasks.cancel_scope.cancel()
