"""The fields of a task that somebody wants to create or change.

Every way to create or change a task takes these: programs, tools, commands and the board itself. On disk, they are the
fields of `Created` and `TaskEdited`. `tests/core/team/test_task_fields.py` compares all of them.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Union

from deskmate.core.values import frozen

# The fields that are text. `Task` has them too.
TEXTS = ("subject", "description", "active_form", "role", "verify")


@dataclass(frozen=True, slots=True, eq=False)
class NewTask:
    """A task to put on the board. `blocked_by`: the tasks that must be completed first.

    `active_form`: what is shown while it is in progress. `owner`: the member that gets it. `role`: only members of that
    role, or of that name, take it. `verify`: a command that must succeed before the task counts as completed.

    A program that does not know the numbers of tasks yet names other new tasks in `blocked_by`. The board takes only
    numbers.
    """

    subject: str
    description: str = ""
    active_form: str = ""
    blocked_by: Collection[Union[int, "NewTask"]] = ()
    owner: str | None = None
    role: str | None = None
    verify: str | None = None


@frozen
class TaskChange:
    """What to change in a task. A field that is None stays as it is. An empty role or verify removes the old one.

    `add_blocks`: the tasks that wait for this one from now on.
    """

    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    role: str | None = None
    verify: str | None = None
    add_blocked_by: Collection[int] = ()
    remove_blocked_by: Collection[int] = ()
    add_blocks: Collection[int] = ()


def values(task: NewTask | TaskChange) -> dict[str, Any]:
    """Return the fields by name, for a record."""
    return {field.name: getattr(task, field.name) for field in fields(task)}
