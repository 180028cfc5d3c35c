"""A new login at a server, with the user's browser. The SDK does the protocol: discovery, registration, PKCE, issuer.

It believes neither what a server says about its authorization server, nor what that one answers: see `small_answers`
and `login_callback`.
"""

import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from deskmate.core.mcp.server_entries import ServerEntry
from deskmate.core.mcp.server_logins import ServerLogin, check_address
from deskmate.errors import BadInput, DeskmateError, Refused
from deskmate.mcp.http_route import HttpRoute, RoutedTransport
from deskmate.mcp.login.login_answers import LoginAnswer, read_answer
from deskmate.mcp.login.login_callback import Listening, login_callback
from deskmate.mcp.login.small_answers import SmallAnswers
from deskmate.mcp.sdk_connection import words_of

WAIT_SECONDS = 300.0
# The SDK logs a traceback of every error that it also raises.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)
# Any request will do: a server that wants a login refuses all.
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "deskmate", "version": "1"},
    },
}
_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


class LoginPerson(Protocol):
    """The user who logs in."""

    async def open(self, link: str) -> None:
        """Show the link to the page of the authorization server, or open it."""

    def pasted(self) -> AsyncIterator[str]:
        """Yield what the user pastes."""

    def tell(self, words: str) -> None:
        """Say what is wrong with what was pasted."""


@dataclass
class _Kept:
    """What the SDK keeps during a login. `known`: the client that the authorization server knows already."""

    known: OAuthClientInformationFull | None
    scope: anyio.CancelScope
    client: OAuthClientInformationFull | None = None
    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens
        # That is all that was wanted. The request is not sent again.
        self.scope.cancel()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.known

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def log_in(
    entry: ServerEntry, route: HttpRoute, person: LoginPerson, *, port: int = 0, client_id: str = ""
) -> ServerLogin:
    """Return a new login at a server. `entry`: with its variables replaced. `port`: where the browser comes back to.

    `client_id`: for authorization servers that know Deskmate already, and let nobody register. Raises Refused if it
    does not come to a login, and BadInput for what a server should not have said.
    """
    async with login_callback(port) as callback:
        with anyio.CancelScope() as scope:
            kept = _Kept(_known(client_id, callback.url) if client_id else None, scope)
            flow = _Flow(entry, kept, callback, person)
            status = await flow.run(route)
        if kept.tokens is None:
            raise Refused(f"{entry.name} asks for no login: it answered with status {status}")
        return flow.login(kept.tokens)


def _known(client_id: str, callback: str) -> OAuthClientInformationFull:
    return OAuthClientInformationFull(
        client_id=client_id, redirect_uris=[AnyUrl(callback)], token_endpoint_auth_method="none"
    )


class _Flow:
    def __init__(self, entry: ServerEntry, kept: _Kept, callback: Listening, person: LoginPerson) -> None:
        self._entry, self._kept, self._callback, self._person = entry, kept, callback, person
        metadata = OAuthClientMetadata(client_name="Deskmate", redirect_uris=[AnyUrl(callback.url)])
        self._provider = OAuthClientProvider(entry.url, metadata, kept, self._check, self._wait)
        self._link = self._state = ""

    async def run(self, route: HttpRoute) -> int:
        """Log in. Return the status of the answer if no login is asked for."""
        transport = SmallAnswers(RoutedTransport(route), self._entry.url)
        headers = {**self._entry.headers, **_HEADERS}
        try:
            async with httpx2.AsyncClient(transport=transport, auth=self._provider, timeout=None) as client:
                return (await client.post(self._entry.url, json=_HELLO, headers=headers)).status_code
        except DeskmateError:
            raise
        except Exception as error:
            raise Refused(f"The login at {self._entry.name} failed: {words_of(error)}") from error

    async def _check(self, link: str) -> None:
        """Keep the link to the page of the authorization server, if it may be opened."""
        known = self._provider.context.oauth_metadata
        if known is not None and "S256" not in (known.code_challenge_methods_supported or ()):
            raise Refused("The authorization server does not support PKCE, so a login would not be safe")
        check_address(link, self._entry.url, "page to log in")
        self._state = parse_qs(urlsplit(link).query)["state"][0]
        self._link = link

    async def _wait(self) -> AuthorizationCodeResult:
        """Return what the browser brings, or what the user pastes, whichever is first."""
        answers = list[LoginAnswer | Refused]()
        with anyio.move_on_after(WAIT_SECONDS):
            async with anyio.create_task_group() as tasks:

                def take(answer: LoginAnswer | Refused) -> None:
                    answers.append(answer)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(self._callback.serve, self._state, take)
                # Only now: a browser may be faster than anything else.
                tasks.start_soon(self._ask, take)
        if not answers:
            minutes = f"{WAIT_SECONDS / 60:g} minutes"
            raise Refused(f"Nobody logged in within {minutes}", f"Run again: deskmate mcp login {self._entry.name}")
        answer = answers[0]
        if isinstance(answer, Refused):
            raise answer
        return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer or None)

    async def _ask(self, take: Callable[[LoginAnswer | Refused], None]) -> None:
        await self._person.open(self._link)
        async for text in self._person.pasted():
            try:
                take(read_answer(text, self._state))
            except BadInput as error:
                self._person.tell(str(error))
            except Refused as error:
                take(error)

    def login(self, tokens: OAuthToken) -> ServerLogin:
        """Return the login with these tokens. Raises BadInput if they cannot be used."""
        context, client = self._provider.context, self._provider.context.client_info
        known, resource = context.oauth_metadata, ""
        if context.should_include_resource_param(context.protocol_version):
            resource = context.get_resource_url()
        assert client is not None, "tokens are given to a client"
        try:
            return ServerLogin(
                url=self._entry.url,
                issuer=str(known.issuer) if known else "",
                token_url=str(known.token_endpoint) if known else urljoin(self._entry.url, "/token"),
                resource=resource,
                client_id=client.client_id,
                client_secret=client.client_secret or "",
                auth_method=client.token_endpoint_auth_method or "",
                access_token=tokens.access_token,
                refresh_token=tokens.refresh_token or "",
                expires_at=time.time() + tokens.expires_in if tokens.expires_in else 0,
                scope=tokens.scope or "",
            )
        except ValidationError as error:
            raise BadInput("The authorization server sent a token that cannot be used") from error
