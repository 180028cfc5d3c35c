"""Requests over real connections: what is sent, which connection is used, and how a server can fail."""

import asyncio
import gc
import gzip
import re
import warnings
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from deskmate.errors import ModelError, ModelRejected
from deskmate.models.http.connection import Connection
from deskmate.models.http.content_decoding import ContentDecoder
from deskmate.models.http.http_failures import BadAddress, BadResponse, ConnectFailure, HttpFailure, SilenceTimeout
from deskmate.models.http.post_client import PostClient, TimeLimits
from deskmate.models.http.proxy_choice import ProxyChoice
from deskmate.models.wires.http_client import STREAM_CAP, ask, new_client
from deskmate.models.wires.provider_errors import ProviderEndpoint
from tests.models.wires.test_certificates import AUTHORITY
from tests.models.wires.test_certificates import server as secure_server

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("models")]

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
LENGTH = re.compile(rb"content-length: ([0-9]+)")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """One on this machine. `heads` and `bodies`: what it was asked. `connections`: how many it took.

    `answer`: what it sends after each request. `closes`: whether it then closes the connection.
    """

    def __init__(self, answer: bytes = OK, *, closes: bool = False) -> None:
        self.answer, self.closes = answer, closes
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.url = ""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while not reader.at_eof():
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            self.heads.append(head)
            if found := LENGTH.search(head):
                self.bodies.append(await reader.readexactly(int(found[1])))
            await self.reply(reader, writer)
            if self.closes:
                break
        writer.close()

    async def reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.answer)


@asynccontextmanager
async def served(handle: Handler) -> AsyncIterator[str]:
    """Serve on this machine, and yield the address."""
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def posted(client: PostClient, url: str, *body: bytes) -> tuple[int, bytes]:
    """Post, read the answer to its end, and return its status and body."""
    answer = await client.post(url, {"x-one": "1"}, body)
    try:
        whole = b""
        while piece := await answer.read():
            whole += piece
        return answer.head.status, whole
    finally:
        answer.close()


# -- what is sent -----------------------------------------------------------------------------------


async def test_a_request_says_where_it_goes_and_how_long_it_is() -> None:
    server = Server()
    async with served(server.take) as url, new_client() as client:
        assert await posted(client, f"{url}/a b/ü?q=1#part", b"one", b" two") == (200, b"hi")
    (head,) = server.heads
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /a%20b/%C3%BC?q=1 HTTP/1.1"
    assert {f"host: {url.removeprefix('http://')}", "x-one: 1", "content-length: 7"} <= set(lines)
    assert server.bodies == [b"one two"]


async def test_a_name_and_a_password_in_an_address_are_sent() -> None:
    server = Server()
    async with served(server.take) as url, new_client() as client:
        await posted(client, url.replace("://", "://me:p%40ss@"), b"{}")
    assert b"\r\nauthorization: Basic bWU6cEBzcw==\r\n" in server.heads[0]


async def test_a_body_of_megabytes_arrives_whole_although_the_server_reads_slowly() -> None:
    parts = [bytes([number]) * 700_000 for number in range(9)]
    server = Server()
    async with served(server.take) as url, new_client() as client:
        await posted(client, url, *parts)
    assert server.bodies == [b"".join(parts)]


async def test_parts_of_any_size_arrive_in_their_order() -> None:
    sizes = [10, 70_000, 0, 20, 30, 65_500, 2**21, 2**21 + 1, 5]
    parts = [bytes([number]) * size for number, size in enumerate(sizes)]
    server = Server()
    async with served(server.take) as url, new_client() as client:
        for count in range(1, len(parts) + 1):
            await posted(client, url, *parts[:count])
    assert server.bodies == [b"".join(parts[:count]) for count in range(1, len(parts) + 1)]


async def test_more_parts_than_the_kernel_takes_at_once_arrive_in_their_order() -> None:
    parts, read = [b"%07d" % number * 300 for number in range(3_000)], asyncio.Queue[bytes]()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        read.put_nowait(await reader.readexactly(len(b"".join(parts))))

    async with served(take) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
        await connection.send(parts, 10.0)
        whole = await read.get()
        connection.close()
    assert whole == b"".join(parts)


async def test_a_server_that_refuses_before_it_read_everything_is_heard() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await writer.drain()
        # Closing at once would drop the answer, because there is more to read.
        writer.write_eof()
        await reader.read(-1)

    async with served(refuse) as url, new_client() as client:
        assert await posted(client, url, b"x" * 30_000_000) == (413, b"no")


@pytest.mark.parametrize("url", ["api.test/chat", "ftp://api.test", "http://api.test:port", "http://", "https://ü..x"])
async def test_an_address_that_cannot_be_asked_is_refused(url: str) -> None:
    async with new_client() as client:
        with pytest.raises(BadAddress):
            await client.post(url, {}, [b"{}"])


# -- connections --------------------------------------------------------------------------------------


async def test_requests_one_after_another_use_one_connection() -> None:
    server = Server()
    async with served(server.take) as url, new_client() as client:
        for _ in range(3):
            await posted(client, url, b"{}")
    assert (len(server.heads), server.connections) == (3, 1)


async def test_requests_at_the_same_time_use_connections_of_their_own() -> None:
    server = Server()
    async with served(server.take) as url, new_client() as client:
        await asyncio.gather(*(posted(client, url, b"{}") for _ in range(3)))
    assert server.connections == 3


@pytest.mark.parametrize("answer", [OK, OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), OK + b"more"])
async def test_a_connection_that_cannot_be_used_again_is_replaced(answer: bytes) -> None:
    server = Server(answer, closes=answer == OK)
    async with served(server.take) as url, new_client() as client:
        for _ in range(3):
            assert await posted(client, url, b"{}") == (200, b"hi")
    assert server.connections == 3


async def test_an_answer_that_was_not_read_to_its_end_takes_its_connection_with_it() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
    async with served(server.take) as url, new_client() as client:
        for _ in range(2):
            answer = await client.post(url, {}, [b"{}"])
            assert await answer.read() == b"half"
            answer.close()
    assert server.connections == 2


# -- failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"])
async def test_a_server_that_falls_silent_is_given_up(answer: bytes) -> None:
    server = Server(answer)
    async with served(server.take) as url, new_client(silence_seconds=0.05) as client:
        with pytest.raises(SilenceTimeout):
            await posted(client, url, b"{}")
        server.answer = OK
        assert await posted(client, url, b"{}") == (200, b"hi")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", b"nonsense\r\n\r\n"])
async def test_a_server_that_breaks_off_is_a_failure(answer: bytes) -> None:
    async with served(Server(answer, closes=True).take) as url, new_client() as client:
        with pytest.raises(BadResponse):
            await posted(client, url, b"{}")


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    async with served(Server().take) as url:
        pass
    async with new_client() as client:
        with pytest.raises(ConnectFailure, match="Connection refused"):
            await posted(client, url, b"{}")


async def test_a_client_without_certificates_refuses_secure_addresses() -> None:
    async with new_client(secure=False) as client:
        with pytest.raises(BadAddress):
            await posted(client, "https://127.0.0.1:9", b"{}")


# -- answers ------------------------------------------------------------------------------------------


def _packed(encoding: str, data: bytes) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(data, 1)
        case "deflate":
            return zlib.compress(data, 1)
        case _:
            raw = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
            return raw.compress(data) + raw.flush()


def _answer(encoding: str, data: bytes) -> bytes:
    packed = _packed(encoding, data)
    name = encoding.removeprefix("raw ")
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {name}\r\ncontent-length: {len(packed)}\r\n\r\n"
    return head.encode() + packed


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_an_answer_that_the_server_compressed_is_unpacked(encoding: str) -> None:
    data = bytes(range(256)) * 20_000
    async with served(Server(_answer(encoding, data)).take) as url, new_client() as client:
        assert await posted(client, url, b"{}") == (200, data)


async def test_an_answer_that_cannot_be_unpacked_is_a_failure() -> None:
    server = Server(_answer("gzip", b"").replace(b"gzip", b"br"))
    async with served(server.take) as url, new_client() as client:
        with pytest.raises(BadResponse, match="'br'"):
            await posted(client, url, b"{}")
        server.answer = OK.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
        with pytest.raises(BadResponse):
            await posted(client, url, b"{}")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_what_unpacks_without_end_is_not_unpacked_for_ever(encoding: str) -> None:
    flood = (b": " + b"0" * 1_000_000 + b"\n") * (2 * STREAM_CAP // 1_000_000)
    async with served(Server(_answer(encoding, flood)).take) as url, new_client() as client:
        with pytest.raises(ModelRejected, match=f"sent more than {STREAM_CAP >> 20} MB"):
            await anext(ask(client, ProviderEndpoint("acme:large", url, ""), {}, [b"{}"]))


# -- proxies ----------------------------------------------------------------------------------------


async def test_a_proxy_is_asked_for_the_whole_address() -> None:
    proxy = Server()
    async with served(proxy.take) as url:
        environ = {"HTTP_PROXY": url.replace("://", "://me:secret@")}
        async with new_client(environ=environ) as client:
            assert await posted(client, "http://api.test:81/chat", b"{}") == (200, b"hi")
    (head,) = proxy.heads
    assert head.startswith(b"POST http://api.test:81/chat HTTP/1.1\r\nhost: api.test:81\r\n")
    assert b"\r\nproxy-authorization: Basic bWU6c2VjcmV0\r\n" in head


class Tunnel(Server):
    """A proxy that leads on to the host that it is asked for."""

    async def reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = self.heads[-1].split()[1].decode()
        host, _, port = place.rpartition(":")
        there, onward = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, onward), _copy(there, writer), return_exceptions=True)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
    target.close()


async def test_a_secure_server_is_asked_through_a_tunnel_and_its_certificate_is_checked(tmp_path: Path) -> None:
    proxy = Tunnel()
    async with served(proxy.take) as way, secure_server() as url:
        environ = {"HTTPS_PROXY": way.replace("://", "://me:secret@"), "SSL_CERT_FILE": str(AUTHORITY)}
        async with new_client(environ=environ) as client:
            assert (await posted(client, url, b"{}"))[1] == b"data: hello\n\n"
        # An empty folder: no authority is trusted.
        environ = {"HTTPS_PROXY": way, "SSL_CERT_DIR": str(tmp_path)}
        async with new_client(environ=environ) as client:
            with pytest.raises(ConnectFailure, match="certificate"):
                await posted(client, url, b"{}")
    place = url.removeprefix("https://")
    assert proxy.heads[0].startswith(f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n".encode())
    assert b"\r\nproxy-authorization: Basic bWU6c2VjcmV0\r\n" in proxy.heads[0]


async def test_a_proxy_that_refuses_is_named() -> None:
    proxy = Server(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
    async with served(proxy.take) as url, new_client(environ={"ALL_PROXY": url}) as client:
        with pytest.raises(HttpFailure, match="the proxy answered: 407 Proxy Authentication Required"):
            await posted(client, "https://api.test", b"{}")
        with pytest.raises(ModelError, match="the proxy answered"):
            await anext(ask(client, ProviderEndpoint("acme:large", "https://api.test", ""), {}, [b"{}"]))


# -- what is left open ------------------------------------------------------------------------------


async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(-1)


@pytest.mark.parametrize("turns", range(25))
async def test_a_request_that_is_cancelled_at_any_moment_leaves_no_socket_open(turns: int) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        async with served(keep_silent) as url, new_client(secure=False) as client:
            asking = asyncio.ensure_future(client.post(url, {}, [b"{}"]))
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        del asking
        gc.collect()
    assert [str(warning.message) for warning in warned] == []


async def test_a_connection_that_is_free_only_after_the_client_was_closed_is_closed_too() -> None:
    has_ended = asyncio.Event()

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.read(-1)
        has_ended.set()

    async with served(answer_once) as url:
        async with new_client(secure=False) as client:
            answer = await client.post(url, {}, [])
            assert await answer.read() == b"hi"
        answer.close()
        with anyio.fail_after(5):
            await has_ended.wait()


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_bytes_after_a_compressed_answer_are_a_failure_and_not_kept(encoding: str) -> None:
    decoder = ContentDecoder(encoding)
    decoder.feed(_packed(encoding, b"hi"))
    assert decoder.read() == b"hi"
    decoder.feed(b"more")
    with pytest.raises(BadResponse):
        decoder.read()


async def test_deflate_without_its_first_bytes_is_unpacked_wherever_it_is_cut() -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    raw = packer.compress(b"hello " * 50) + packer.flush()
    for cut in range(1, len(raw)):
        decoder = ContentDecoder("deflate")
        whole = b""
        for piece in (raw[:cut], raw[cut:]):
            decoder.feed(piece)
            while part := decoder.read():
                whole += part
        assert whole == b"hello " * 50


async def test_connections_to_a_server_that_nobody_asks_any_more_make_room() -> None:
    first, second = Server(), Server()
    async with served(first.take) as one, served(second.take) as other, new_client(secure=False) as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(posted, client, one)
        for _ in range(5):
            await posted(client, other)
    assert second.connections == 1


async def test_a_connection_whose_transport_has_no_socket_any_more_is_not_used_again() -> None:
    class Reset(asyncio.Transport):
        def get_write_buffer_size(self) -> int:
            return 0

        def is_closing(self) -> bool:
            return False

    connection = Connection()
    connection.connection_made(Reset())
    assert not connection.is_ready


async def test_a_header_with_a_line_end_is_not_sent() -> None:
    server = Server()
    async with served(server.take) as url, new_client(secure=False) as client:
        with pytest.raises(BadAddress):
            await client.post(url, {"x": "1\r\nhost: evil.example"}, [b""])
    assert server.heads == []


async def test_an_early_answer_is_heard_although_the_server_takes_no_more() -> None:
    answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        await anyio.sleep_forever()

    limits = TimeLimits(connect=5, silence=5, write=0.2)
    async with served(refuse) as url, PostClient(limits, ProxyChoice({}), None) as client:
        assert await posted(client, url, b"x" * 30_000_000) == (413, b"no")


async def test_a_proxy_with_a_certificate_is_checked_although_the_model_needs_none() -> None:
    server = Server()
    async with served(server.take) as url:
        environ = {"HTTP_PROXY": url.replace("http://", "https://")}
        async with new_client(secure=False, environ=environ) as client:
            with pytest.raises(ConnectFailure):
                await client.post("http://model.example/", {}, [b""])
