"""How a run ended."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal, TypeAlias

from deskmate.core.goals import Goal
from deskmate.core.prompt.prompts import Usage
from deskmate.core.team.members import Member
from deskmate.core.team.tasks import Task
from deskmate.core.values import frozen
from deskmate.errors import RunStopped

End: TypeAlias = Literal["answered", "planned", "asking", "parked", "interrupted"]


@frozen
class Outcome:
    """How a run ended: the answer, why it ended, and what it cost.

    `planned`: the text is the lead's plan, which waits for the user's approval. `asking`: a question of a member waits
    for an answer. `cost`: None if a price is not known. `tasks`: the board at the end, without deleted tasks. `kept`:
    whether the team still exists. A team that was begun here and that no model ever answered is removed. `dismissed`:
    teammates that the lead had not asked to stop. `stopped`: commands that ran in the background until the end, by id.
    `files`: what members changed with `write_file` and `edit_file`, by path. What commands changed is not included.
    `members`: everybody on the team, also those that left. `goal`: of the lead, if it had one. `result`: what the lead
    submitted, if the program asked for a result of a type. `has_result`: it did, since a result may be None.
    """

    team: str
    text: str
    end: End
    reason: str
    steps: int
    usage: Usage
    cost: float | None
    tasks: tuple[Task, ...] = ()
    kept: bool = True
    dismissed: tuple[str, ...] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    goal: Goal | None = None
    result: Any = None
    has_result: bool = False

    @property
    def unfinished(self) -> tuple[Task, ...]:
        """The tasks that are not done."""
        return tuple(task for task in self.tasks if task.status != "completed")

    @property
    def leaves_work(self) -> bool:
        """Whether the run left unfinished work."""
        return bool(self.unfinished or self.dismissed or self.stopped or (self.goal and not self.goal.met))

    def checked(self) -> "Outcome":
        """Return this outcome, or raise RunStopped if the lead could not finish."""
        if self.end not in ("parked", "interrupted"):
            return self
        hint = "Fix that, then continue with resume()." if self.kept else "Fix that, then run it again."
        raise RunStopped(
            f"Team '{self.team}' stopped before it finished. Its lead is {self.end}: {self.reason}", self, hint
        )

    def after(self, earlier: "Outcome") -> "Outcome":
        """Return this outcome with what an earlier turn of the same run said, changed and spent."""
        return replace(
            self,
            text="\n\n".join(filter(None, [earlier.text, self.text])),
            steps=earlier.steps + self.steps,
            usage=earlier.usage.plus(self.usage),
            cost=None if earlier.cost is None or self.cost is None else earlier.cost + self.cost,
            files=tuple(sorted({*earlier.files, *self.files})),
        )
