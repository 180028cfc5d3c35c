"""Whether a site lets programs read a page, as its robots.txt says (RFC 9309)."""

from collections import OrderedDict
from typing import TYPE_CHECKING

from deskmate.errors import ToolError
from deskmate.webpages.page_address import PageAddress
from deskmate.webpages.page_client import PageClient

if TYPE_CHECKING:
    from urllib.robotparser import RobotFileParser

_NAME = "deskmate"
_MOST_CHARS, _MOST_LINES, _MOST_SITES = 100_000, 2_000, 64


class Robots:
    """What sites allow. The answers of the last sites are kept."""

    def __init__(self, client: PageClient) -> None:
        self._client = client
        self._sites: OrderedDict[str, RobotFileParser | None] = OrderedDict()

    async def check(self, address: PageAddress) -> None:
        """Raise ToolError if the site does not want this page to be read by programs, or does not say what it wants."""
        if address.site not in self._sites:
            self._sites[address.site] = await self._rules(address)
            if len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)
        rules = self._sites[address.site]
        if rules is not None and not rules.can_fetch(_NAME, str(address)):
            raise ToolError(f"robots.txt of {address.host} asks programs not to read this page. Do not try it again.")

    async def _rules(self, address: PageAddress) -> "RobotFileParser | None":
        from urllib.robotparser import RobotFileParser

        page = await self._client.get(address.redirected("/robots.txt"))
        if page.status >= 500:
            raise ToolError(f"{address.host} does not say whether programs may read it ({page.status}). Try it later.")
        if page.status != 200:
            # Also if it leads to another host, which nobody has allowed.
            return None
        rules = RobotFileParser()
        rules.parse(page.body.decode("utf-8", "replace")[:_MOST_CHARS].splitlines()[:_MOST_LINES])
        return rules
