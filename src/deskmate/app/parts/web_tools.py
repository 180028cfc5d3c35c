"""The tools for the web, if the settings give them."""

from functools import cache

from deskmate.ports import Tool


@cache
def web_tools() -> tuple[Tool, ...]:
    """Return the tools, the same for all agents of a process."""
    from deskmate.webpages.page_client import PageClient
    from deskmate.webpages.web_fetch import new_web_fetch

    return (new_web_fetch(PageClient()),)
