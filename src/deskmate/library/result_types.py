"""The tool for a result of a type that a program gives."""

from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.errors import PydanticUserError

from deskmate.errors import BadInput
from deskmate.tools.result_tool import ResultTool


def result_tool(result_type: Any) -> ResultTool:
    """Return the tool for a result of a type: a pydantic model, or any type that pydantic can check.

    Raises BadInput for any other type.
    """
    return ResultTool.of(_arguments(result_type))


# One class for each type: schemas are kept by class.
@lru_cache(maxsize=64)
def _arguments(result_type: Any) -> type[BaseModel]:
    config = ConfigDict(extra="forbid")
    try:
        arguments = create_model("result_arguments", __config__=config, result=(result_type, ...))
        arguments.model_json_schema()
    except (PydanticUserError, AttributeError, TypeError) as error:
        raise BadInput(f"A result cannot be of type {result_type!r}", "Use a type that pydantic can check.") from error
    return arguments
