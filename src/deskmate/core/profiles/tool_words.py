"""Tools by the names that agent files use: Claude Code's and our own.

Only tools for files, commands and the web, and those of MCP servers can be chosen. Those of the team come with being
a teammate.
"""

import re
from collections.abc import Iterable, Mapping

from deskmate.core.policy.tool_table import MCP_PREFIX, TOOLS, WEB_FETCH, WEB_SEARCH, WEB_TOOLS
from deskmate.core.values import frozen

# How a file names tools of MCP servers.
_MCP_WORD = re.compile(rf"{MCP_PREFIX}[A-Za-z0-9_*-]+")
_MOST_LISTED = 10
_UNKNOWN = "these tools do not exist here"
_CHOICES = (*(tool.name for tool in TOOLS.values() if tool.home == "base"), *WEB_TOOLS)
_NAMES: Mapping[str, str] = {
    "read": "read_file",
    "write": "write_file",
    "edit": "edit_file",
    "multiedit": "edit_file",
    "ls": "glob",
    "webfetch": WEB_FETCH,
    "websearch": WEB_SEARCH,
    **{name: name for name in _CHOICES},
}
# Every teammate has these or what replaces them, whatever its file says.
_OF_TEAM = frozenset(
    {
        "todowrite",
        "todoread",
        "exitplanmode",
        *(tool.name.lower() for tool in TOOLS.values() if tool.home in ("task", "mail", "plan")),
    }
)


@frozen
class ChosenTools:
    """The base tools and patterns of MCP tools that a list gives, None for all. `flaws`: what has no effect."""

    names: tuple[str, ...] | None
    flaws: tuple[str, ...] = ()


def chosen_tools(allowed: Iterable[str] | None, denied: Iterable[str]) -> ChosenTools:
    """Return the base tools that an agent gets, in the order of the table. No name gives more than its own tool.

    `allowed`: None if there is no such list. A name with a pattern, such as `Bash(git log:*)`, would give or take the
    tool only for some calls. It gives nothing, and it takes the whole tool.
    """
    wanted, denied = None if allowed is None else tuple(allowed), tuple(denied)
    given, flaws = _given(wanted)
    known = {word: _known(word.partition("(")[0]) for word in denied}
    taken = {*_CHOICES} if "*" in known else {*known.values()}
    others = (word for word, tool in known.items() if not tool and word != "*" and word.lower() not in _OF_TEAM)
    if unknown := [word for word in others if not word.startswith(MCP_PREFIX)]:
        flaws.append(f"{_UNKNOWN}: {_listed(unknown)}")
    if partial := [word for word, tool in known.items() if tool and "(" in word]:
        flaws.append(f"these are for some calls only, but take the whole tool away: {_listed(partial)}")
    left = [name for name in _CHOICES if name in given and name not in taken]
    if "edit_file" in left and "read_file" not in left:
        left.remove("edit_file")
        flaws.append("edit_file needs read_file, so it is left out")
    everything = wanted is None or "*" in wanted
    barred = [word for word in denied if word.startswith(MCP_PREFIX)]
    if barred:
        flaws.append(
            f"tools of MCP servers can only be named in tools, so these take all of them away: {_listed(barred)}"
        )
    if everything and len(left) == len(_CHOICES) and not barred:
        return ChosenTools(None, tuple(flaws))
    of_servers = () if barred or "*" in known else map(_of_server, filter(_MCP_WORD.fullmatch, wanted or ()))
    return ChosenTools((*left, *of_servers), tuple(flaws))


def _of_server(word: str) -> str:
    """Return the pattern of the tools that a word names. A server alone means all of its tools, as in Claude Code."""
    return word if "__" in word.removeprefix(MCP_PREFIX) or "*" in word else f"{word}__*"


def _given(allowed: tuple[str, ...] | None) -> tuple[set[str], list[str]]:
    if allowed is None or "*" in allowed:
        return set(_CHOICES), []
    given, flaws, unknown, partial = set[str](), list[str](), list[str](), list[str]()
    for word in allowed:
        if known := _known(word):
            given.add(known)
        elif _known(word.partition("(")[0]):
            partial.append(word)
        elif word.lower() not in _OF_TEAM and not _MCP_WORD.fullmatch(word):
            unknown.append(word)
    if unknown:
        flaws.append(f"{_UNKNOWN}: {_listed(unknown)}")
    if partial:
        flaws.append(f"these are for some calls only, so they give no tool: {_listed(partial)}")
    return given, flaws


def _known(word: str) -> str | None:
    return _NAMES.get(word.lower())


def _listed(words: Iterable[str]) -> str:
    found = list(dict.fromkeys(words))
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return f"{', '.join(map(_shown, found[:_MOST_LISTED]))}{more}"


def _shown(word: str) -> str:
    return word[:80] if word.isprintable() else ascii(word)[:80]
