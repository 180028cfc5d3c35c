"""Results for programs."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from deskmate.core.team.status import status_word

if TYPE_CHECKING:
    from deskmate.app import Outcome
    from deskmate.core.goals import Goal

Fields: TypeAlias = dict[str, Any]

_OPEN_TASKS = 20


def line(fields: object) -> str:
    """Return a value as one line of ASCII: no encoding can break it, and no terminal obeys it."""
    return json.dumps(fields)


def _goal(goal: "Goal | None") -> Fields | None:
    if goal is None:
        return None
    fields = {"until": goal.until, "judged": goal.judge, "rounds": goal.round, "met": goal.met}
    return {**fields, "ended": goal.ended or None}


def of_outcome(outcome: "Outcome", model: str, code: int, *, wants_result: bool = False) -> Fields:
    """Return the result of a run that ends with an exit code. `unfinished` names the first few open tasks.

    `wants_result`: the lead had to submit a result. `team` is null if no team was kept, `cost_usd` if a price is not
    known.
    """
    left = outcome.unfinished
    return {
        "team": outcome.team if outcome.kept else None,
        "text": outcome.text,
        "end": outcome.end,
        "reason": outcome.reason,
        "exit_code": code,
        "steps": outcome.steps,
        "usage": asdict(outcome.usage),
        # Nine decimals: sums of small floats end in digits that mean nothing.
        "cost_usd": None if outcome.cost is None else round(outcome.cost, 9),
        "model": model,
        "tasks": {"open": len(left), "done": len(outcome.tasks) - len(left)},
        "unfinished": [{"id": task.id, "subject": task.subject} for task in left[:_OPEN_TASKS]],
        "goal": _goal(outcome.goal),
        "members": [{"name": one.name, "role": one.role, "status": status_word(one.status)} for one in outcome.members],
        "files": list(outcome.files),
        **({"structured_output": outcome.result} if wants_result else {}),
        "dismissed": list(outcome.dismissed),
        "stopped": [{"id": id_, "command": command} for id_, command in outcome.stopped.items()],
    }
