"""Decide in code what agents may do: this program allows small refunds and nothing else."""

from deskmate import Answer, Question, Team, tool

LIMIT = 50


@tool(asks=True)
def refund(order_id: str, dollars: int) -> str:
    """Refund an order."""
    return f"refunded ${dollars} for order {order_id}"


def decide(question: Question) -> Answer:
    """Answer yes or no. A question names the member, the tool and its arguments."""
    allowed = question.tool == "refund" and question.arguments["dollars"] <= LIMIT
    print(f"{question.member} asks for {question.tool} {dict(question.arguments)}: {'yes' if allowed else 'no'}")
    return "yes" if allowed else "no"


outcome = Team("refunds", tools=[refund]).run_sync("Refund $20 for order 7 and $900 for order 8.", on_question=decide)
print(outcome.text)
