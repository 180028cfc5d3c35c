"""Task: send a subagent on an errand. The runtime below plays it, with a fresh context; its last words come back."""

from collections.abc import Iterable

from pydantic import Field

from deskmate.core.results import Result
from deskmate.core.roles import AgentType
from deskmate.ports import Desk, Tool
from deskmate.tools.described import Arguments, Described, texts


class ErrandArguments(Arguments):
    """What to send a subagent for."""

    description: str = Field("", description="a few words for the screen")
    prompt: str = Field(min_length=1, description="all it needs to know")
    subagent_type: AgentType = AgentType.GENERAL
    run_in_background: bool = Field(False, description="return at once")


class Errand(Described):
    """Sends subagents."""

    async def run(self, arguments: ErrandArguments, desk: Desk) -> Result:
        """Return what the subagent said last, or start it and return its id."""
        if not arguments.run_in_background:
            return await desk.errand(arguments.prompt, arguments.subagent_type)
        id_ = desk.background.start("a", lambda _: desk.errand(arguments.prompt, arguments.subagent_type))
        return Result(f"sent in the background as {id_}; look with TaskOutput, end it with TaskStop", background=id_)


def tools() -> Iterable[Tool]:
    """Return the tool of this family."""
    return [Errand("Task", texts("errands")["Task"], ErrandArguments)]
