"""The address of a page, and where its host is."""

import re
import socket
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

import anyio

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.sandbox.network.allowed_hosts import may_reach

# Returns the addresses of a host, for a port.
Resolver: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
# Returns whether a number and a port may be asked.
Judge: TypeAlias = Callable[[str, int], bool]

_PORTS = {"http": 80, "https": 443}
_MOST_CHARS = 2000
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


@frozen
class PageAddress:
    """The address of a page. `host`: as the network knows it. `target`: path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host, with the port if that is not the usual one."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def site(self) -> str:
        """The address of its site."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.site}{self.target}"

    def at(self, number: str) -> str:
        """Return the same address with the number of the host instead of its name."""
        return f"{self.scheme}://{f'[{number}]' if ':' in number else number}:{self.port}{self.target}"

    def redirected(self, location: str) -> "PageAddress":
        """Return where a redirect leads. Raises ToolError."""
        return read_address(urljoin(str(self), location))


def read_address(text: str) -> PageAddress:
    """Return the address that a text is. Raises ToolError if it is not the address of a page."""
    if len(text) > _MOST_CHARS or not text.isprintable() or " " in text:
        raise ToolError(f"This is not the address of a page: it has spaces or more than {_MOST_CHARS} characters.")
    try:
        parts = urlsplit(text)
        port = parts.port
        host = _host(parts.hostname or "")
        query = f"?{parts.query}" if parts.query else ""
        target = f"{parts.path or '/'}{query}".encode("ascii").decode()
    except UnicodeEncodeError:
        raise ToolError("Write the letters of the address that are not ASCII as %XX.") from None
    except ValueError:
        raise ToolError(f"'{text:.80}' is not the address of a page.") from None
    if parts.scheme not in _PORTS or not host:
        raise ToolError(f"'{text:.80}' is not the address of a page. It must begin with https:// or http://.")
    if "@" in parts.netloc:
        raise ToolError("The address must not contain a name or a password.")
    return PageAddress(parts.scheme, host, port or _PORTS[parts.scheme], target)


def _host(name: str) -> str:
    host = name.encode("idna").decode() if not name.isascii() else name.lower()
    host = f"[{host}]" if ":" in host else host.removesuffix(".")
    if not _HOST.fullmatch(host):
        raise ValueError("no host")
    return host


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as this machine finds them. Raises OSError."""
    found = await anyio.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def is_public(number: str, port: int) -> bool:
    """Return whether a number leads to the public internet."""
    return may_reach((), number, port)


async def public_number(address: PageAddress, resolver: Resolver, is_public: Judge) -> str:
    """Return the number of a host, to connect to. Raises ToolError if it is not public, and OSError.

    A name can have another number at the next question, so ask once and connect to what is returned.
    """
    numbers = await resolver(address.host, address.port)
    if not numbers or not all(is_public(one, address.port) for one in numbers):
        raise ToolError(
            f"{address.host} is not a public address. Pages on this machine and in private networks cannot be read. "
            "Tell the user if you need it."
        )
    return numbers[0]
