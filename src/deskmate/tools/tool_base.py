"""What all tools share: name, description, arguments.

Each tool derives from `Described`. The descriptions are files in `deskmate.texts`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from deskmate.core.policy.permissions import Attempt
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.core.values import frozen
from deskmate.ports import Tool, ToolContext


class CheckedArguments(BaseModel):
    """Arguments that a model passes to a tool. Unknown names and text that cannot be encoded are refused."""

    # Built when a call is first checked.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @field_validator("*")
    @classmethod
    def _is_whole_text(cls, value: object) -> object:
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a character's surrogate pair is missing; write it whole") from error
        return value


class Arguments(CheckedArguments):
    """Arguments of a tool of ours. Its description says what its schema leaves out."""


@frozen
class Described:
    """Base class of all tools, without `run`. By default a call touches nothing that a permission rule could name."""

    name: str
    text: str
    arguments: type[BaseModel]

    async def attempt(self, arguments: Any, context: ToolContext) -> Attempt:
        """Return what the permission rules see of a call."""
        return Attempt(self.name, (), inside=True)

    def fix(self, arguments: Any, context: ToolContext) -> tuple[str, ...]:
        """Return nothing: a call of this tool does the same whenever it runs."""
        return ()


def spec(tool: Tool) -> ToolSpec:
    """Return a tool as a model sees it, with the smallest schema that is sufficient.

    A tool may have a `schema` of its own, if somebody else checks its arguments.
    """
    own: Mapping[str, Any] | None = getattr(tool, "schema", None)
    return ToolSpec(tool.name, tool.text, _schema(tool.arguments) if own is None else own)


_NOISE = frozenset({"title", "$defs", "$ref", "anyOf"})
# Pydantic checks these bounds. The model learns of them from the description, or from the error if it exceeds one.
_BOUNDS = frozenset({"additionalProperties", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"})


# Building a schema takes longer than sending it, and all agents of a process share it.
@lru_cache(maxsize=512)
def _schema(arguments: type[BaseModel]) -> Mapping[str, Any]:
    schema = arguments.model_json_schema()
    if not issubclass(arguments, Arguments):
        return {key: value for key, value in _untitled(schema).items() if key != "description"}
    compact = _compact(schema, schema.get("$defs", {}))
    return {key: value for key, value in compact.items() if key != "description"}


def _untitled(node: Any) -> Any:
    """Return a schema without the titles that pydantic makes of names. Everything else says what is meant."""
    match node:
        case dict():
            titled = isinstance(node.get("title"), str)
            return {key: _untitled(inner) for key, inner in node.items() if not (key == "title" and titled)}
        case list():
            return [_untitled(inner) for inner in node]
        case _:
            return node


def _compact(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of ours without references, titles, nulls and defaults that only mean `not given`."""
    merged = {**_stands_for(node, definitions), **node}
    schema = {key: value for key, value in merged.items() if key not in _NOISE | _BOUNDS}
    if not schema.get("default", True):
        del schema["default"]
    if "properties" in schema:
        schema["properties"] = {name: _compact(inner, definitions) for name, inner in schema["properties"].items()}
    if "items" in schema:
        schema["items"] = _compact(schema["items"], definitions)
    return schema


def _stands_for(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that a reference, or a choice between one type and null, resolves to."""
    if "$ref" in node:
        found: Mapping[str, Any] = definitions[node["$ref"].rpartition("/")[2]]
        return {key: value for key, value in found.items() if key != "description"}
    options = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    return _compact(options[0], definitions) if len(options) == 1 else {}
