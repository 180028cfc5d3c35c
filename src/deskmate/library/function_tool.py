"""A typed function as a tool."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, cast, get_type_hints, overload

from anyio import to_thread
from pydantic import BaseModel, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_json

from deskmate.core.agent.tool_results import Result
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.ports import Tool, ToolContext
from deskmate.tools.tool_base import CheckedArguments, Described

P = ParamSpec("P")
R = TypeVar("R")
_NAMED = "Use named arguments only, without *args, **kwargs or positional-only arguments."
_TYPED = "Annotate it, as in: order_id: str"


@frozen
class FunctionTool(Described, Generic[P, R]):
    """A tool that calls a function. It can still be called as the function that it was made from.

    `names`: the function's name of each argument, by field. `context`: the name of the parameter that gets the
    `ToolContext`, if there is one. `asks`: ask the user first.
    """

    function: Callable[P, R]
    names: dict[str, str]
    context: str | None = None
    asks: bool = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.function(*args, **kwargs)

    async def run(self, arguments: BaseModel, context: ToolContext) -> Result:
        """Call the function with the arguments of the model. A function that is not async runs in a thread."""
        given = {name: getattr(arguments, field) for field, name in self.names.items()}
        if self.context:
            given[self.context] = context
        call = partial(cast(Callable[..., Any], self.function), **given)
        if inspect.iscoroutinefunction(self.function):
            return _result(await call())
        returned = await to_thread.run_sync(call)
        return _result(await returned if isinstance(returned, Awaitable) else returned)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, asks: bool = False
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    asks: bool = False,
) -> Any:
    """Make a tool of a typed function. Use it as `@tool` or `@tool(asks=True)`.

    The model reads the docstring as the description, and gets the arguments from the annotations. To describe an
    argument, annotate it: `Annotated[str, Field(description="...")]`. A parameter that is annotated with `ToolContext`
    gets the context of the call and is not shown to the model. What the function returns is shown to the model: text as
    it is, everything else as JSON. Raise `ToolError` to tell the model what it did wrong. `asks`: ask the user before
    each call, except in mode `bypass`. Raises BadInput if an argument has no type that can be checked, or if there is
    no description.
    """
    if function is None:
        return lambda decorated: _tool_of(decorated, name, description, asks)
    return _tool_of(function, name, description, asks)


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """Return a tool as it is, and any other function as a tool. Raises BadInput as `tool` does."""
    return cast(Tool, given) if hasattr(given, "arguments") else tool(given)


def _tool_of(
    function: Callable[..., Any], name: str | None, description: str | None, asks: bool
) -> FunctionTool[..., Any]:
    name = name or getattr(function, "__name__", "")
    if not name:
        raise BadInput(f"{function!r} has no name", 'Give it one: tool(name="lookup")(...)')
    text = description or inspect.getdoc(function)
    if not text:
        raise BadInput(f"The tool '{name}' has no description", "Give the function a docstring.")
    context, names, fields = None, {}, {}
    types = _types_of(function, name)
    for number, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadInput(f"The tool '{name}' takes {parameter}, which a model cannot pass by name", _NAMED)
        if parameter.name not in types:
            raise BadInput(f"The argument '{parameter.name}' of the tool '{name}' has no type", _TYPED)
        if types[parameter.name] is ToolContext:
            context = parameter.name
            continue
        # A field of our own name: pydantic reserves some, such as `copy` and `model_config`.
        field = f"argument_{number}"
        names[field] = parameter.name
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[field] = (Annotated[types[parameter.name], Field(alias=parameter.name)], default)
    return FunctionTool(name, text, _arguments(name, fields), function, names, context, asks)


def _types_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    # A partial function has the annotations of the function in it.
    inner = function.func if isinstance(function, partial) else function
    annotated = inner if hasattr(inner, "__annotations__") else type(inner).__call__
    try:
        types = get_type_hints(annotated, include_extras=True)
    except NameError as error:
        raise BadInput(
            f"A type of the tool '{name}' cannot be found: {error}", "Import it where it is used."
        ) from error
    return {parameter: type_ for parameter, type_ in types.items() if parameter != "return"}


def _arguments(name: str, fields: dict[str, Any]) -> type[CheckedArguments]:
    try:
        arguments: type[CheckedArguments] = create_model(f"{name}_arguments", __base__=CheckedArguments, **fields)
        arguments.model_json_schema()
    except (PydanticUserError, AttributeError, TypeError) as error:
        raise BadInput(f"A type of the tool '{name}' cannot be checked", str(error).splitlines()[0]) from error
    return arguments


def _result(returned: object) -> Result:
    if isinstance(returned, Result):
        return returned
    if returned is None:
        return Result("Done.")
    as_text = returned if isinstance(returned, str) else to_json(returned, fallback=str, bytes_mode="base64").decode()
    return Result(as_text)
