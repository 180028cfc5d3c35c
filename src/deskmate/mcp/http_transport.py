"""A server reached over HTTP, with bounded answers.

The SDK limits single events. Answers in one piece are limited here, before they are in memory.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.mcp.http_route import HttpRoute, RoutedTransport
from deskmate.mcp.message_lines import MOST_BYTES

_CONNECT_SECONDS = 30.0


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, up to a limit."""

    def __init__(self, body: httpx2.AsyncByteStream, tell: Callable[[str], None]) -> None:
        self._body, self._tell = body, tell

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for chunk in self._body:
            left -= len(chunk)
            if left < 0:
                why = f"it sent a message of more than {MOST_BYTES:,} bytes"
                self._tell(why)
                raise httpx2.ReadError(why)
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends requests, and limits every answer that is not a stream of events."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, tell: Callable[[str], None]) -> None:
        self._inner, self._tell = inner, tell

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Nothing is compressed: a short answer could become a long one."""
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the server sent a compressed answer, although none was asked for")
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream, self._tell)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


@asynccontextmanager
async def http_streams(
    entry: ServerEntry, route: HttpRoute, auth: httpx2.Auth | None, tell: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """Connect to a server and yield the streams of its messages. `entry`: with its variables replaced."""
    # Each call has a limit of its own, which stands still while the user is asked for input.
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
    transport = BoundedTransport(RoutedTransport(route), tell)
    async with (
        httpx2.AsyncClient(transport=transport, headers=dict(entry.headers), timeout=timeout, auth=auth) as client,
        streamable_http_client(entry.url, http_client=client, max_sse_event_size=MOST_BYTES) as streams,
    ):
        yield streams
