"""Where the page listens, and by which names browsers reach it.

On this machine, no more is needed. On another interface, what is sent must be encrypted: by the page itself, or by a
proxy in front of it.
"""

import ipaddress
import socket
from pathlib import Path
from urllib.parse import urlsplit

from deskmate.core.values import frozen
from deskmate.errors import BadSettings

LOOPBACK = "127.0.0.1"
# Browsers leave these out.
_DEFAULT_PORTS = {"http": 80, "https": 443}


@frozen
class ListenAddress:
    """Where the page should listen. `proxy`: the address of the proxy in front of it that encrypts."""

    port: int = 0
    listen: str = LOOPBACK
    certificate: Path | None = None
    key: Path | None = None
    proxy: str = ""

    def check(self) -> None:
        """Raise BadSettings if the page would be reached unencrypted, or not at all."""
        self._ip()
        if (self.certificate is None) != (self.key is None):
            raise BadSettings("A certificate needs its key, and a key its certificate", "Add --tls-cert and --tls-key.")
        if self.proxy:
            self._check_proxy()
        if not (self.is_loopback or self.certificate or self.proxy):
            raise BadSettings(
                f"On {self.listen} the page would be reached without encryption",
                "Add --tls-cert FILE and --tls-key FILE, or --proxy https://NAME if a proxy in front of the page "
                "encrypts. A tunnel needs neither: ssh -L 8080:127.0.0.1:8080 YOU@THIS-MACHINE",
            )

    def _check_proxy(self) -> None:
        parts = urlsplit(self.proxy)
        if (
            self.proxy.rstrip("/").lower() != f"https://{parts.netloc.lower()}"
            or not parts.hostname
            or "@" in parts.netloc
        ):
            raise BadSettings(
                f"{self.proxy[:200]!r} is not the address of a proxy that encrypts",
                "Write https://NAME or https://NAME:PORT, without a path.",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self._ip().is_loopback

    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        try:
            return ipaddress.ip_address(self.listen)
        except ValueError as error:
            raise BadSettings(
                f"{self.listen[:200]!r} is not an address of this machine",
                "Write an address such as 192.168.1.20, or 0.0.0.0 for all of them.",
            ) from error

    @property
    def reaches_others(self) -> bool:
        """Whether other machines reach it."""
        return bool(self.proxy) or not self.is_loopback

    @property
    def scheme(self) -> str:
        """How browsers speak to it."""
        return "https" if self.certificate or self.proxy else "http"

    def names(self, port: int) -> tuple[str, ...]:
        """Return the values of the header Host by which it is reached, that of its link first."""
        if self.proxy:
            return (urlsplit(self.proxy).netloc.lower().removesuffix(":443"),)
        address = f"[{self.listen}]" if ":" in self.listen else self.listen
        named = [address, "localhost"] if self.is_loopback else [address]
        hosts = [socket.gethostname().lower(), "localhost", LOOPBACK] if self._ip().is_unspecified else named
        ending = "" if port == _DEFAULT_PORTS[self.scheme] else f":{port}"
        return tuple(f"{host}{ending}" for host in hosts)

    def listener(self) -> socket.socket:
        """Return a socket that listens there. Raises BadSettings if that is not possible."""
        family = socket.AF_INET6 if ":" in self.listen else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.listen, self.port))
            listener.listen(64)
        except OSError as error:
            listener.close()
            where = f"Port {self.port} of this machine" if self.is_loopback else f"Port {self.port} of {self.listen}"
            raise BadSettings(f"{where} cannot be used: {error.strerror}", "Choose another one with --port.") from error
        return listener
