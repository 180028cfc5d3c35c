"""Whether a request comes from somebody who may send one.

A server listens on this machine only, but web pages in a browser on this machine can reach it too, and a page can give
its own name the address of this machine (DNS rebinding). So before anything else is looked at, a request must name
this server as its host, come from no other page, and have the token in its header.
"""

import hmac
from collections.abc import Iterable
from enum import Enum

from deskmate.core.values import frozen

Headers = Iterable[tuple[bytes, bytes]]


class RequestFlaw(Enum):
    """What is wrong with a request."""

    HOST = "it names another server"
    ORIGIN = "it comes from a web page that is not ours"
    TOKEN = "it has no token, or a wrong one"


@frozen
class RequestCheck:
    """`hosts`: the values of the header Host by which this server is reached. `token`: what clients must send.

    `secure`: whether its own pages have addresses with https.
    """

    hosts: frozenset[str]
    token: str
    secure: bool = False

    def flaw(self, headers: Headers, *, needs_token: bool = True) -> RequestFlaw | None:
        """Return what is wrong with a request, None if it may be answered."""
        found: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            found.setdefault(name.lower(), []).append(value)
        hosts, origins, tokens = (found.get(name, []) for name in (b"host", b"origin", b"authorization"))
        known = {host.encode() for host in self.hosts}
        # One of each at most: if there are two, this check and what follows might look at different ones.
        if len(hosts) != 1 or hosts[0].lower() not in known:
            return RequestFlaw.HOST
        scheme = b"https://" if self.secure else b"http://"
        if len(origins) > 1 or not {scheme + host for host in known}.issuperset(origins):
            return RequestFlaw.ORIGIN
        if needs_token and (len(tokens) != 1 or not hmac.compare_digest(tokens[0], f"Bearer {self.token}".encode())):
            return RequestFlaw.TOKEN
        return None
