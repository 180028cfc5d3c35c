"""When the goal of a lead is checked: whenever it would end its turn, and nobody else can change anything."""

from deskmate.core.agent.actions import CheckGoal, Rest
from deskmate.core.agent.rules.quiet import all_quiet
from deskmate.core.agent.view import View
from deskmate.core.goals import is_open
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.status import Idle


def goal_check(view: View, rest: Rest) -> CheckGoal | None:
    """Return that the goal is checked now; None if there is none, or the lead rests for another reason.

    A lead that is parked, was interrupted or waits for something is not checked, nor one that was told that its
    teammates are dismissed: then the run is about to end.
    """
    memory = view.memory
    if not is_open(memory.goal) or view.me.kind is not AgentKind.LEAD:
        return None
    stays = memory.interrupted or memory.parked or memory.dismissed or view.time_is_up or memory.away
    return CheckGoal() if isinstance(rest.status, Idle) and not stays and all_quiet(view) else None
