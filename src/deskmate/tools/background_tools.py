"""TaskOutput, TaskStop."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator, Field

from deskmate.core.agent.tool_results import Result
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.durations import MOST_SECONDS, read_seconds
from deskmate.tools.tool_base import Arguments, Described


class StopArguments(Arguments):
    """The id of what runs in the background."""

    task_id: str


class OutputArguments(StopArguments):
    """What to read, and how long to wait for it."""

    block: bool = Field(False, description="wait until it ends")
    timeout: Annotated[float, BeforeValidator(read_seconds(0))] = Field(
        30, ge=0, le=MOST_SECONDS, description="seconds to wait, 600 at most"
    )


class TaskOutput(Described):
    """Shows the output of a background command or subagent."""

    async def run(self, arguments: OutputArguments, context: ToolContext) -> Result:
        """Return the output so far, or all of it if it has ended."""
        seconds = arguments.timeout
        return await context.background.output(arguments.task_id, block=arguments.block, timeout_seconds=seconds)


class TaskStop(Described):
    """Stops a background command or subagent."""

    async def run(self, arguments: StopArguments, context: ToolContext) -> Result:
        """Stop it and return what `background.stop` reports."""
        return await context.background.stop(arguments.task_id)


def tools() -> Iterable[Tool]:
    """Return the tools of this family."""
    return [
        TaskOutput("TaskOutput", text("tools/TaskOutput"), OutputArguments),
        TaskStop("TaskStop", text("tools/TaskStop"), StopArguments),
    ]
