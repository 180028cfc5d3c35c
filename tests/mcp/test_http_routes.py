"""The way to a server over HTTP: the proxies and certificates of the environment."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import httpx2
import pytest

from deskmate.mcp.http_route import HttpRoute, RoutedTransport
from deskmate.models.http.proxy_choice import proxies_in
from deskmate.models.http.server_trust import trusted_certificates
from tests.models.http.test_post_client import Server, Tunnel, secure_server, served
from tests.models.wires.test_certificates import AUTHORITY

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("mcp-client")]


async def fetched(url: str, environ: Mapping[str, str]) -> bytes:
    route = HttpRoute(proxies_in(environ).of, partial(trusted_certificates, environ))
    async with httpx2.AsyncClient(transport=RoutedTransport(route)) as client:
        return (await client.post(url, content=b"{}")).content


async def test_a_proxy_is_asked_for_a_server_that_is_not_encrypted() -> None:
    proxy = Server()
    async with served(proxy.take) as way:
        environ = {"HTTP_PROXY": way.replace("://", "://me:secret@")}
        assert await fetched("http://tools.test:81/mcp", environ) == b"hi"
    assert proxy.heads[0].startswith(b"POST http://tools.test:81/mcp HTTP/1.1\r\n")
    assert b"\r\nproxy-authorization: basic bwu6c2vjcmv0\r\n" in proxy.heads[0].lower()


async def test_a_tunnel_leads_to_a_server_and_its_certificate_is_checked(tmp_path: Path) -> None:
    proxy = Tunnel()
    async with served(proxy.take) as way, secure_server() as url:
        environ = {"HTTPS_PROXY": way, "SSL_CERT_FILE": str(AUTHORITY)}
        assert await fetched(url, environ) == b"data: hello\n\n"
        with pytest.raises(httpx2.ConnectError):
            await fetched(url, {"HTTPS_PROXY": way, "SSL_CERT_DIR": str(tmp_path)})
    assert proxy.heads[0].startswith(f"CONNECT {url.removeprefix('https://')} HTTP/1.1\r\n".encode())


async def test_a_host_in_no_proxy_is_asked_directly() -> None:
    proxy = Server()
    async with served(proxy.take) as way, secure_server() as url:
        environ = {"HTTPS_PROXY": way, "NO_PROXY": "127.0.0.1,localhost", "SSL_CERT_FILE": str(AUTHORITY)}
        assert await fetched(url, environ) == b"data: hello\n\n"
    assert proxy.heads == []
