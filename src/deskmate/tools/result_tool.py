"""submit_result: a result of a wanted shape, submitted by the lead.

The lead gets this tool only if a program or an option asks for such a result. Its argument is the result. What does not
fit is refused with the reason, so the model tries again. The result is read from the lead's transcript, so it survives
the process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pydantic import BaseModel, ValidationError

from deskmate.core.agent.answer import asked_at
from deskmate.core.agent.entries import Call, Did, Entry, Said
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.work_mode import RESULT_TOOL
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Described

# How often the lead is told that its result is missing, and how often it may submit one that does not fit.
REMINDERS, MOST_REFUSED = 2, 5


def reminder() -> str:
    """Return what the lead is told if it ended its turn without a result."""
    return text("no_result")


def _anything(value: Any) -> Any:
    return value


@frozen
class HandedIn:
    """A result that was submitted. It may be None."""

    value: Any


@frozen
class ResultTool(Described):
    """The tool with which the lead submits its result. `values`: what was submitted here, by call.

    `schema`: what the model reads of the arguments, if it is not that of their class. `fit`: returns a result as it is
    wanted, or raises ToolError that says what is wrong. `refused`: what was wrong so far.
    """

    schema: Mapping[str, Any] | None = None
    fit: Callable[[Any], Any] = _anything
    values: dict[str, Any] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, arguments: type[BaseModel], **parts: Any) -> "ResultTool":
        """Return the tool for a result that these arguments have."""
        return cls(RESULT_TOOL, text("tools/submit_result"), arguments, **parts)

    async def run(self, arguments: BaseModel, context: ToolContext) -> Result:
        """Take the result."""
        try:
            self.values[context.call] = self.fit(_value(arguments))
        except ToolError as error:
            self.refused.append(str(error))
            if self.is_given_up:
                raise ToolError(
                    f"{error} It was refused {MOST_REFUSED} times. End your turn now and say why."
                ) from error
            raise
        return Result("The result is submitted. End your turn now with one sentence.")

    @property
    def is_given_up(self) -> bool:
        """Whether so many results did not fit that the lead is not asked again."""
        return len(self.refused) >= MOST_REFUSED

    @property
    def why_none(self) -> str:
        """Why there is no result."""
        why = f"none fits. {self.refused[-1]}" if self.refused else "none was submitted"
        return f"the lead answered, but without the result that was asked for: {why}"

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
        """Return a result of another process, as it was recorded: with secrets replaced, perhaps of another shape."""
        try:
            return HandedIn(self.fit(_value(self.arguments.model_validate(call.arguments))))
        except (ValidationError, ToolError):
            return None


def _value(arguments: BaseModel) -> Any:
    return getattr(arguments, "result")  # noqa: B009, the class may be made of a type that a program gives
