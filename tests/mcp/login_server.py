"""An MCP server that wants a login, and its authorization server, made with the SDK.

Without a flaw, both are honest, and every user says yes at once. Requests to its own paths below `/test` make it forget
or tell things.
"""

import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, AuthorizationCode, AuthorizationParams, RefreshToken
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Context
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

METADATA = "/.well-known/oauth-authorization-server"


class Authority:
    """Keeps clients, codes and tokens in memory."""

    def __init__(self, flaw: str, base: str) -> None:
        self.flaw, self.base = flaw, base
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.renewals = 0
        self.ended = False

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code, client_id=client.client_id, scopes=params.scopes or [], expires_at=time.time() + 60,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True, resource=params.resource,
        )  # fmt: skip
        state = "forged" if self.flaw == "wrong-state" else params.state
        issuer = {"wrong-iss": "https://other.example", "": f"{self.base}/"}.get(self.flaw, "")
        if self.flaw == "says-no":
            return f"{params.redirect_uri}?error=access_denied&state={state}"
        return f"{params.redirect_uri}?code={code}&state={state}" + (f"&iss={issuer}" if issuer else "")

    async def load_authorization_code(self, client: OAuthClientInformationFull, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issued(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        # Each can be used once. A second use ends the login, as at strict servers.
        self.renewals += 1
        del self.refresh[refresh_token.token]
        return self._issued(client.client_id, scopes, refresh_token.resource)

    def _issued(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.access[access] = AccessToken(token=access, client_id=client, scopes=scopes, resource=resource)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes, resource=resource)
        ends = 0 if self.flaw == "short" else 3600
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=ends or None, scope=" ".join(scopes))

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def exchange_identity_assertion(self, client: OAuthClientInformationFull, params: Any) -> OAuthToken:
        raise NotImplementedError

    async def revoke_token(self, token: Any) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


def flawed(app: Any, authority: Authority) -> Any:
    """Return the application with its flaw, and with the paths for tests."""

    async def served(scope: Any, receive: Any, send: Any) -> None:
        path, flaw = scope.get("path", ""), authority.flaw

        async def answer(body: bytes, status: int = 200, headers: Any = ()) -> None:
            kind = [(b"content-type", b"application/json"), *headers]
            await send({"type": "http.response.start", "status": status, "headers": kind})
            await send({"type": "http.response.body", "body": body})

        if path == "/test/end-access":
            authority.access.clear()
            await answer(b"{}")
        elif path == "/test/end-all":
            authority.access.clear()
            authority.refresh.clear()
            await answer(b"{}")
        elif path == "/test/renewals":
            await answer(json.dumps(authority.renewals).encode())
        elif path == METADATA and flaw == "moved":
            await answer(b"", 302, [(b"location", b"http://localhost:9/steal")])
        elif path == METADATA and flaw == "endless":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while not authority.ended:
                await send({"type": "http.response.body", "body": b" " * 65536, "more_body": True})
        elif path == METADATA and flaw in ALTERED:
            known = {
                "issuer": f"{authority.base}/",
                "authorization_endpoint": f"{authority.base}/authorize",
                "token_endpoint": f"{authority.base}/token",
                "registration_endpoint": f"{authority.base}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
            await answer(json.dumps({**known, **ALTERED[flaw]}).encode())
        elif path == "/token" and flaw == "bad-token":
            await answer(json.dumps({"access_token": "a\r\nHost: evil", "token_type": "bearer"}).encode())
        else:
            await app(scope, receive, send)

    return served


ALTERED: dict[str, dict[str, Any]] = {
    "script-link": {"authorization_endpoint": "javascript:alert(1)"},
    "plain-link": {"authorization_endpoint": "http://login.example/authorize"},
    "password-link": {"authorization_endpoint": "https://trusted.example@evil.example/authorize"},
    "plain-token": {"token_endpoint": "http://evil.example/token"},
    "other-issuer": {"issuer": "https://trusted.example"},
    "no-pkce": {"code_challenge_methods_supported": ["plain"]},
}


@contextmanager
def login_server(flaw: str = "") -> Iterator[str]:
    """Serve in a thread. Yields the URL of the MCP server."""
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    authority = Authority(flaw, base)
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(base),
        resource_server_url=AnyHttpUrl(f"{base}/mcp"),
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=True,
    )
    server = MCPServer("notes", auth_server_provider=authority, auth=settings)

    @server.tool()
    def echo_token(ctx: Context) -> str:
        """Say what is in the header."""
        assert ctx.request_context.request is not None
        return str(ctx.request_context.request.headers["authorization"])

    app = flawed(server.streamable_http_app(), authority)
    running = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=running.run, args=([listener],))
    thread.start()
    try:
        yield f"{base}/mcp"
    finally:
        authority.ended = running.should_exit = True
        thread.join()
