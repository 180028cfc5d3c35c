"""The bytes below a fake provider: connections kept, large bodies refused, nonsense dropped."""

import json
import socket

import anyio
import anyio.abc
import httpx2
import pytest

from deskmate.testing import Say
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.http_server import MAX_BODY, HttpRequest, HttpServer, Response

pytestmark = pytest.mark.anyio

KEY = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


def echo(request: HttpRequest) -> Response:
    words = json.dumps([request.method, request.path, len(request.body or b"")]).encode()
    return Response(200, (words[:3], words[3:]), streamed=request.path == "/streamed")


async def connect(url: str) -> anyio.abc.SocketStream:
    return await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2]))


async def read_to_end(stream: anyio.abc.SocketStream) -> bytes:
    with anyio.fail_after(30):
        return b"".join([chunk async for chunk in stream])


async def test_one_connection_carries_several_requests_until_the_client_closes_it() -> None:
    server = HttpServer(echo)
    async with await connect(await server.start()) as stream:
        await stream.send(b"POST /a?b=c HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi")
        await stream.send(b"GET /streamed HTTP/1.1\r\nConnection: close\r\n\r\n")
        answers = await read_to_end(stream)
    await server.close()
    assert answers == (
        b'HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n["POST", "/a", 2]'
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        b'3\r\n["G\r\n14\r\nET", "/streamed", 0]\r\n0\r\n\r\n'
    )


@pytest.mark.parametrize(
    "words", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"POST / HTTP/1.1\r\n"]
)
async def test_what_is_no_http_is_dropped_without_a_word(words: bytes) -> None:
    server = HttpServer(echo)
    async with await connect(await server.start()) as stream:
        await stream.send(words)
        await stream.send_eof()
        assert await read_to_end(stream) == b""
    await server.close()


async def test_a_server_that_is_closed_listens_no_more() -> None:
    server = HttpServer(echo)
    url = await server.start()
    async with await connect(url) as stream:
        await server.close()
        assert await read_to_end(stream) == b""
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) != 0


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
async def test_a_body_above_the_cap_is_refused_and_the_connection_goes_on(path: str) -> None:
    async with (
        FakeProvider([Say("ok")]) as provider,
        httpx2.AsyncClient(base_url=provider.url, headers=KEY) as client,
    ):
        refused = await client.post(path, content=b"x" * (MAX_BODY + 1))
        answered = await client.post(path, json=BODY)
    assert (refused.status_code, answered.status_code) == (413, 200)
    assert provider.complaints == [f"{path}: the body is larger than {MAX_BODY} bytes"]


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "complaint"),
    [
        ("GET", "/v1/messages", b"", 404, "GET /v1/messages: nothing is here"),
        ("POST", "/v1/models", b"{}", 404, "POST /v1/models: nothing is here"),
        ("POST", "/v1/messages", b"{", 400, "/v1/messages: the body is not JSON"),
        ("POST", "/v1/messages", b"[" * 100_000, 400, "/v1/messages: the body is not JSON"),
    ],
)
async def test_what_is_no_request_of_either_format_is_refused_and_noted(
    method: str, path: str, content: bytes, status: int, complaint: str
) -> None:
    async with FakeProvider([]) as provider, httpx2.AsyncClient(base_url=provider.url) as client:
        assert (await client.request(method, path, content=content)).status_code == status
    assert provider.complaints == [complaint]


async def test_a_request_without_a_key_is_refused_and_noted() -> None:
    async with FakeProvider([]) as provider, httpx2.AsyncClient(base_url=provider.url) as client:
        assert (await client.post("/v1/messages", json=BODY)).status_code == 401
    assert provider.complaints == ["request 0: headers: x-api-key is missing"]
