"""Asks for a page: public addresses only, bounded in size, time and redirects."""

import ssl
import zlib
from collections.abc import AsyncIterator
from functools import cached_property
from typing import Any

import anyio

from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.webpages.page_address import Judge, PageAddress, Resolver, is_public, public_number, resolve

MOST_BYTES = 2_000_000
SECONDS = 20.0
MOST_REDIRECTS = 5
_HEADERS = {
    "user-agent": "deskmate",
    "accept": "text/html,text/plain,text/markdown,application/json,text/*;q=0.9,*/*;q=0.1",
    # Some servers compress anyway.
    "accept-encoding": "identity",
    "connection": "close",
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


@frozen
class WebPage:
    """What a server answered. `is_cut`: it had more. `leads_to`: a page of another host, which was not asked."""

    address: PageAddress
    status: int
    content_type: str
    body: bytes
    is_cut: bool = False
    leads_to: PageAddress | None = None


class PageClient:
    """Asks for pages. `resolver`: finds hosts, by default as this machine does. `judge`: says which may be asked."""

    def __init__(
        self,
        resolver: Resolver = resolve,
        judge: Judge = is_public,
        *,
        most_bytes: int = MOST_BYTES,
        seconds: float = SECONDS,
    ) -> None:
        self._resolver, self._judge = resolver, judge
        self._most, self._seconds = most_bytes, seconds

    async def get(self, address: PageAddress) -> WebPage:
        """Return a page, after redirects within its host. Raises ToolError."""
        import httpx2

        try:
            with anyio.fail_after(self._seconds):
                return await self._followed(address)
        except TimeoutError:
            raise ToolError(f"{address.host} did not send the page within {self._seconds:g} s.") from None
        except ssl.SSLCertVerificationError as error:
            raise ToolError(f"The certificate of {address.host} is not trusted: {error.verify_message}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, zlib.error, ValueError) as error:
            raise ToolError(f"{address.host} could not be read: {_reason(error)}") from None

    async def _followed(self, address: PageAddress) -> WebPage:
        for _ in range(MOST_REDIRECTS + 1):
            page, location = await self._asked(address)
            if location is None:
                return page
            following = address.redirected(location)
            if following.host != address.host:
                # The user has not allowed this host.
                return WebPage(address, page.status, "", b"", leads_to=following)
            address = following
        raise ToolError(f"{address.host} redirects more than {MOST_REDIRECTS} times.")

    async def _asked(self, address: PageAddress) -> tuple[WebPage, str | None]:
        """Return the answer for an address, and where it redirects to, if it does."""
        import httpx2

        # The number that was checked is the number that is asked, so a name cannot change in between.
        url = address.at(await public_number(address, self._resolver, self._judge))
        headers = {**_HEADERS, "host": address.authority}
        sni = {"sni_hostname": address.host.strip("[]")}
        async with (
            httpx2.AsyncClient(verify=self._trust, trust_env=False, follow_redirects=False, timeout=None) as client,
            client.stream("GET", url, headers=headers, extensions=sni) as answer,
        ):
            kind = answer.headers.get("content-type", "")
            if answer.status_code in _REDIRECTS and (location := answer.headers.get("location")):
                return WebPage(address, answer.status_code, kind, b""), location
            coding = answer.headers.get("content-encoding", "").strip().lower()
            body, is_cut = await read_bounded(answer.aiter_raw(), coding, self._most)
        return WebPage(address, answer.status_code, kind, body, is_cut), None

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()


async def read_bounded(pieces: AsyncIterator[bytes], coding: str, most: int) -> tuple[bytes, bool]:
    """Return at most the limit of a body, decompressed, and whether there was more. Raises ToolError."""
    if coding not in ("", "identity", *_WINDOWS):
        raise ToolError(f"The server compresses pages with '{coding:.20}', which cannot be read.")
    inflating: Any = zlib.decompressobj(_WINDOWS[coding]) if coding in _WINDOWS else None
    body, taken = b"", 0
    async for piece in pieces:
        taken += len(piece)
        # A small piece may become a very large one.
        body += inflating.decompress(piece, most + 1 - len(body)) if inflating else piece
        if len(body) > most or taken > most:
            return body[:most], True
    return body, False


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
