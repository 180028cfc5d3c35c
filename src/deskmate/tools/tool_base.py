"""What all tools share: name, description, arguments.

The families above derive theirs from `Described`. The texts are files in `deskmate.texts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from deskmate.core.policy.permissions import Attempt
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.ports import Desk, Tool


class Arguments(BaseModel):
    """What a model hands to a tool; unknown ones are refused, and text that no file or command can hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*")
    @classmethod
    def _is_whole_text(cls, value: object) -> object:
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a character's surrogate pair is missing; write it whole") from error
        return value


@dataclass(frozen=True, slots=True)
class Described:
    """A tool but for what it does. As it stands it touches nothing that a rule could name."""

    name: str
    text: str
    arguments: type[Arguments]

    async def attempt(self, arguments: Any, desk: Desk) -> Attempt:
        """Return what the permission rules see of a call."""
        return Attempt(self.name, (), inside=True)

    def fix(self, arguments: Any, desk: Desk) -> tuple[str, ...]:
        """Return nothing: a call of this kind is the same whenever it runs."""
        return ()


def spec(tool: Tool) -> ToolSpec:
    """Return a tool as a model is shown it, with a schema that says what it must and no more."""
    return ToolSpec(tool.name, tool.text, _schema(tool.arguments))


_NOISE = frozenset({"title", "$defs", "$ref", "anyOf"})
# Bounds that we check. A model reads of them in the description, or in the refusal when it goes beyond.
_BOUNDS = frozenset({"additionalProperties", "minLength", "maxLength", "minimum", "maximum"})


# Making one takes longer than sending it, and every agent of a process has the same.
@cache
def _schema(arguments: type[BaseModel]) -> Mapping[str, Any]:
    schema = arguments.model_json_schema()
    compact = _compact(schema, schema.get("$defs", {}))
    return {key: value for key, value in compact.items() if key != "description"}


def _compact(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without references, titles, nulls and defaults that only say `not given`."""
    merged = {**_stands_for(node, definitions), **node}
    schema = {key: value for key, value in merged.items() if key not in _NOISE | _BOUNDS}
    if not schema.get("default", True):
        del schema["default"]
    if "properties" in schema:
        schema["properties"] = {name: _compact(inner, definitions) for name, inner in schema["properties"].items()}
    return schema


def _stands_for(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference, or the choice between something and null, comes down to."""
    if "$ref" in node:
        found: Mapping[str, Any] = definitions[node["$ref"].rpartition("/")[2]]
        return {key: value for key, value in found.items() if key != "description"}
    options = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    return _compact(options[0], definitions) if len(options) == 1 else {}
