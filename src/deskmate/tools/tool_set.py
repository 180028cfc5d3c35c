"""The tools of one agent: told to its model at once, imported when it calls one.

A first request needs only what the model reads of a tool. That is in files: the descriptions, and the schemas that the
argument classes make. So the request is on its way before any tool is imported.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from deskmate.core.policy.tool_table import TOOLS, AgentKind
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.ports import Tool
from deskmate.texts import schemas_for, text_for
from deskmate.tools.tool_base import spec

_BASE = frozenset(tool.name for tool in TOOLS.values() if tool.home == "base")
_OF_FILES = _BASE - {"bash"}
_SENTENCE = re.compile(r"(?<=\.) ")


def tools_for(kind: AgentKind, names: Iterable[str]) -> tuple[Tool, ...]:
    """Return the named tools for this kind of agent, in the order of the names.

    Names of tools that are built elsewhere are skipped.
    """
    from deskmate.tools.every_tool import every_tool

    made = every_tool(kind)
    return tuple(made[name] for name in names if name in made)


class ToolSet(Mapping[str, Tool]):
    """Tools by name: those of ours that are named here, and those of the calling program and of servers, `own`.

    Ours are imported when one of them is first looked up. `unlisted`: more tools that can be called, and that the model
    is not told of. There may be more of them later.
    """

    def __init__(
        self,
        kind: AgentKind,
        names: Iterable[str],
        own: Iterable[Tool] = (),
        unlisted: Mapping[str, Tool] | None = None,
    ) -> None:
        self._kind, self._schemas = kind, schemas_for(kind)
        self._names = tuple(name for name in names if name in self._schemas)
        self._own = {tool.name: tool for tool in own}
        self._unlisted = {} if unlisted is None else unlisted

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        ours = (ToolSpec(name, self._text(name), self._schemas[name]) for name in self._names)
        return (*ours, *map(spec, self._own.values()))

    def _text(self, name: str) -> str:
        """Return the description of a tool. Sentences about tools for files that are not there are left out."""
        text, missing = text_for(f"tools/{name}", self._kind), _OF_FILES.difference(self._names)
        if not missing or name not in _BASE:
            return text
        named = re.compile(rf"\b(?:{'|'.join(missing)})\b")
        lines = ([part for part in _SENTENCE.split(line) if not named.search(part)] for line in text.split("\n"))
        return "\n".join(" ".join(parts) for parts in lines if parts)

    def __getitem__(self, name: str) -> Tool:
        if name in self._own:
            return self._own[name]
        if name not in self._names:
            return self._unlisted[name]
        (tool,) = tools_for(self._kind, [name])
        return tool

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._names, *self._own, *self._unlisted)))

    def __len__(self) -> int:
        return sum(1 for _ in self)
