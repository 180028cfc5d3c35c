"""Which format an address has, and what the address says besides the body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from deskmate.testing.formats import anthropic_format, openai_format, responses_format
from deskmate.testing.scripts import Format

_PATHS: Mapping[str, Format] = {
    anthropic_format.PATH: "anthropic",
    openai_format.PATH: "openai",
    responses_format.PATH: "responses",
}
_GEMINI = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)(?:\?alt=sse)?")
_VERTEX = re.compile(
    r"(?:/v1)?/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)"
)


@dataclass(frozen=True, slots=True)
class Route:
    """The format of a request. `told`: fields that other formats have in the body."""

    format: Format
    told: Mapping[str, Any] = field(default_factory=dict)


def route(path: str) -> Route | None:
    """Return the route of a path with its query, or None if nothing is there."""
    if format_ := _PATHS.get(path.partition("?")[0]):
        return Route(format_)
    if path == f"/anthropic{anthropic_format.PATH}":
        return Route("anthropic")
    if found := _VERTEX.fullmatch(path):
        return Route("anthropic", {"model": unquote(found[1]), "stream": found[2] == "streamRawPredict"})
    if found := _GEMINI.fullmatch(path):
        return Route("gemini", {"model": unquote(found[1]), "stream": found[2] == "streamGenerateContent"})
    return None
