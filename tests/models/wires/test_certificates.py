"""People behind a company's proxy: the server's certificate is signed by an authority of the company."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import pytest
from anyio.streams.tls import TLSStream

from deskmate.errors import ModelRejected
from deskmate.models.wires.http_client import ask, new_client
from deskmate.models.wires.provider_errors import ProviderEndpoint, SettingsOrigin

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("models")]
CERTIFICATES = Path(__file__).parent / "certificates"
AUTHORITY = CERTIFICATES / "company-ca.pem"
BODY = b"data: hello\n\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    """Serve one event to every request over TLS, and yield the address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATES / "server.pem")

    async def answer(stream: anyio.abc.ByteStream) -> None:
        # A client that does not trust this server goes away.
        with suppress(ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream):
            async with stream:
                tls = await TLSStream.wrap(stream, ssl_context=context, server_side=True, standard_compatible=False)
                await tls.receive()
                await tls.send(ANSWER)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        yield f"https://127.0.0.1:{port}"
        group.cancel_scope.cancel()


async def events_from(address: str, **environ: str) -> list[str]:
    at = ProviderEndpoint(
        "acme:large", f"{address}/chat", "ACME_API_KEY", origin=SettingsOrigin(address="ACME_BASE_URL")
    )
    async with new_client(environ=environ) as client:
        return [event.data async for event in ask(client, at, {}, [b"{}"])]


async def test_an_authority_in_ssl_cert_file_is_trusted() -> None:
    async with server() as address:
        assert await events_from(address, SSL_CERT_FILE=str(AUTHORITY)) == ["hello"]


async def test_an_authority_in_ssl_cert_dir_is_trusted(tmp_path: Path) -> None:
    # OpenSSL looks for a file that is named after the hash of the authority's name.
    (tmp_path / "8e12cdc3.0").write_bytes(AUTHORITY.read_bytes())
    async with server() as address:
        assert await events_from(address, SSL_CERT_DIR=str(tmp_path)) == ["hello"]


async def test_an_unknown_authority_is_refused_at_once_and_the_message_says_how_to_trust_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    async with server() as address:
        with pytest.raises(ModelRejected, match="SSL_CERT_FILE") as raised:
            await events_from(address)
    assert address in str(raised.value)
    assert "ACME_BASE_URL" in str(raised.value)


async def test_a_certificate_for_another_host_is_refused() -> None:
    async with server() as address:
        with pytest.raises(ModelRejected):
            await events_from(address.replace("127.0.0.1", "127.1"), SSL_CERT_FILE=str(AUTHORITY))
