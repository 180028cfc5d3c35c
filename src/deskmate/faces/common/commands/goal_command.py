"""/goal: what must be so before the lead ends its work, shown, set and ended."""

from typing import TYPE_CHECKING

from deskmate.core.goals import Goal, GoalRound, is_open
from deskmate.errors import Refused
from deskmate.faces.common.terminal_text import one_line

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


async def goal_lines(session: "TeamSession", rest: str) -> list[str]:
    """Carry out /goal and return the lines to show. Raises Refused."""
    # Imported here because it is loaded only where a lead runs.
    from deskmate.app.session import Session

    if not isinstance(session, Session):
        raise Refused(
            "A goal can only be set in the window that runs the team",
            "Type /goal there, or start a run with: deskmate run --until COMMAND",
        )
    if not rest:
        return [_shown(session.goal)]
    if rest == "off":
        if not is_open(session.goal):
            raise Refused("There is no goal that is still checked", "To set one: /goal CONDITION, or /goal !COMMAND")
        await session.set_goal(GoalRound(until=""))
        return ["the goal is ended"]
    command = rest[1:].strip() if rest.startswith("!") else ""
    goal = GoalRound(until=command or rest, judge=not command)
    await session.set_goal(goal)
    how = "this command succeeds" if command else "the model judges that this is so"
    return [f"the lead goes on until {how}: {one_line(goal.until)}", "To end the goal: /goal off"]


def _shown(goal: Goal | None) -> str:
    if goal is None:
        return "There is no goal. To set one: /goal CONDITION, or /goal !COMMAND"
    what = f"judged: {goal.until}" if goal.judge else f"!{goal.until}"
    return f"{one_line(what)} ({goal.summary if goal.round else 'not checked yet'})"
