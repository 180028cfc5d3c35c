"""A script that plays the model for the examples, so that you can run them without a key:

    python -m deskmate.testing.fake_provider --script examples/scripts.py:SCRIPT

This prints the address of the provider and runs until you press Ctrl-D, so use a separate terminal. Set
ANTHROPIC_BASE_URL to the address, and ANTHROPIC_API_KEY to anything. The words of the goal select the steps.
"""

from collections.abc import Mapping, Sequence

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import complete_task, step

Part = Sequence[str | Say]


def use(tool: str, **arguments: object) -> Say:
    """Return a call of a tool."""
    return Say(calls=[Use(tool, arguments)])


WAITS = ("They are working.", "Both tasks are done.", "Both are done.")
# Words that occur in a conversation → the steps of its agent.
PARTS: Mapping[str, Part] = {
    "In which file": [use("glob", pattern="*.toml"), "In pyproject.toml."],
    "orders 7 and 8 are late": [
        Say("I will look at both.", [Use("lookup", {"order_id": "7"}), Use("lookup", {"order_id": "8"})]),
        use("submit_result", result={"late": ["7"], "why": "in transit since Monday"}),
        "Order 7 is late.",
    ],
    "have not arrived": [use("lookup", order_id="7"), "Order 7 is late: it has been in transit since Monday."],
    "You are ada": [
        use("write_file", path="schema.sql", content="create table books (title);\n"),
        Say(calls=[complete_task(1)]),
        "Done.",
    ],
    "You are bob": [
        use("write_file", path="page.html", content="<li>title</li>\n"),
        Say(calls=[complete_task(2)]),
        "Done.",
    ],
    "Your teammates do the tasks": [*WAITS, "A schema and a page."],
    "Which files are here": [use("glob", pattern="*"), "One: notes.txt.", "notes.txt, the only one."],
    "Refund $20": [
        use("refund", order_id="7", dollars=20),
        use("refund", order_id="8", dollars=900),
        "Order 7 is refunded. I may not refund order 8.",
    ],
    "Measure it once": [use("measure"), use("measure"), "It takes 42 ms."],
}


def SCRIPT(asked: Asked) -> Say:  # noqa: N802, a script's name is a constant, whether it is a list or a function
    """Return the next step. Each earlier answer of the model in the conversation is one step."""
    words = f"{asked.prompt.system}\n{asked.prompt.passages}"
    part = next((part for mark, part in PARTS.items() if mark in words), ("I know only the examples.",))
    says = part[min(step(asked), len(part) - 1)]
    return Say(says) if isinstance(says, str) else says
