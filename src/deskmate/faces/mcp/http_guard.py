"""Who may send requests to the server over HTTP: see `faces.common.http.request_check`."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from deskmate.faces.common.http.request_check import RequestCheck, RequestFlaw

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# Every name of this machine that is not also a name elsewhere.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_REFUSALS = {
    RequestFlaw.HOST: (421, "The Host header does not name this server."),
    RequestFlaw.ORIGIN: (403, "Requests from web pages are refused."),
    RequestFlaw.TOKEN: (401, "Send the token in the header: Authorization: Bearer TOKEN"),
}


class HttpGuard:
    """Passes on a request only if it may be served. It answers all others itself, and reads nothing of them."""

    def __init__(self, served: AsgiApp, port: int, token: str) -> None:
        self._served = served
        self._check = RequestCheck(frozenset(f"{name}:{port}" for name in LOOPBACK), token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._served(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif flaw := self._check.flaw(scope["headers"]):
            await _answer(send, *_REFUSALS[flaw])
        else:
            await self._served(scope, receive, send)


async def _answer(send: Send, status: int, reason: str) -> None:
    body = f"{reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
