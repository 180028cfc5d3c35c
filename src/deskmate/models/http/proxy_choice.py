"""Which proxy leads to a host, by the variables that other programs use too: HTTPS_PROXY, ALL_PROXY, NO_PROXY."""

import base64
import ipaddress
from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

from deskmate.core.values import frozen

_PORTS = {"http": 80, "https": 443}


@frozen
class ProxyServer:
    """A proxy: its address, and the headers that it wants."""

    scheme: str
    host: str
    port: int
    headers: Mapping[str, str]


@frozen
class ProxyChoice:
    """The proxies by the scheme of what is asked for, or `all`, and the hosts that are asked without one."""

    proxies: Mapping[str, ProxyServer]
    direct: Sequence[str] = ()

    def of(self, scheme: str, host: str, port: int) -> ProxyServer | None:
        """Return the proxy for an address, or None to ask it directly."""
        if not self.proxies or any(_names(entry, scheme, host, port) for entry in self.direct):
            return None
        return self.proxies.get(scheme) or self.proxies.get("all")


def proxies_in(environ: Mapping[str, str]) -> ProxyChoice:
    """Return the proxies of an environment. Raises ValueError for an address that cannot be used."""
    found = {way: _server(address) for way in ("http", "https") if (address := _value(environ, way))}
    # A desktop often names a SOCKS proxy for all that has no proxy of its own.
    if len(found) < 2 and (address := _value(environ, "all")):
        found["all"] = _server(address)
    return ProxyChoice(found, [entry.strip() for entry in _value(environ, "no").split(",") if entry.strip()])


def _value(environ: Mapping[str, str], way: str) -> str:
    # An empty variable in small letters switches off the one in capitals.
    small = environ.get(f"{way}_proxy")
    return environ.get(f"{way.upper()}_PROXY", "") if small is None else small


def _server(address: str) -> ProxyServer:
    try:
        place = urlsplit(address if "://" in address else f"http://{address}")
        port = place.port
    except ValueError:
        # Nothing of the address: what looks like a port may be part of a password.
        raise ValueError("the address of a proxy cannot be read. Escape special characters in its password") from None
    if place.scheme not in _PORTS or not place.hostname:
        raise ValueError(f"'{place.scheme}://{place.hostname or ''}' is not an http:// or https:// proxy")
    headers = {}
    if place.username is not None:
        headers["proxy-authorization"] = basic(place.username, place.password)
    return ProxyServer(place.scheme, place.hostname, port or _PORTS[place.scheme], headers)


def basic(user: str, password: str | None) -> str:
    """Return the value of a header for a name and a password as they are in an address."""
    return "Basic " + base64.b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()


def _names(entry: str, scheme: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY names an address: a host, a domain, or a range of addresses."""
    if entry == "*":
        return True
    wanted, _, rest = entry.rpartition("://")
    if wanted and wanted not in (scheme, "all"):
        return False
    if _is_in_range(host, rest):
        return True
    name, colon, digits = rest.lower().rpartition(":")
    if colon and digits.isdigit() and "]" not in digits:
        if int(digits) != port:
            return False
        rest = name
    rest = rest.lower().strip("[]")
    # A leading dot means the hosts below a domain, but not the domain itself.
    return host == rest or host.endswith(f".{rest.removeprefix('.')}")


def _is_in_range(host: str, entry: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return False
