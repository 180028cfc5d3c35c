"""Which hosts a command may reach.

Host names come from commands, which may be hostile. Anything ambiguous is refused.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import TypeAlias

from deskmate.core.values import frozen
from deskmate.errors import BadSettings

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

USUAL_PORTS = (80, 443)
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[0-9A-Za-z_.-]{1,254}))(?::(?P<port>[0-9]{1,5}))?"
)
_LABEL = re.compile(r"[0-9a-z_](?:[0-9a-z_-]{0,61}[0-9a-z_])?")
# Systems read such a name as an address, and each in its own way.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_BELOW = "*."
# These IPv6 addresses contain an IPv4 address.
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


@frozen
class HostPort:
    """What a command wants to reach: a name in lower case, or an address, and a port."""

    host: str | Address
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if isinstance(self.host, ipaddress.IPv6Address) else self.host
        return f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """How lists and rules name it: without a usual port."""
        return str(self).removesuffix(f":{self.port}") if self.port in USUAL_PORTS else str(self)


@frozen
class Allowed:
    """One entry of the list. `below`: not the name itself, but all names below it."""

    host: str | Address
    ports: tuple[int, ...]
    below: bool = False

    def covers(self, wanted: HostPort) -> bool:
        """Tell whether this entry allows that name or address, and its port."""
        if wanted.port not in self.ports:
            return False
        return f"{wanted.host}".endswith(f".{self.host}") if self.below else wanted.host == self.host


def allowed(lines: Iterable[str]) -> tuple[Allowed, ...]:
    """Return the entries of a list. Raises BadSettings for a line that is not a host."""
    return tuple(map(_allowed, lines))


def _allowed(line: str) -> Allowed:
    below = line.startswith(_BELOW)
    try:
        host, port = _parsed(line.removeprefix(_BELOW))
    except ValueError as error:
        raise BadSettings(f"{line!r} is not a host", _SHAPE) from error
    if below and not isinstance(host, str):
        raise BadSettings(f"{line!r} is not a host, because an address has no names below it", _SHAPE)
    return Allowed(host, USUAL_PORTS if port is None else (port,), below)


_SHAPE = "Write example.org, *.example.org, 192.0.2.1 or [2001:db8::1]. Add :PORT if it is not 80 or 443."


def endpoint(authority: str, port: int | None = None) -> HostPort:
    """Return the host and port of an authority in a request. Raises ValueError if it is not clear."""
    host, own = _parsed(authority)
    if (chosen := own if own is not None else port) is None:
        raise ValueError("no port")
    return HostPort(host, chosen)


def _parsed(authority: str) -> tuple[str | Address, int | None]:
    found = _AUTHORITY.fullmatch(authority)
    if not found:
        raise ValueError("no authority")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 1 << 16:
        raise ValueError("no port")
    return (_plain(ipaddress.IPv6Address(found["six"])) if found["six"] else _host(found["name"])), port


def _host(name: str) -> str | Address:
    host = name.lower().removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return ipaddress.IPv4Address(host)
    if not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("no name")
    return host


def may_reach(listed: Iterable[Allowed], address: str, port: int) -> bool:
    """Tell whether a listed name may resolve to this address: it must be public, or listed itself.

    The owner of a name can make it resolve to the user's network, or to this machine.
    """
    found = _plain(ipaddress.ip_address(address.partition("%")[0]))
    wanted = HostPort(found, port)
    return _is_public(found) or any(one.covers(wanted) for one in listed)


def _is_public(address: Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or _is_local_site(address))


def _is_local_site(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.is_site_local


def _plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address contains, if any, else the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
