"""The request types of the providers' own clients as validators that refuse whatever they do not know."""

from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaValidator


def closed(params: type) -> SchemaValidator:
    """Return a validator of a client's parameters as JSON: unknown keys forbidden, what is iterable looked through."""
    return SchemaValidator(_closed(TypeAdapter(params).core_schema))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return type(schema)(_closed(item) for item in schema)
    if not isinstance(schema, dict):
        return schema
    schema = {key: _closed(value) for key, value in schema.items() if key != "metadata"}
    match schema.get("type"):
        case "typed-dict" if schema["extra_behavior"] == "ignore":
            return {**schema, "extra_behavior": "forbid"}
        case "generator":
            # Pydantic checks an iterable when it is read, which nobody does here.
            return {**schema, "type": "list"}
        case "model":
            # The clients take back the objects of a reply too, and those let everything pass. JSON is never one.
            return {"type": "is-instance", "cls": BaseModel, "ref": schema["ref"]}
    return schema
