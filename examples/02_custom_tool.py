"""Give an agent a tool of your own: a typed function with a docstring. Get the result as an object, not as text."""

from pydantic import BaseModel

from deskmate import Team, ToolError, tool

ORDERS = {"7": "in transit since Monday", "8": "delivered"}


@tool
def lookup(order_id: str) -> str:
    """Return the status of an order."""
    if order_id not in ORDERS:
        raise ToolError(f"There is no order {order_id}. The orders are {', '.join(ORDERS)}.")
    return ORDERS[order_id]


class Report(BaseModel):
    """What the program wants to know."""

    late: list[str]
    why: str


team = Team("support", tools=[lookup])
outcome = team.run_sync("Which of the orders 7 and 8 are late, and why?", result_type=Report)
print(outcome.text)
print(outcome.result.late, outcome.result.why)
