"""Tool calls as our texts print them.

Every text that tells a model to make a call prints it with `call_text`: `TaskUpdate(taskId=3, status="completed")`.
A value in capitals, such as `"WHY"`, is for the model to fill in.
"""

import json

# Values for the model to fill in. No member can have such a name: see `names`.
WHY = "WHY"
WORDS = "WORDS"
PLAN = "PLAN"


def call_text(tool: str, **arguments: object) -> str:
    """Return a call with its arguments in JSON, on one line."""
    values = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"{tool}({', '.join(values)})"


def ways_to_leave(request_id: str, *, forced: bool = False) -> str:
    """Return how a teammate answers a shutdown request. `forced`: it cannot refuse."""
    agree = call_text("SendMessage", type="shutdown_response", request_id=request_id, approve=True)
    if forced:
        return f"To leave: {agree}."
    refuse = call_text("SendMessage", type="shutdown_response", request_id=request_id, approve=False, content=WHY)
    return f"To leave: {agree}. To stay: {refuse}."


def ways_to_answer(planner: str, request_id: str) -> str:
    """Return how the lead answers a plan."""
    answer = {"type": "plan_approval_response", "recipient": planner, "request_id": request_id}
    approve = call_text("SendMessage", **answer, approve=True)
    refuse = call_text("SendMessage", **answer, approve=False, content=WHY)
    return f"To approve it: {approve}. To refuse it: {refuse}."


def submit_plan() -> str:
    """Return the call by which a planner asks for approval."""
    return call_text("ExitPlanMode", plan=PLAN)


def write_to(name: str) -> str:
    """Return the call by which an agent writes to a member."""
    return call_text("SendMessage", recipient=name, content=WORDS)


def ask_to_leave(name: str) -> str:
    """Return the call by which the lead asks a teammate to leave."""
    return call_text("SendMessage", type="shutdown_request", recipient=name)


def ways_to_end(number: int) -> str:
    """Return how the owner of a task ends work on it."""
    done = call_text("TaskUpdate", taskId=number, status="completed")
    undone = call_text("TaskUpdate", taskId=number, status="pending")
    return f"When it is done: {done}. If you cannot do it: {undone}."


def in_team(team: str) -> str:
    """Return the line above what a call in the lead's other team returned."""
    return f"In team '{team}':"


def use_board(team: str) -> str:
    """Return how a lead uses the board of its other team."""
    return f"The task tools use its board if you set team_name: {call_text('TaskList', team_name=team)}."


def see_team(team: str) -> str:
    """Return how an agent sees all members of a team that is too large for a list."""
    return f"To see all: {call_text('read_file', path=f'.teams/{team}/config.json')}."
