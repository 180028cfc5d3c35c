"""A result of a type, submitted by the lead.

The lead gets one more tool whose argument is the result. What does not fit the type is refused with the reason, so the
model tries again. The result is read from the lead's transcript, so it survives the process.
"""

from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUserError

from deskmate.core.agent.answer import asked_at
from deskmate.core.agent.entries import Call, Did, Entry, Said
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.work_mode import RESULT_TOOL
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.ports import ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Described

# How often the lead is told that its result is missing.
REMINDERS = 2


@frozen
class HandedIn:
    """A result that was submitted. It may be None."""

    value: Any


@frozen
class ResultTool(Described):
    """The tool with which the lead submits its result. `values`: what was submitted here, by call."""

    values: dict[str, Any] = field(default_factory=dict)

    async def run(self, arguments: BaseModel, context: ToolContext) -> Result:
        """Take the result."""
        self.values[context.call] = _value(arguments)
        return Result("The result is submitted. End your turn now with one sentence.")

    def found_in(self, entries: Sequence[tuple[int, Entry]]) -> HandedIn | None:
        """Return the result that a lead submitted last since the user's last message, if any."""
        asked = asked_at(entries)
        calls: dict[str, Call] = {}
        last: str | None = None
        for number, entry in entries:
            match entry:
                case Said() if number > asked:
                    named = ((call_id(LEAD, number, i), call) for i, call in enumerate(entry.calls))
                    calls.update((id_, call) for id_, call in named if call.tool == RESULT_TOOL)
                case Did(call=call, ok=True) if call in calls:
                    last = call
        if last is None:
            return None
        return HandedIn(self.values[last]) if last in self.values else self._recorded(calls[last])

    def _recorded(self, call: Call) -> HandedIn | None:
        """Return a result of another process, as it was recorded: with secrets replaced, perhaps of another type."""
        try:
            return HandedIn(_value(self.arguments.model_validate(call.arguments)))
        except ValidationError:
            return None


def result_tool(result_type: Any) -> ResultTool:
    """Return the tool for a result of a type: a pydantic model, or any type that pydantic can check.

    Raises BadInput for any other type.
    """
    return ResultTool(RESULT_TOOL, text("tools/submit_result"), _arguments(result_type))


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


def _value(arguments: BaseModel) -> Any:
    return getattr(arguments, "result")  # noqa: B009, the class is made above
