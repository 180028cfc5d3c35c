"""Whom web_search can ask, as one table: how each is asked, and where its answer has the results."""

from collections.abc import Callable, Mapping
from typing import Any

from deskmate.core.values import frozen


@frozen
class SearchProvider:
    """How a provider of searches is asked.

    `address`: empty if the user gives it. `path`: of the API on a server of the user. `key_env`: the usual variable
    with the key, empty if there is no key. `key_header`: how the key is sent. `fields`: the parameters for a query and
    a number of results. `posts`: whether they are sent as JSON. `results`: where these are in the answer. `texts`:
    which fields of a result may have its text.
    """

    address: str
    key_env: str
    key_header: tuple[str, str]
    fields: Callable[[str, int], dict[str, Any]]
    posts: bool
    results: tuple[str, ...]
    texts: tuple[str, ...]
    path: str = ""


SEARCH_PROVIDERS: Mapping[str, SearchProvider] = {
    "brave": SearchProvider(
        "https://api.search.brave.com/res/v1/web/search",
        "BRAVE_API_KEY",
        ("X-Subscription-Token", "{}"),
        lambda query, count: {"q": query, "count": count},
        posts=False,
        results=("web", "results"),
        texts=("description",),
    ),
    "tavily": SearchProvider(
        "https://api.tavily.com/search",
        "TAVILY_API_KEY",
        ("Authorization", "Bearer {}"),
        lambda query, count: {"query": query, "max_results": count},
        posts=True,
        results=("results",),
        texts=("content",),
    ),
    "exa": SearchProvider(
        "https://api.exa.ai/search",
        "EXA_API_KEY",
        ("x-api-key", "{}"),
        lambda query, count: {"query": query, "numResults": count, "contents": {"highlights": True}},
        posts=True,
        results=("results",),
        texts=("highlights", "text"),
    ),
    "searxng": SearchProvider(
        "",
        "",
        ("Authorization", "Bearer {}"),
        lambda query, count: {"q": query, "format": "json"},
        posts=False,
        results=("results",),
        texts=("content",),
        path="/search",
    ),
}
