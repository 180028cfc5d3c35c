"""ExitPlanMode: submit a plan."""

from collections.abc import Iterable

from pydantic import Field

from deskmate.core.agent.entries import Opened
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import is_planning
from deskmate.core.team.messages import PlanRequest
from deskmate.errors import ToolError
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Arguments, Described


class PlanArguments(Arguments):
    """The plan to submit."""

    plan: str = Field(min_length=1, description="what you will change, where, and how you will check it")


class ExitPlanMode(Described):
    """Submits plans."""

    async def run(self, arguments: PlanArguments, context: ToolContext) -> Result:
        """Ask for approval. This replaces an older plan. Raises ToolError for a blank plan, or outside of plan mode."""
        if not arguments.plan.strip():
            raise ToolError("The plan is blank. Say what you will change, where, and how you will check it.")
        if not is_planning(context.roster, context.me.name, owes_plan=context.memory.owes_plan):
            raise ToolError("You are not in plan mode, so there is nothing to approve. Do the work.")
        older = next((id_ for id_, one in context.memory.requests.items() if one.shake is Shake.PLAN), "")
        # Nobody approves their own plan.
        asked = USER if context.me.kind is AgentKind.LEAD else LEAD
        await context.mail.send(asked, PlanRequest(request_id=context.call, content=arguments.plan), id_=context.call)
        opened = Opened(request_id=context.call, shake=Shake.PLAN, asked=asked)
        replaced = f" It replaces your plan {older}." if older else ""
        text = f"Submitted to {asked} (request {context.call}).{replaced} End your turn: the answer wakes you."
        return Result(text, opened=opened)


def tools() -> Iterable[Tool]:
    """Return the tool of this family."""
    return [ExitPlanMode("ExitPlanMode", text("tools/ExitPlanMode"), PlanArguments)]
