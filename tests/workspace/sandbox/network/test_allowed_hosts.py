"""Which hosts a list allows: what it names in a plain way, and nothing that only looks like it."""

import ipaddress
import re
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.errors import BadSettings
from deskmate.workspace.sandbox.network.allowed_hosts import Allowed, HostPort, allowed, endpoint, may_reach

LIST = allowed(["Example.org", "*.cdn.example.org", "build.local:8080", "192.0.2.7:9000", "[2001:db8::7]"])


def covers(authority: str, port: int | None = 443) -> bool:
    """Tell whether a request for this authority is let through."""
    try:
        wanted = endpoint(authority, port)
    except ValueError:
        return False
    return any(one.covers(wanted) for one in LIST)


@pytest.mark.parametrize(
    "authority",
    [
        *("example.org", "EXAMPLE.ORG", "example.org.", "example.org:80", "example.org:443", "a.cdn.example.org"),
        *("a.b.cdn.example.org", "build.local:8080", "192.0.2.7:9000", "[2001:db8::7]", "[2001:0DB8:0::7]:80"),
    ],
)
def test_what_is_listed_is_let_through(authority: str) -> None:
    assert covers(authority)


@pytest.mark.parametrize(
    "authority",
    [
        *("example.org:8080", "www.example.org", "example.org.evil.net", "evilexample.org", "cdn.example.org"),
        *("xcdn.example.org", "build.local", "build.local:80", "192.0.2.7", "192.0.2.8:9000", "[2001:db8::8]"),
        # Who the user is, and which host is meant, depends on who reads it.
        *("example.org@evil.net", "evil.net@example.org", "evil.net#example.org", "evil.net/example.org"),
        *("example.org:443@evil.net", "example.org\\@evil.net", "example.org%00.evil.net", "example.org%2eevil.net"),
        *("example.org\x00.evil.net", "example.org\r\nHost: evil.net", "example.org evil.net", "example.org\t", " "),
        *("example.org:443:80", "example.org:", "example.org:0", "example.org:65536", "example.org:+443", "", ":443"),
        *("example.org:4\u0664\u06633", "ex\u0430mple.org", "\u24d4xample.org", "example\u3002org", "example.org.."),
        *(
            ".example.org",
            "example..org",
            "-example.org",
            "*.cdn.example.org",
            "[example.org]",
            "[::1",
            "::1",
            "[::1%lo]",
        ),
        # Addresses as only some read them.
        *("3221225991:9000", "0xc0000207:9000", "192.0.519:9000", "0300.0.2.7:9000", "192.0.2.07:9000", "192.0.2.7.:1"),
        *("127.1", "0", "0x7f.1", "0x", "a" * 64 + ".cdn.example.org", "a." * 130 + "cdn.example.org"),
    ],
)
def test_what_is_not_listed_or_not_plain_is_refused(authority: str) -> None:
    assert not covers(authority)


@pytest.mark.parametrize(
    "line", ["", "*", "*.", "*.*.org", "a.*.org", "http://example.org", "example.org/x", "*.192.0.2.1", "1.2.3", "a b"]
)
def test_a_line_that_is_no_host_is_told(line: str) -> None:
    with pytest.raises(BadSettings, match=r"is not a host.*Write example\.org"):
        allowed([line])


NAMES = st.from_regex(r"[a-z0-9-]{1,12}(\.[a-z0-9-]{1,12}){0,3}", fullmatch=True)


LISTED = re.compile(
    r"example\.org\.?(:80|:443)?|([\w-]+\.)+cdn\.example\.org\.?(:80|:443)?|build\.local\.?:8080|192\.0\.2\.7\.?:9000"
    r"|\[2001:db8::7\](:80|:443)?",
    re.ASCII | re.IGNORECASE,
)
PIECES = [
    "example.org",
    "a.cdn.example.org",
    "192.0.2.7",
    "[2001:db8::7]",
    "evil.net",
    ":443",
    ":9000",
    *"@:/\\#?%.\0 -",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=4).map("".join))
def test_only_what_stands_in_the_list_is_ever_let_through(authority: str) -> None:
    assert bool(LISTED.fullmatch(authority)) or not covers(authority)


@given(NAMES)
def test_a_name_that_is_let_through_is_the_name_that_is_looked_up(name: str) -> None:
    """Nothing between the list and the resolver reads it as an address."""
    try:
        found = endpoint(name, 443).host
    except ValueError:
        return
    if isinstance(found, str):
        with pytest.raises(OSError, match=r"."):
            socket.inet_aton(found)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *((public, True) for public in ("93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822")),
        *(("::ffff:93.184.216.34", True), ("2002:5db8:d822::1", True)),
        *((private, False) for private in ("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254")),
        *((private, False) for private in ("0.0.0.0", "100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255")),
        *((private, False) for private in ("::1", "::", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1")),
        *((private, False) for private in ("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1")),
    ],
)
def test_a_name_leads_to_public_addresses_only(address: str, public: bool) -> None:
    assert may_reach([], address, 443) is public


def test_a_name_may_lead_to_an_address_that_is_listed_itself() -> None:
    listed = [Allowed(ipaddress.IPv4Address("127.0.0.1"), (8080,))]
    assert [may_reach(listed, "127.0.0.1", port) for port in (8080, 8081)] == [True, False]
    assert may_reach(listed, "::ffff:127.0.0.1", 8080)


def test_an_endpoint_is_written_as_in_a_request() -> None:
    assert [str(endpoint(text, 80)) for text in ("Example.org.", "[::1]:9", "192.0.2.1")] == [
        *("example.org:80", "[::1]:9", "192.0.2.1:80")
    ]
    assert endpoint("example.org:443") == HostPort("example.org", 443)
