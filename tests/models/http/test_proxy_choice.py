"""Which proxy leads to a host."""

import pytest

from deskmate.models.http.proxy_choice import ProxyServer, proxies_in

HTTP, HTTPS = ProxyServer("http", "one.test", 8080, {}), ProxyServer("http", "two.test", 80, {})
SET = {"HTTP_PROXY": "http://one.test:8080", "HTTPS_PROXY": "two.test"}


@pytest.mark.parametrize(
    ("environ", "scheme", "found"),
    [
        ({}, "https", None),
        (SET, "http", HTTP),
        (SET, "https", HTTPS),
        ({"http_proxy": "one.test:8080", "HTTP_PROXY": "other.test"}, "http", HTTP),
        ({"https_proxy": "", "HTTPS_PROXY": "two.test"}, "https", None),
        ({"ALL_PROXY": "two.test"}, "https", HTTPS),
        ({"ALL_PROXY": "one.test:8080", "HTTPS_PROXY": "two.test"}, "http", HTTP),
        ({"ALL_PROXY": "https://three.test"}, "http", ProxyServer("https", "three.test", 443, {})),
    ],
)
def test_the_proxy_is_chosen_by_scheme(environ: dict[str, str], scheme: str, found: ProxyServer | None) -> None:
    assert proxies_in(environ).of(scheme, "api.test", 443) == found


@pytest.mark.parametrize(
    ("entry", "host", "is_direct"),
    [
        ("api.test", "api.test", True),
        ("test", "api.test", True),
        (".test", "api.test", True),
        (".api.test", "api.test", False),
        ("pi.test", "api.test", False),
        ("API.TEST", "api.test", True),
        ("*", "api.test", True),
        ("a, b, api.test", "api.test", True),
        ("api.test:443", "api.test", True),
        ("api.test:80", "api.test", False),
        ("https://api.test", "api.test", True),
        ("http://api.test", "api.test", False),
        ("all://api.test", "api.test", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("::1", "::1", True),
        ("[::1]", "::1", True),
        ("localhost,127.0.0.1", "127.0.0.1", True),
        ("", "api.test", False),
    ],
)
def test_some_hosts_are_asked_directly(entry: str, host: str, is_direct: bool) -> None:
    found = proxies_in({**SET, "NO_PROXY": entry}).of("https", host, 443)
    assert found == (None if is_direct else HTTPS)


def test_a_name_and_a_password_of_a_proxy_are_sent_to_it() -> None:
    proxy = proxies_in({"HTTPS_PROXY": "http://me:p%40ss@two.test"}).of("https", "api.test", 443)
    assert proxy == ProxyServer("http", "two.test", 80, {"proxy-authorization": "Basic bWU6cEBzcw=="})


@pytest.mark.parametrize(
    ("address", "why"),
    [("socks5://two.test", "is not an"), ("http://", "is not an"), ("http://two.test:port", "cannot be read")],
)
def test_an_address_that_is_no_proxy_is_refused(address: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        proxies_in({"HTTPS_PROXY": address})


@pytest.mark.parametrize("password", ["s3cr#et", "s3cr/et", "s3cr?et"])
def test_a_password_that_breaks_an_address_is_not_told(password: str) -> None:
    with pytest.raises(ValueError, match="cannot be read") as refused:
        proxies_in({"HTTPS_PROXY": f"http://user:{password}@proxy.example:8080"})
    assert "s3cr" not in str(refused.value)


def test_a_proxy_for_everything_is_not_looked_at_if_nothing_is_left_for_it() -> None:
    environ = {"HTTP_PROXY": "http://a:1", "HTTPS_PROXY": "http://b:2", "ALL_PROXY": "socks5://c:3"}
    assert set(proxies_in(environ).proxies) == {"http", "https"}
    with pytest.raises(ValueError, match="socks5"):
        proxies_in({"HTTP_PROXY": "http://a:1", "ALL_PROXY": "socks5://c:3"})
