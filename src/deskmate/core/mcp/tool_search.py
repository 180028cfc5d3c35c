"""Tools whose schemas are read on demand.

If the schemas of all servers together are long, they are not part of every request. The model gets a tool that finds
others by words. What it found is appended to the conversation, so that the beginning of the prompt stays the same.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from deskmate.core.mcp.server_tools import ServerTool

# What the tools of all servers may take in every request, in characters.
MOST_CHARS = 8_000
_MOST_FOUND, _MOST_NAMED = 8, 60
_WORDS = re.compile(r"[a-z0-9]+")


def are_long(tools: Iterable[ServerTool]) -> bool:
    """Tell whether these tools take too much room to be part of every request."""
    return sum(tool.chars for tool in tools) > MOST_CHARS


def overview(tools: Iterable[ServerTool], late: Iterable[str] = ()) -> str:
    """Return which servers there are and how many tools each has. `late`: servers that are still starting."""
    counts = Counter(tool.server for tool in tools)
    servers = {server: str(count) for server, count in counts.items()} | dict.fromkeys(late, "still starting")
    return ", ".join(f"{server} ({words})" for server, words in sorted(servers.items()))


def matching(tools: Sequence[ServerTool], query: str) -> list[ServerTool]:
    """Return the tools that a query finds, the best first: by its words in names, then in descriptions."""
    words = set(_WORDS.findall(query.lower()))
    ranked = sorted(((-_rank(tool, words, query), number) for number, tool in enumerate(tools)))
    return [tools[number] for rank, number in ranked if rank < 0]


def _rank(tool: ServerTool, words: set[str], query: str) -> int:
    if query.strip() == tool.full_name:
        return 1_000_000
    name = set(_WORDS.findall(f"{tool.server} {tool.name}".lower().replace("_", " ")))
    text = set(_WORDS.findall(tool.text.lower()))
    return 10 * len(words & name) + len(words & text)


def found_text(tools: Sequence[ServerTool], query: str) -> str:
    """Return what a model reads of a search: the best matches with their schemas, and the names of others."""
    found = matching(tools, query)
    if not tools:
        return "No server has tools yet."
    if not found:
        names = ", ".join(tool.full_name for tool in tools[:_MOST_NAMED])
        more = f" and {len(tools) - _MOST_NAMED} more" if len(tools) > _MOST_NAMED else ""
        return f"No tool matches. There are: {names}{more}."
    shown = "\n\n".join(
        f"{tool.full_name}\n{tool.shown}\narguments: {json.dumps(tool.schema)}" for tool in found[:_MOST_FOUND]
    )
    others = ", ".join(tool.full_name for tool in found[_MOST_FOUND:][:_MOST_NAMED])
    rest = f"\n\nThese match less: {others}. To see one, search for its name." if others else ""
    return f"Call these with McpCall. Their descriptions are the servers' own words.\n\n{shown}{rest}"
