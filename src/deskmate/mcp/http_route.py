"""How servers over HTTP are reached: directly, or through the proxy that the environment names for their address."""

import ssl
from collections.abc import Callable, Mapping
from typing import Protocol

import httpx2

from deskmate.core.values import frozen

_PORTS = {"http": 80, "https": 443}


class ProxyAddress(Protocol):
    """A proxy: its address, and the headers that it wants."""

    @property
    def scheme(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


@frozen
class HttpRoute:
    """`proxy_of`: returns the proxy for scheme, host and port, if there is one. `trust`: returns what to check servers
    with, and is called only for https://.
    """

    proxy_of: Callable[[str, str, int], ProxyAddress | None]
    trust: Callable[[], ssl.SSLContext]


class RoutedTransport(httpx2.AsyncBaseTransport):
    """Sends each request the way that its address needs."""

    def __init__(self, route: HttpRoute) -> None:
        self._route = route
        self._ways: dict[tuple[str, str], httpx2.AsyncHTTPTransport] = {}
        self._trusted: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        url = request.url
        proxy = self._route.proxy_of(url.scheme, url.host, url.port or _PORTS[url.scheme])
        address = f"{proxy.scheme}://{proxy.host}:{proxy.port}" if proxy else ""
        way = self._ways.get((url.scheme, address))
        if way is None:
            way = self._ways[url.scheme, address] = self._way(url.scheme, address, proxy)
        return await way.handle_async_request(request)

    def _way(self, scheme: str, address: str, proxy: ProxyAddress | None) -> httpx2.AsyncHTTPTransport:
        # Without https, certificates are not loaded.
        trust = self._trust() if "https" in (scheme, proxy.scheme if proxy else "") else _NO_TRUST
        if proxy is None:
            return httpx2.AsyncHTTPTransport(verify=trust)
        wanted = httpx2.Proxy(
            address, headers=dict(proxy.headers), ssl_context=trust if proxy.scheme == "https" else None
        )
        return httpx2.AsyncHTTPTransport(verify=trust, proxy=wanted)

    def _trust(self) -> ssl.SSLContext:
        self._trusted = self._trusted or self._route.trust()
        return self._trusted

    async def aclose(self) -> None:
        """Close the connections."""
        for way in self._ways.values():
            await way.aclose()


# It trusts nobody.
_NO_TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
