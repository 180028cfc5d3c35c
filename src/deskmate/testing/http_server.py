"""The server under it.

A handler turns a request into a response without waiting. This file moves the bytes. Connections are kept alive, and
streamed bodies are sent chunked.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, TypeAlias

import anyio

MAX_BODY = 32 * 1024 * 1024
_READ = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it arrived, with header names in lower case. `body` is None if it was larger than the cap."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Response:
    """A response, and how sending it goes wrong: after `upto` bytes of the body, `then` happens.

    `streamed`: send it chunked, one chunk per piece. Without `head`, no byte is sent at all.
    """

    status: int
    pieces: Sequence[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = False
    head: bool = True
    upto: int | None = None
    then: Literal["go on", "drop", "stall"] = "go on"
    pause_seconds: float = 0


Handler: TypeAlias = Callable[[HttpRequest], Response]


class HttpServer:
    """Answers requests with a handler, from `start` to `close`."""

    def __init__(self, handler: Handler, port: int = 0, address: str = "127.0.0.1") -> None:
        self._handler, self._port, self._address = handler, port, address
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Start to listen and return the URL."""
        self._server = await asyncio.start_server(self._accept, self._address, self._port, limit=_READ)
        return f"http://{self._address}:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening and cut every connection. Raises what a handler raised."""
        assert self._server, "only what was started can be closed"
        self._server.close()
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Forget a closed connection, but keep one that failed: `close` raises its error."""
        if task.cancelled() or not task.exception():
            self._tasks.discard(task)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _receive(reader):
                response = self._handler(request)
                await _send(writer, response)
                if response.then == "stall":
                    await _until_gone(reader)
                if response.then != "go on" or request.headers.get("connection", "").lower() == "close":
                    return
        except ConnectionError:
            return  # Clients may disconnect at any time.
        finally:
            writer.close()


async def _receive(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Return the next request, or None if the client is gone or the data is not HTTP with a content length."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        if size > MAX_BODY:
            await _skip(reader, size)
        body = await reader.readexactly(size) if size <= MAX_BODY else None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        return None
    return HttpRequest(method, target.partition("?")[0], headers, body)


async def _skip(reader: asyncio.StreamReader, size: int) -> None:
    """Read a body and drop it: a client that is still sending would not see the refusal."""
    while size > 0 and (read := await reader.read(min(size, _READ))):
        size -= len(read)


async def _until_gone(reader: asyncio.StreamReader) -> None:
    while await reader.read(_READ):
        pass


async def _send(writer: asyncio.StreamWriter, response: Response) -> None:
    if not response.head:
        return
    parts = [_head(response), *_framed(response)]
    if not response.pause_seconds:
        parts = [b"".join(parts)]
    for part in parts:
        writer.write(part)
        await writer.drain()
        if response.pause_seconds:
            await anyio.sleep(response.pause_seconds)


def _head(response: Response) -> bytes:
    size = sum(map(len, response.pieces))
    framing = {"transfer-encoding": "chunked"} if response.streamed else {"content-length": str(size)}
    phrase = HTTPStatus(response.status).phrase if response.status in HTTPStatus._value2member_map_ else "Trouble"
    lines = [f"HTTP/1.1 {response.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in (*response.headers.items(), *framing.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _framed(response: Response) -> list[bytes]:
    """Return the body as it is sent, cut off at `upto`."""
    pieces = response.pieces if response.upto is None else _cut(response.pieces, response.upto)
    if not response.streamed:
        return list(pieces)
    end = [b"0\r\n\r\n"] if response.then == "go on" else []
    return [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece] + end


def _cut(pieces: Sequence[bytes], upto: int) -> list[bytes]:
    kept: list[bytes] = []
    for piece in pieces:
        if upto <= 0:
            break
        kept.append(piece[:upto])
        upto -= len(piece)
    return kept
