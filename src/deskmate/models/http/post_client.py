"""Posts bodies, through proxies, over connections that are used again. It follows no redirects and keeps no cookies."""

import asyncio
import os
import socket
import ssl
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, Self
from urllib.parse import quote, urlsplit

import anyio

from deskmate.core.values import frozen
from deskmate.models.http.address_race import connected_socket
from deskmate.models.http.connection import Connection
from deskmate.models.http.content_decoding import ContentDecoder
from deskmate.models.http.http_failures import BadAddress, ConnectFailure, ConnectTimeout, HttpFailure, SilenceTimeout
from deskmate.models.http.proxy_choice import ProxyChoice, ProxyServer, basic
from deskmate.models.http.response_reader import ResponseHead, ResponseReader

_PORTS = {"http": 80, "https": 443}
# What an address may contain as it is. The rest is escaped.
_SAFE = "/?:@!$&'()*+,;=-._~%[]"
# Parts go out together up to this size.
_SMALL = 64 * 1024
_OPEN_MOST, _IDLE_MOST, _IDLE_SECONDS = 100, 20, 60.0


@frozen
class TimeLimits:
    """How long a client waits, in seconds: for a connection, for a server that sends nothing, or takes nothing."""

    connect: float
    silence: float
    write: float


class Posted(Protocol):
    """An answer that is read as it arrives. Close it in any case: that frees its connection."""

    @property
    def head(self) -> ResponseHead:
        """Status and headers."""

    async def read(self) -> bytes:
        """Return the next part of the body. Empty at its end. Raises HttpFailure."""

    def close(self) -> None:
        """Let go of the connection. It can be used again if the body was read to its end."""


class Poster(Protocol):
    """What models post to providers with."""

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> Posted:
        """Post a body, in parts, and return the answer once it begins. Raises HttpFailure."""


class ServerClient(Poster, Protocol):
    """What servers are asked with, for answers and for what they say of themselves."""

    async def get(self, url: str, headers: Mapping[str, str]) -> Posted:
        """Ask for an address, and return the answer once it begins. Raises HttpFailure."""


class _Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The host as a header names it, with the port if it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def tunnel(self) -> str:
        """The host as CONNECT names it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class PostClient:
    """A client to share between all models of a process. Use it as a context, or its connections stay open.

    `trust`: what servers are checked with. Without it, only http:// addresses can be asked.
    """

    def __init__(self, limits: TimeLimits, proxies: ProxyChoice, trust: ssl.SSLContext | None) -> None:
        self.limits = limits
        self._proxies, self._trust = proxies, trust
        self._idle: dict[_Origin, list[Connection]] = defaultdict(list)
        self._turns = asyncio.Semaphore(_OPEN_MOST)
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> "ArrivingAnswer":
        """Post a body, in parts, and return the answer once it begins. Raises HttpFailure."""
        size = str(sum(map(len, body)))
        return await self._ask("POST", url, {**headers, "content-length": size}, body)

    async def get(self, url: str, headers: Mapping[str, str]) -> "ArrivingAnswer":
        """Ask for an address, and return the answer once it begins. Raises HttpFailure."""
        return await self._ask("GET", url, headers, ())

    async def _ask(self, method: str, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> "ArrivingAnswer":
        origin, target, own = _parsed(url)
        proxy = self._proxies.of(*origin)
        if proxy and origin.scheme == "http":
            target, own = f"http://{origin.authority}{target}", {**own, **proxy.headers}
        head = _head(f"{method} {target}", {"host": origin.authority, **headers, **own})
        parts = [*_joined([head, *body])]
        await self._wait_for_turn()
        connection = None
        try:
            connection = self._kept(origin) or await self._connect(origin, proxy)
            await connection.send(parts, self.limits.write)
            answer = ArrivingAnswer(self, origin, connection)
            await answer.begin()
        except BaseException:
            if connection:
                connection.close()
            self._turns.release()
            raise
        return answer

    async def _wait_for_turn(self) -> None:
        if not self._turns.locked():
            await self._turns.acquire()
            return
        with anyio.move_on_after(self.limits.silence):
            await self._turns.acquire()
            return
        raise SilenceTimeout

    def give_back(self, origin: _Origin, connection: Connection, *, keeps: bool) -> None:
        """Take a connection back that an answer has used."""
        self._turns.release()
        if not keeps or self._is_closed:
            connection.close()
            return
        if sum(map(len, self._idle.values())) >= _IDLE_MOST:
            self._close_oldest()
        connection.used_at = asyncio.get_running_loop().time()
        self._idle[origin].append(connection)

    def _close_oldest(self) -> None:
        """Make room for a connection. Those to servers that nobody asks any more would keep it for ever."""
        origin = min((one for one, idle in self._idle.items() if idle), key=lambda one: self._idle[one][0].used_at)
        self._idle[origin].pop(0).close()

    def _kept(self, origin: _Origin) -> Connection | None:
        """Return the connection that was used last, if one can be used again. Close those that cannot."""
        now, idle = asyncio.get_running_loop().time(), self._idle[origin]
        while idle:
            connection = idle.pop()
            if connection.is_ready and now - connection.used_at < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _connect(self, origin: _Origin, proxy: ProxyServer | None) -> Connection:
        first = _Origin(proxy.scheme, proxy.host, proxy.port) if proxy else origin
        try:
            with anyio.fail_after(self.limits.connect):
                connection = await self._open(first)
                if proxy and origin.scheme == "https":
                    await self._tunnel(connection, origin, proxy)
                return connection
        except TimeoutError as error:
            raise ConnectTimeout from error
        except OSError as error:
            raise ConnectFailure(_reason(error)) from error
        except UnicodeError as error:
            raise BadAddress(f"'{first.host}' is not the name of a host") from error

    async def _open(self, origin: _Origin) -> Connection:
        is_secure = origin.scheme == "https"
        trust = self._trust_in(origin) if is_secure else None
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection,
            sock=await connected_socket(origin.host, origin.port),
            ssl=trust,
            server_hostname=origin.host if is_secure else None,
        )
        return connection

    async def _tunnel(self, connection: Connection, origin: _Origin, proxy: ProxyServer) -> None:
        """Continue on a connection to a proxy as if it led to the origin."""
        try:
            lines = {"host": origin.tunnel, **proxy.headers}
            await connection.send([_head(f"CONNECT {origin.tunnel}", lines)], self.limits.write)
            reader = ResponseReader(tunnels=True)
            while reader.head is None:
                if data := await connection.receive(self.limits.connect):
                    reader.feed(data)
                else:
                    reader.end()
            if not reader.head.is_success:
                raise HttpFailure(f"the proxy answered: {reader.head.status} {reader.head.reason}")
            await connection.start_tls(self._trust_in(origin), origin.host)
        except BaseException:
            connection.close()
            raise

    def _trust_in(self, origin: _Origin) -> ssl.SSLContext:
        if self._trust is None:
            raise BadAddress(f"https://{origin.authority} needs a client that checks certificates")
        return self._trust


class ArrivingAnswer:
    """An answer that arrives on a connection of the client."""

    def __init__(self, client: PostClient, origin: _Origin, connection: Connection) -> None:
        self._client, self._origin, self._connection = client, origin, connection
        self._reader = ResponseReader()
        self._decoder: ContentDecoder | None = None
        self._first = b""
        self._is_closed = False

    @property
    def head(self) -> ResponseHead:
        """Status and headers."""
        assert self._reader.head
        return self._reader.head

    async def begin(self) -> None:
        """Wait for the headers. Raises HttpFailure."""
        while self._reader.head is None:
            self._first = await self._next()
        encoding = self.head.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            self._decoder = ContentDecoder(encoding)

    async def read(self) -> bytes:
        """Return the next part of the body. Empty at its end. Raises HttpFailure."""
        while True:
            if self._decoder and (part := self._decoder.read()):
                return part
            piece, self._first = self._first, b""
            while not piece and not self._reader.is_done:
                piece = await self._next()
            if not piece or self._decoder is None:
                return piece
            self._decoder.feed(piece)

    async def _next(self) -> bytes:
        if data := await self._connection.receive(self._client.limits.silence):
            return self._reader.feed(data)
        self._reader.end()
        return b""

    def close(self) -> None:
        """Let go of the connection. It can be used again if the body was read to its end."""
        if not self._is_closed:
            self._is_closed = True
            keeps = self._reader.is_done and self.head.keeps and not self._reader.rest and self._connection.is_ready
            self._client.give_back(self._origin, self._connection, keeps=keeps)


# A process has few addresses, and one is read for each request.
@lru_cache(maxsize=64)
def _parsed(url: str) -> tuple[_Origin, str, Mapping[str, str]]:
    """Return where an address leads, what to ask for there, and the headers that it stands for. Raises BadAddress."""
    try:
        place = urlsplit(url)
        port = place.port
    except ValueError as error:
        raise BadAddress(str(error)) from error
    if place.scheme not in _PORTS or not place.hostname:
        raise BadAddress(f"'{url}' does not begin with http:// or https:// and a host")
    try:
        host = place.hostname.encode("idna").decode() if not place.hostname.isascii() else place.hostname
    except UnicodeError as error:
        raise BadAddress(f"'{place.hostname}' is not the name of a host") from error
    target = quote(place._replace(scheme="", netloc="", fragment="").geturl(), safe=_SAFE)
    own = {} if place.username is None else {"authorization": basic(place.username, place.password)}
    target = target if target.startswith("/") else f"/{target}"
    return _Origin(place.scheme, host, _PORTS[place.scheme] if port is None else port), target, own


def _head(first: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{first} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise BadAddress("a header of a request has a line end in it")
    return head.encode("latin-1")


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield parts. Small ones that follow each other are joined: to send a part costs more than to copy a small one."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        if waiting and size + len(part) > _SMALL:
            yield waiting[0] if len(waiting) == 1 else b"".join(waiting)
            waiting, size = [], 0
        waiting.append(part)
        size += len(part)
    yield waiting[0] if len(waiting) == 1 else b"".join(waiting)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError | socket.gaierror) or not error.errno:
        return str(error)
    # What asyncio writes instead names the address again, as Python does.
    return os.strerror(error.errno)
