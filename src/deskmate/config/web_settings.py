"""What the user sets for the web."""

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from deskmate.config.providers import Table


def as_table(given: object) -> object:
    """Return the table that true or false stands for."""
    return {"fetch": given} if isinstance(given, bool) else given


class WebSettings(Table):
    """What agents may use of the web. `search`: whom `web_search` asks. `url`: of the search, if it is not usual."""

    fetch: bool = Field(True, description="true or false")
    search: Literal["brave", "tavily", "exa", "searxng"] | None = Field(
        None, description="brave, tavily, exa or searxng"
    )
    key_env: str = Field("", description='the name of a variable with the key, such as "BRAVE_API_KEY"')
    url: str = Field("", description='the address of the search, such as "http://localhost:8888"')

    @model_validator(mode="after")
    def _names_a_server(self) -> Self:
        if self.search == "searxng" and not self.url:
            raise ValueError('`search = "searxng"` needs `url`, the address of your server')
        if self.url and not re.fullmatch(r"https?://[^\s@]+", self.url):
            raise ValueError("`url` must be an address that begins with https:// or http://")
        return self
