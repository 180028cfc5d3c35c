"""ExitPlanMode: hand in a plan. It is mail to whoever decides; the agent above reads on until the answer is heard."""

from collections.abc import Iterable

from pydantic import Field

from deskmate.core.entries import Opened
from deskmate.core.handshakes import Shake
from deskmate.core.messages import PlanRequest
from deskmate.core.names import LEAD, USER
from deskmate.core.results import Result
from deskmate.core.roles import Kind
from deskmate.errors import ToolError
from deskmate.ports import Desk, Tool
from deskmate.texts import text
from deskmate.tools.described import Arguments, Described


class PlanArguments(Arguments):
    """What is planned."""

    plan: str = Field(min_length=1, description="what you will change, where, and how you will check it")


class ExitPlanMode(Described):
    """Hands in plans."""

    async def run(self, arguments: PlanArguments, desk: Desk) -> Result:
        """Ask for approval; raise ToolError for a blank plan, who does not plan, or waits for a word on one already."""
        if not arguments.plan.strip():
            raise ToolError("the plan is blank; say what you will change, where, and how you check it")
        if not desk.memory.planning:
            raise ToolError("you are not in plan mode; there is nothing to approve, go on with the work")
        waiting = [request for request in desk.memory.requests.values() if request.shake is Shake.PLAN]
        if waiting:
            raise ToolError(f"your plan {waiting[0].id} waits for the answer of {waiting[0].asked}; end your turn")
        # Nobody approves a plan of their own.
        asked = USER if desk.me.kind is Kind.LEAD else LEAD
        await desk.mail.send(asked, PlanRequest(request_id=desk.call, content=arguments.plan), id_=desk.call)
        opened = Opened(request_id=desk.call, shake=Shake.PLAN, asked=asked)
        return Result(
            f"submitted to {asked} (request {desk.call}); end your turn and wait for the answer", opened=opened
        )


def tools() -> Iterable[Tool]:
    """Return the tool of this family."""
    return [ExitPlanMode("ExitPlanMode", text("tools/ExitPlanMode"), PlanArguments)]
