"""The tool for a result that fits a JSON schema. Imported only if a run asks for one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import SchemaError
from jsonschema.exceptions import relevance
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from deskmate.errors import BadInput, ToolError
from deskmate.tools.result_tool import ResultTool
from deskmate.tools.tool_base import CheckedArguments

_FLAWS, _WORDS = 3, 300
# What refers to the whole schema, or is referred to from anywhere in it.
_OF_WHOLE = ("$defs", "definitions", "$schema", "$id")


class JsonResult(CheckedArguments):
    """The result, which the schema checks."""

    result: Any


def json_result_tool(schema: object, place: str) -> ResultTool:
    """Return the tool for a result that fits a schema. `place`: where the schema is.

    Raises BadInput for anything but a JSON schema that is complete in itself.
    """
    if not isinstance(schema, dict):
        raise BadInput(f"{place} is not a JSON schema, because it is not an object", 'As in: {"type": "object"}')
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise BadInput(f"{place} is not a valid JSON schema, at {error.json_path}: {error.message[:_WORDS]}") from error
    _check_references(schema, place)
    # With a registry of its own, nothing is loaded from the network.
    validator = kind(schema, registry=Registry())
    return ResultTool.of(JsonResult, schema=_arguments(schema), fit=lambda value: _fitted(validator, value))


def _check_references(schema: Mapping[str, Any], place: str) -> None:
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver()
    for reference in _references(schema):
        try:
            if reference.startswith("#"):
                resolver.lookup(reference)
                continue
        except Unresolvable:
            pass
        raise BadInput(f"{place} refers to {reference[:_WORDS]!r}, which is not in it", 'Put it there, under "$defs".')


def _references(node: object) -> Iterator[str]:
    match node:
        case dict():
            if isinstance(reference := node.get("$ref"), str):
                yield reference
            for inner in node.values():
                yield from _references(inner)
        case list():
            for inner in node:
                yield from _references(inner)


def _arguments(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the model reads: an object with the result. References still lead to the definitions."""
    result = {key: value for key, value in schema.items() if key not in _OF_WHOLE}
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {"type": "object", "properties": {"result": result}, "required": ["result"], **shared}


def _fitted(validator: Validator, value: Any) -> Any:
    """Return a result that fits. Some models write an object as a text. Raises ToolError with what is wrong."""
    flaws = sorted(validator.iter_errors(value), key=relevance)
    if flaws and isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = value
        if validator.is_valid(read):
            return read
    if flaws:
        wrong = "; ".join(
            f"{one.json_path.replace('$', 'result', 1)}: {one.message[:_WORDS]}" for one in flaws[:_FLAWS]
        )
        raise ToolError(f"The result does not fit the schema. {wrong}.")
    return value
