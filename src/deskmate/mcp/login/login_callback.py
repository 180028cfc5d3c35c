"""Where the browser comes back to after a login: an address that only this machine can reach.

Any page in a browser, and any program here, can send requests to it. So only a request with the state of the login
counts. Everything else is refused, and the login goes on waiting.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.stapled import MultiListener

from deskmate.errors import BadInput, BadSettings, Refused
from deskmate.mcp.login.login_answers import MOST_CHARS, PATH, LoginAnswer, read_answer

HOST = "127.0.0.1"
_SECONDS = 10.0
_MOST_AT_ONCE = 20
_PAGE = "<!doctype html><meta charset=utf-8><title>Deskmate</title><p>{words}"
_HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n"
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n"
)
# Takes the answer, or why there is none.
Take = Callable[[LoginAnswer | Refused], None]


class Listening(Protocol):
    """The address while it is listened on. `url`: the address."""

    @property
    def url(self) -> str: ...

    async def serve(self, state: str, take: Take) -> None:
        """Answer browsers until cancelled. `take` is called with what belongs to the login with this state."""


class _Callback:
    def __init__(self, listener: MultiListener[SocketStream], port: int) -> None:
        self._listener, self._port = listener, port
        self._limit = anyio.CapacityLimiter(_MOST_AT_ONCE)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}{PATH}"

    async def serve(self, state: str, take: Take) -> None:
        async def talk(stream: SocketStream) -> None:
            async with self._limit, stream:
                # A browser may close the connection at any time.
                try:
                    with anyio.move_on_after(_SECONDS):
                        await stream.send(self._answered(await _head(stream), state, take))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                    pass

        await self._listener.serve(talk)

    def _answered(self, head: str, state: str, take: Take) -> bytes:
        try:
            take(read_answer(self._target(head), state))
        except BadInput:
            return _page("400 Bad Request", "This is not an answer to a login that Deskmate waits for.")
        except Refused as error:
            take(error)
            return _page("200 OK", "You are not logged in. You can close this page.")
        return _page("200 OK", "Deskmate has the answer. You can close this page.")

    def _target(self, head: str) -> str:
        """Return what is asked for. Raises BadInput unless a browser asks this address by its own name."""
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        if method != "GET" or hosts != [f"{HOST}:{self._port}"]:
            raise BadInput("This is not a browser that comes back")
        return rest.partition(" ")[0]


async def _head(stream: SocketStream) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
        if len(data) > 2 * MOST_CHARS:
            return ""
    return data.partition(b"\r\n\r\n")[0].decode("latin-1")


def _page(status: str, words: str) -> bytes:
    body = _PAGE.format(words=words).encode()
    return _HEAD.format(status=status, length=len(body)).encode() + body


@asynccontextmanager
async def login_callback(port: int) -> AsyncIterator[Listening]:
    """Listen on a port of this machine, any free one if it is 0. Raises BadSettings if that is not possible."""
    try:
        listener = await anyio.create_tcp_listener(local_host=HOST, local_port=port)
    except OSError as error:
        raise BadSettings(f"Cannot listen on port {port}: {error.strerror}", "Choose another --port.") from error
    async with listener:
        yield _Callback(listener, listener.extra(SocketAttribute.local_port))
