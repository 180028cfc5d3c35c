"""MCP servers over HTTP, and the user's logins at them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.config import Settings, environment
from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_logins import ServerLogin
from deskmate.core.mcp.tool_approvals import approval_key
from deskmate.errors import BadInput, BadSettings, Refused
from deskmate.mcp.login.login_store import LoginStore
from deskmate.ports import Clock
from deskmate.runtime.system_clock import SystemClock
from deskmate.trust.approvals import Survey
from deskmate.trust.configured_servers import server_named

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from deskmate.mcp.http_route import HttpRoute
    from deskmate.mcp.login.login_flow import LoginPerson as LoginPerson


class ServerLogins:
    """The logins at the servers that are used in a folder."""

    def __init__(self, settings: Settings, place: Path, clock: Clock) -> None:
        self._settings, self._place, self._clock = settings, place, clock

    def store(self, entry: ServerEntry, url: str) -> LoginStore:
        """Return where the login at a server is kept. `url`: its address, with variables replaced."""
        return LoginStore(self._settings.state, approval_key(entry, str(self._place)), url, self._place)

    def streams(
        self, entry: ServerEntry, ready: ServerEntry, tell: Callable[[str], None]
    ) -> "AbstractAsyncContextManager[TransportStreams]":
        """Connect to a server, with the user's login. `ready`: the same with variables replaced."""
        # Import this only if it is used.
        import httpx2

        from deskmate.mcp.http_route import RoutedTransport
        from deskmate.mcp.http_transport import http_streams
        from deskmate.mcp.login.small_answers import SmallAnswers
        from deskmate.mcp.login.token_auth import TokenAuth

        route = http_route()
        if has_token(ready):
            return http_streams(ready, route, None, tell)

        async def send(request: httpx2.Request) -> httpx2.Response:
            async with SmallAnswers(RoutedTransport(route), ready.url) as transport:
                return await transport.handle_async_request(request)

        auth = TokenAuth(entry.name, self.store(entry, ready.url), send, self._clock, tell)
        return http_streams(ready, route, auth, tell)

    def secrets_of(self, entry: ServerEntry) -> Mapping[str, str]:
        """Return the tokens that a server over HTTP gets, by a name for each."""
        if not entry.url:
            return {}
        try:
            url = entry.expanded(environment(), self._settings.mcp_variables).url
        except BadInput:
            return {}
        login = self.store(entry, url).load()
        return {f"login of {entry.name} ({at})": one for at, one in enumerate(login.secrets(), 1)} if login else {}


def http_route() -> "HttpRoute":
    """Return how servers are reached in this environment, as providers are. Raises BadSettings."""
    from deskmate.mcp.http_route import HttpRoute
    from deskmate.models.http.proxy_choice import proxies_in
    from deskmate.models.http.server_trust import trusted_certificates

    environ = environment()
    try:
        return HttpRoute(proxies_in(environ).of, partial(trusted_certificates, environ))
    except ValueError as error:
        raise BadSettings(f"The proxy of the environment cannot be used: {error}", "Check HTTPS_PROXY.") from error


def has_token(entry: ServerEntry) -> bool:
    """Tell whether an entry has a token of its own, so that it needs no login."""
    return any(name.lower() == "authorization" for name in entry.headers)


async def log_in(
    found: Survey, settings: Settings, name: str, person: "LoginPerson", *, port: int, client_id: str
) -> None:
    """Log the user in at a server, and keep the login. Raises BadInput, BadSettings or Refused."""
    from deskmate.mcp.login.login_flow import log_in as flow

    entry, store = _login_of(found, settings, name)
    store.check()
    ready = entry.expanded(environment(), settings.mcp_variables)
    if has_token(ready):
        raise Refused(f"'{name}' has a header Authorization in {entry.place}", "Remove it there to log in instead.")
    login: ServerLogin = await flow(ready, http_route(), person, port=port, client_id=client_id)
    store.save(login)


def log_out(found: Survey, settings: Settings, name: str) -> bool:
    """Forget the login at a server. Return whether there was one."""
    return _login_of(found, settings, name)[1].remove()


def _login_of(found: Survey, settings: Settings, name: str) -> tuple[ServerEntry, LoginStore]:
    entry = server_named(settings, found, name)
    if not entry.url:
        raise Refused(f"'{name}' is started on this machine, so there is no login", "Give it a token with --env.")
    url = entry.expanded(environment(), settings.mcp_variables).url
    return entry, ServerLogins(settings, found.workspace, SystemClock()).store(entry, url)
