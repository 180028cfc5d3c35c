"""Work that is left at the end, and who is reminded of it."""

from deskmate.core.agent.actions import Action, Nudge, Report
from deskmate.core.agent.view import View
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.tasks import in_progress_of


def nudge(view: View) -> Action | None:
    """Remind an agent once, then tell the lead, unless the agent waits for someone or something."""
    if view.memory.requests or view.memory.background or view.over:
        return None
    if view.work_mode.planning:
        return _nudge_planner(view)
    if view.me.kind is not AgentKind.TEAMMATE:
        return None
    for task in in_progress_of(view.board, view.me.name):
        stood = (task.id, task.epoch)
        if stood not in view.memory.nudged:
            return Nudge(task.id)
        if stood not in view.memory.reported:
            return Report(task.id)
    return None


def _nudge_planner(view: View) -> Action | None:
    """Remind a planner that ended a turn without a plan. After the next such turn, tell its approver."""
    memory, due = view.memory, (0, view.memory.plan_round)
    if view.me.kind is AgentKind.SUBAGENT or not memory.planless or due in memory.reported:
        return None
    if due not in memory.nudged:
        return Nudge(0)
    return Report(0) if memory.planless > 1 else None
