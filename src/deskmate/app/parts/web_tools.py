"""The tools for the web, if the settings give them."""

from functools import cache

from deskmate.config import WebSettings, environment
from deskmate.errors import BadSettings
from deskmate.ports import Tool


def web_tools(settings: WebSettings) -> tuple[Tool, ...]:
    """Return the tools that the settings give. Raises BadSettings if the key of the search is missing."""
    pages = _pages() if settings.fetch else ()
    return (*pages, _search(settings)) if settings.search else pages


@cache
def _pages() -> tuple[Tool, ...]:
    """Return the tool for pages, the same for all agents of a process."""
    from deskmate.webpages.page_client import PageClient
    from deskmate.webpages.web_fetch import new_web_fetch

    return (new_web_fetch(PageClient()),)


def _search(settings: WebSettings) -> Tool:
    from deskmate.webpages.search_providers import SEARCH_PROVIDERS
    from deskmate.webpages.web_search import SearchAccess, new_web_search

    name = settings.search or ""
    provider = SEARCH_PROVIDERS[name]
    key_env = settings.key_env or provider.key_env
    key = environment().get(key_env, "") if key_env else ""
    if key_env and not key:
        raise BadSettings(
            f"web_search at {name} needs a key, and the variable {key_env} is not set",
            f"Set {key_env}, or remove `search` under [web] from your settings.",
        )
    address = f"{settings.url.rstrip('/')}{provider.path}" if settings.url else provider.address
    return new_web_search(SearchAccess(name, provider, address, key_env, key))
