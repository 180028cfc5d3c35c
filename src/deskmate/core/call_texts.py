"""Calls as our texts print them, so that a model can make them exactly as printed.

Every text that tells a model to make a call prints it with `call_text`: `TaskUpdate(taskId=3, status="completed")`.
A value in capitals, such as `"WHY"`, is for the model to fill in.
"""

import json

# What a model fills in by itself. No member can have such a name: see `names`.
WHY = "WHY"
WORDS = "WORDS"
PLAN = "PLAN"


def call_text(tool: str, **arguments: object) -> str:
    """Return a call with its arguments in JSON, on one line."""
    values = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"{tool}({', '.join(values)})"


def agree_to_leave(request_id: str) -> str:
    """Return the call by which a teammate agrees to a shutdown request."""
    return call_text("SendMessage", type="shutdown_response", request_id=request_id, approve=True)


def refuse_to_leave(request_id: str) -> str:
    """Return the call by which a teammate refuses a shutdown request."""
    return call_text("SendMessage", type="shutdown_response", request_id=request_id, approve=False, content=WHY)


def approve_plan(planner: str, request_id: str) -> str:
    """Return the call by which the lead approves a plan."""
    kind = "plan_approval_response"
    return call_text("SendMessage", type=kind, recipient=planner, request_id=request_id, approve=True)


def refuse_plan(planner: str, request_id: str) -> str:
    """Return the call by which the lead refuses a plan."""
    kind = "plan_approval_response"
    return call_text("SendMessage", type=kind, recipient=planner, request_id=request_id, approve=False, content=WHY)


def hand_in_plan() -> str:
    """Return the call by which a planner asks for approval."""
    return call_text("ExitPlanMode", plan=PLAN)


def write_to(name: str) -> str:
    """Return the call by which an agent writes to a member."""
    return call_text("SendMessage", recipient=name, content=WORDS)


def ask_to_leave(name: str) -> str:
    """Return the call by which the lead asks a teammate to leave."""
    return call_text("SendMessage", type="shutdown_request", recipient=name)


def complete_task(number: int) -> str:
    """Return the call by which its owner completes a task."""
    return call_text("TaskUpdate", taskId=number, status="completed")


def give_back_task(number: int) -> str:
    """Return the call by which its owner gives a task back to the board."""
    return call_text("TaskUpdate", taskId=number, status="pending")
