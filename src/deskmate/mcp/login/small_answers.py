"""Requests about a login: only to addresses that may be asked, with short and quick answers.

A server names the addresses, and other servers answer there. All of them may be hostile.
"""

import anyio
import httpx2

from deskmate.core.mcp.server_logins import check_address, shown_host
from deskmate.errors import ToolError

_MOST_BYTES = 256_000
_SECONDS = 30.0


class SmallAnswers(httpx2.AsyncBaseTransport):
    """Sends requests for a login at `server`, an address that the user chose."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, server: str) -> None:
        self._inner, self._server = inner, server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return a complete answer. Raises BadInput for an address that is refused, and ToolError."""
        check_address(str(request.url), self._server, "address that the server named")
        request.headers["accept-encoding"] = "identity"
        host = shown_host(str(request.url))
        with anyio.move_on_after(_SECONDS):
            response = await self._inner.handle_async_request(request)
            try:
                return httpx2.Response(
                    response.status_code, headers=_kept(response.headers), content=await _body(response, host)
                )
            finally:
                with anyio.move_on_after(1, shield=True):
                    await response.aclose()
        raise ToolError(f"{host} did not answer within {_SECONDS:g} s")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def _body(response: httpx2.Response, host: str) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ToolError(f"{host} sent a compressed answer, although none was asked for")
    body = bytearray()
    assert isinstance(response.stream, httpx2.AsyncByteStream), "it came from an asynchronous transport"
    async for chunk in response.stream:
        body += chunk
        if len(body) > _MOST_BYTES:
            raise ToolError(f"{host} sent more than {_MOST_BYTES:,} bytes")
    return bytes(body)


def _kept(headers: httpx2.Headers) -> list[tuple[str, str]]:
    return [
        (name, value) for name, value in headers.multi_items() if name not in ("content-length", "transfer-encoding")
    ]
