"""Who may ask: token, Host and Origin, checked before any route as `faces.common.http.request_check` says.

The page itself has no data, so it is served without a token. Everything below `/api/` needs the token in the header
`Authorization`. There is no cookie: browsers send cookies of one port to all ports of a machine, and with every form.
"""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deskmate.faces.common.http.request_check import RequestCheck, RequestFlaw

BODY_CAP = 300 * 1024
_API = "/api/"
_REFUSALS = {
    RequestFlaw.HOST: (403, "This server does not have that name. Open the link that deskmate web printed."),
    RequestFlaw.ORIGIN: (403, "This request comes from another page."),
    RequestFlaw.TOKEN: (401, "The token is missing or wrong. Open the link that deskmate web printed."),
}
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; "
    b"connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class RequestGuard:
    """Passes on only requests that may be answered.

    `scripts`: the hash of the one script inside the page, its import map.
    """

    def __init__(self, inner: ASGIApp, check: RequestCheck, scripts: str) -> None:
        self._inner, self._check = inner, check
        self._headers = [(name, value.replace(b"{scripts}", scripts.encode())) for name, value in _HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it before anything of it is used."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        if refusal is None:
            await self._inner(scope, receive, send_guarded)
        elif scope["type"] == "http":
            status, words = refusal
            await JSONResponse({"error": words}, status)(scope, receive, send_guarded)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason if a request must not be answered."""
        is_api = scope["path"].startswith(_API)
        if flaw := self._check.flaw(scope["headers"], needs_token=is_api):
            return _REFUSALS[flaw]
        if scope["type"] != "http":
            return 403, "There are no web sockets here."
        return _body_refusal(scope["method"], Headers(scope=scope)) if is_api else None


def _body_refusal(method: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
    if method in ("GET", "HEAD"):
        return None
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return 415, "Send JSON, with the header Content-Type: application/json."
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return 411, "Send the header Content-Length."
    if int(length) > BODY_CAP:
        return 413, f"At most {BODY_CAP} bytes can be sent at once."
    return None
