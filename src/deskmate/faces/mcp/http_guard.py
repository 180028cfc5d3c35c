"""Who may send requests to the server over HTTP.

The server listens on this machine only, but web pages in a browser on this machine can reach it too, and a page can
give its own name the address of this machine (DNS rebinding). So before anything else is looked at, a request must
name this server as its host, come from no other page, and have the token in its header.
"""

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# Every name of this machine that is not also a name elsewhere.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class HttpGuard:
    """Passes on a request only if it may be served. It answers all others itself, and reads nothing of them."""

    def __init__(self, served: AsgiApp, port: int, token: str) -> None:
        self._served = served
        self._hosts = {f"{name}:{port}".encode() for name in LOOPBACK}
        self._origins = {b"http://" + host for host in self._hosts}
        self._bearer = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._served(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif refusal := self._refusal(scope["headers"]):
            await _answer(send, *refusal)
        else:
            await self._served(scope, receive, send)

    def _refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal, or None."""
        found: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            found.setdefault(name.lower(), []).append(value)
        hosts, origins, tokens = (found.get(name, []) for name in (b"host", b"origin", b"authorization"))
        # One of each at most: if there are two, this check and what follows might look at different ones.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "The Host header does not name this server."
        if len(origins) > 1 or not self._origins.issuperset(origins):
            return 403, "Requests from web pages are refused."
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._bearer):
            return 401, "Send the token in the header: Authorization: Bearer TOKEN"
        return None


async def _answer(send: Send, status: int, reason: str) -> None:
    body = f"{reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
