"""The login of the user at one MCP server: its tokens, and where they can be used and renewed.

Every address that a server or its authorization server names is hostile until it was checked here.
"""

import ipaddress
import json
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deskmate.errors import BadInput, BadRecord

VERSION = 1
_MOST_URL = 8_000
_MOST_TOKEN = 32_000
# What can be in a header and in an address without changing it.
_VISIBLE = r"^[\x21-\x7e]+$"
_URL_TEXT = re.compile(r"[\x21-\x7e]+")
# A new token is asked for this long before the old one ends.
_EARLY_SECONDS = 30.0


class ServerLogin(BaseModel):
    """A login. `url`: the server that it is for. `token_url`: where its tokens are renewed.

    `resource`: what the tokens are for, as the authorization server knows it. `auth_method`: how Deskmate shows there
    who it is. `expires_at`: seconds since the epoch, 0 if nobody said.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    version: int = VERSION
    url: str = Field(max_length=_MOST_URL)
    issuer: str = ""
    token_url: str = Field(max_length=_MOST_URL)
    resource: str = ""
    client_id: str = Field(pattern=_VISIBLE, max_length=_MOST_URL)
    client_secret: str = ""
    auth_method: str = ""
    access_token: str = Field(pattern=_VISIBLE, max_length=_MOST_TOKEN)
    refresh_token: str = Field("", max_length=_MOST_TOKEN)
    expires_at: float = 0
    scope: str = ""

    def has_ended(self, now: float) -> bool:
        """Tell whether its token is no longer valid, or will soon be."""
        return bool(self.expires_at) and now >= self.expires_at - _EARLY_SECONDS

    def secrets(self) -> Iterator[str]:
        """Yield what nobody else may see."""
        yield from filter(None, (self.access_token, self.refresh_token, self.client_secret))


def write_login(login: ServerLogin) -> bytes:
    """Return a login in the form in which it is stored."""
    return login.model_dump_json(indent=1).encode() + b"\n"


def read_login(data: bytes) -> ServerLogin:
    """Return a login. Raises BadRecord for anything but what `write_login` writes."""
    try:
        login = ServerLogin.model_validate_json(data)
    except (ValidationError, RecursionError) as error:
        raise BadRecord("it is not a login") from error
    if login.version != VERSION:
        raise BadRecord(f"its version is not {VERSION}")
    return login


def renewed(login: ServerLogin, answer: bytes, now: float) -> ServerLogin:
    """Return a login with the tokens that its authorization server sent. Raises BadInput if there are none."""
    try:
        told = json.loads(answer)
        ends = told.get("expires_in")
        changes = {
            "access_token": told["access_token"],
            "refresh_token": told.get("refresh_token") or login.refresh_token,
            "expires_at": now + ends if isinstance(ends, int | float) and ends > 0 else 0,
            "scope": told.get("scope") or login.scope,
        }
        return ServerLogin.model_validate({**login.model_dump(), **changes})
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadInput("The authorization server sent no token") from error


def check_address(url: str, server: str, what: str) -> str:
    """Return an address that a server named, if Deskmate or the user may open it. Raises BadInput if not.

    `server`: the address of the server, which the user chose. Only a server on this machine may name addresses of this
    machine, or of the network around it.
    """
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        host = ""
    if not host or not _URL_TEXT.fullmatch(url) or len(url) > _MOST_URL:
        raise BadInput(f"The {what} is not a usable address: {ascii(url[:80])[1:-1]}")
    if "@" in parts.netloc or parts.scheme not in ("https", "http"):
        raise BadInput(f"The {what} is refused, because it is not an ordinary https:// address: {url[:80]}")
    at_home = is_local(urlsplit(server).hostname or "")
    if parts.scheme == "http" and not (at_home and is_local(host)):
        raise BadInput(f"The {what} is refused, because it is not encrypted: {url[:80]}")
    if is_local(host) and not at_home:
        raise BadInput(f"The {what} is refused, because it leads to this machine or its network: {url[:80]}")
    return url


def is_local(host: str) -> bool:
    """Tell whether a host is this machine, or an address that is not reachable from everywhere."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        # Browsers read 127.1 and 2130706433 as addresses, too.
        return bool(re.fullmatch(r"[0-9.]+|0[xX][0-9a-fA-F.xX]+", host))


def shown_host(url: str) -> str:
    """Return the host of an address for the user. Letters that only look like others are written out."""
    host = urlsplit(url).hostname or ""
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return ascii(host)[1:-1]
