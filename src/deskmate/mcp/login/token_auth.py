"""Requests with the token of a login, which is renewed if needed. Nobody is ever asked to log in here.

Where tokens are renewed was recorded when the user logged in. Nothing that a server says changes that.
"""

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable
from urllib.parse import quote

import anyio
import httpx2

from deskmate.core.mcp.server_logins import ServerLogin, renewed
from deskmate.errors import BadInput, ToolError
from deskmate.mcp.login.login_store import LoginStore
from deskmate.ports import Clock

Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class TokenAuth(httpx2.Auth):
    """Adds the token to the requests to one server. `send`: sends a request to the authorization server.

    `tell` is called with what to do if the server wants a login that there is not.
    """

    def __init__(self, name: str, store: LoginStore, send: Send, clock: Clock, tell: Callable[[str], None]) -> None:
        self._name, self._store, self._send, self._clock, self._tell = name, store, send, clock, tell
        self._renewing = anyio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token, and again with a new one if the first is refused."""
        login = self._store.load()
        if login and login.has_ended(self._clock.timestamp()):
            login = await self._renew(login)
        response = yield _with_token(request, login)
        if response.status_code == 401 and login and (login := await self._renew(login)):
            response = yield _with_token(request, login)
        if response.status_code == 401:
            what = "it asks for a login" if self._store.load() is None else "your login has ended"
            self._tell(f"{what}. Run: deskmate mcp login {self._name}")
        elif response.status_code == 403 and "insufficient_scope" in response.headers.get("www-authenticate", ""):
            self._tell(f"it wants more rights than your login has. Run: deskmate mcp login {self._name}")

    async def _renew(self, old: ServerLogin) -> ServerLogin | None:
        """Return a login with another token than the old one, None if only the user can get one."""
        async with self._renewing, self._store.locked():
            login = self._store.load()
            # Another process, or the user, was faster.
            if login is None or login.access_token != old.access_token:
                return login
            if not login.refresh_token:
                return None
            response = await self._send(_renewal(login))
            if response.status_code >= 500:
                raise ToolError(f"the login could not be renewed, status {response.status_code}. Try again later")
            if response.status_code != 200:
                return None
            try:
                login = renewed(login, response.content, self._clock.timestamp())
            except BadInput:
                return None
            self._store.save(login)
            return login


def _with_token(request: httpx2.Request, login: ServerLogin | None) -> httpx2.Request:
    if login:
        request.headers["authorization"] = f"Bearer {login.access_token}"
    return request


def _renewal(login: ServerLogin) -> httpx2.Request:
    form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token, "client_id": login.client_id}
    headers = {}
    if login.resource:
        form["resource"] = login.resource
    if login.client_secret and login.auth_method == "client_secret_basic":
        pair = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif login.client_secret:
        form["client_secret"] = login.client_secret
    return httpx2.Request("POST", login.token_url, data=form, headers=headers)
