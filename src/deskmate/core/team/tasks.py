"""Tasks and the records of the board.

A board is a value: the fold of the records of one stream. Nothing here changes one. `board_rules` says what is allowed,
and `board_fold` folds what happened.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import known_name
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Json
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.values import frozen
from deskmate.errors import BadInput

_ID = re.compile(r"#?([1-9][0-9]{0,15})")
# The characters that separate the words of a role.
_SPACING = re.compile(r"[\s_\u2010-\u2015-]+")


class TaskStatus(StrEnum):
    """How far the work on a task has got."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    DELETED = "deleted"


class Revision(NamedTuple):
    """The commit that a folder is at. `clean`: whether everything is committed; None if unknown."""

    commit: str
    clean: bool | None


class Receipt(BaseModel):
    """How the command that verifies a task ended, where it ran, and at which commit.

    `clean`: whether everything was committed before it ran. Both are None if unknown.
    """

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    command: str
    workspace: str
    commit: str | None = None
    clean: bool | None = None
    exit: int
    output: str

    @model_serializer(mode="wrap")
    def _without_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out unknown fields, as receipts did before these fields existed."""
        fields: dict[str, object] = write(self)
        return {name: value for name, value in fields.items() if name != "clean" or value is not None}


@frozen
class Offer:
    """Work on a task that waits to be merged into the team's branch. `number`: the record that offered it.

    `commit`: what is to be merged. `receipt`: how the task's command ended in the tree of its owner.
    """

    number: int
    commit: str
    receipt: Receipt | None = None


class Note(NamedTuple):
    """What a member said about a task when it gave it back."""

    by: str
    text: str


@frozen
class Task:
    """One piece of work. `epoch` counts its changes of owner. Times are for people; `began`, `ended`: 0 if not yet.

    `edits`: who last changed each field, including `blocked_by`, after the task was created; `edited_in`: the record of
    that. `changed_by`, `changed_in`: who last changed anything, and in which record; tasks that differ only in these
    are equal. `deleted_by`: who deleted it, in record `deleted_in`. `offer`: its work, while that waits to be merged.
    `returned`: why its work was last not merged. `merged`: the commit of the team's branch that has its work.
    """

    id: int
    subject: str
    description: str = ""
    active_form: str = ""
    status: TaskStatus = TaskStatus.PENDING
    owner: str | None = None
    epoch: int = 0
    blocked_by: frozenset[int] = frozenset()
    role: str | None = None
    verify: str | None = None
    created: float = 0.0
    updated: float = 0.0
    began: float = field(default=0.0, compare=False)
    ended: float = field(default=0.0, compare=False)
    notes: tuple[Note, ...] = ()
    receipt: Receipt | None = None
    created_by: str = ""
    edits: Mapping[str, str] = field(default_factory=dict)
    edited_in: Mapping[str, int] = field(default_factory=dict, compare=False)
    changed_by: str = field(default="", compare=False)
    changed_in: int = field(default=0, compare=False)
    deleted_by: str = ""
    deleted_in: int = 0
    offer: Offer | None = None
    returned: str = ""
    merged: str | None = None

    @property
    def editors(self) -> tuple[str, ...]:
        """All members except its creator who wrote part of its current text or made it wait for other tasks."""
        return tuple(dict.fromkeys(name for name in self.edits.values() if name != self.created_by))

    @property
    def is_open(self) -> bool:
        """Whether there is still something to do."""
        return self.status in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


@frozen
class BoardState:
    """All tasks of a team as of record `number`, including deleted ones, lowest number first.

    working   member → the task it has in progress
    next_id   the number of the next task: no record can have used it, not even a lost one
    causes    cause → number of the record that was its first effect
    overlaps  where the work of members in different trees meets → number of the record that said so first
    damaged   numbers of lost records that nobody has accepted
    skipped   the last few records that changed nothing, and why
    """

    tasks: Mapping[int, Task] = field(default_factory=dict)
    working: Mapping[str, int] = field(default_factory=dict)
    number: int = 0
    next_id: int = 1
    causes: Seen[int] = field(default_factory=Seen)
    overlaps: Mapping[Overlap, int] = field(default_factory=dict)
    damaged: Set[int] = frozenset()
    skipped: tuple[str, ...] = ()

    @property
    def current(self) -> tuple[Task, ...]:
        """All tasks except deleted ones."""
        return tuple(task for task in self.tasks.values() if task.status is not TaskStatus.DELETED)


EMPTY = BoardState()


# -- what can happen ------------------------------------------------------------------------------


Member = Annotated[str, AfterValidator(known_name)]
TaskId = Annotated[int, Field(strict=True, ge=1)]
TaskIds = Annotated[frozenset[TaskId], PlainSerializer(sorted, return_type=list[int])]
# The epoch the writer saw: a writer with an older one has lost the task since.
Epoch = Annotated[int, Field(strict=True, ge=0)]


class BoardFact(Fact):
    """Something that happened to the board. `cause` is the id of the call that wanted it."""

    by: Member
    at: float = Field(allow_inf_nan=False)
    cause: str | None = None


class Created(BoardFact):
    """A task was put on the board. If it has an owner, it waits for that member."""

    type: Literal["task_created"] = "task_created"
    task: TaskId
    subject: str
    description: str = ""
    active_form: str = ""
    blocked_by: TaskIds = frozenset()
    owner: Member | None = None
    role: str | None = None
    verify: str | None = None


class TaskEdited(BoardFact):
    """The given fields were changed. An empty role or verify removes the old one."""

    type: Literal["task_edited"] = "task_edited"
    task: TaskId
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    role: str | None = None
    verify: str | None = None
    add_blocked_by: TaskIds = frozenset()
    remove_blocked_by: TaskIds = frozenset()
    add_blocks: TaskIds = frozenset()


class Claimed(BoardFact):
    """`by` took the task and began."""

    type: Literal["task_claimed"] = "task_claimed"
    task: TaskId
    epoch: Epoch


class Assigned(BoardFact):
    """The task was put in `owner`'s queue, even if another member had it before."""

    type: Literal["task_assigned"] = "task_assigned"
    task: TaskId
    owner: Member
    epoch: Epoch


class Released(BoardFact):
    """The task went back to the board, with a note on its progress."""

    type: Literal["task_released"] = "task_released"
    task: TaskId
    epoch: Epoch
    note: str = ""


class Offered(BoardFact):
    """The owner's work on the task waits to be merged into the team's branch. The last offer of a task counts."""

    type: Literal["task_offered"] = "task_offered"
    task: TaskId
    epoch: Epoch
    commit: str
    receipt: Receipt | None = None


class Returned(BoardFact):
    """The work that record `offer` offered was not merged. Its owner still has the task in progress."""

    type: Literal["task_returned"] = "task_returned"
    task: TaskId
    offer: int = Field(strict=True, ge=1)
    reason: str


class Completed(BoardFact):
    """The task was done. The receipt proves it if the task has a command to verify it.

    `merged`: the commit of the team's branch that has its work, if its owner worked in a tree of its own.
    """

    type: Literal["task_completed"] = "task_completed"
    task: TaskId
    epoch: Epoch
    receipt: Receipt | None = None
    merged: str | None = None


class Deleted(BoardFact):
    """The task was deleted, with every edge to and from it."""

    type: Literal["task_deleted"] = "task_deleted"
    task: TaskId


class BoardLossAccepted(BoardFact):
    """A person looked at the damage at record `number` and wants to continue without it."""

    type: Literal["accepted"] = "accepted"
    number: int = Field(strict=True, ge=1)


class OverlapsSeen(BoardFact):
    """This is all work of members that meets now. It replaces what was seen before."""

    type: Literal["overlaps_seen"] = "overlaps_seen"
    overlaps: tuple[Overlap, ...]


TaskEvent: TypeAlias = Created | TaskEdited | Claimed | Assigned | Released | Offered | Returned | Completed | Deleted
BoardEvent: TypeAlias = TaskEvent | BoardLossAccepted | OverlapsSeen

KINDS: tuple[type[BoardEvent], ...] = (
    Created,
    TaskEdited,
    Claimed,
    Assigned,
    Released,
    Offered,
    Returned,
    Completed,
    Deleted,
    BoardLossAccepted,
    OverlapsSeen,
)
read_event: Callable[[Json], BoardEvent | Foreign] = reader(*KINDS)


# -- what can be asked ----------------------------------------------------------------------------


def parse_id(text: str | int) -> int:
    """Return the number of a task written as 3, "3" or "#3"; raise BadInput for anything else."""
    if isinstance(text, str) and (found := _ID.fullmatch(text)):
        return int(found[1])
    if type(text) is int and text > 0:
        return text
    raise BadInput(f'{ascii(text)[:80]} is not a task number: write 3, "3" or "#3"')


def blockers(board: BoardState, task: Task) -> list[int]:
    """Return what an open task still waits for, lowest first; empty for a task that is over."""
    if not (task.blocked_by and task.is_open):
        return []
    return sorted(id for id in task.blocked_by if board.tasks[id].status is not TaskStatus.COMPLETED)


def is_blocked(board: BoardState, task: Task) -> bool:
    """Tell whether a task still waits for another."""
    return bool(blockers(board, task))


def blocks(board: BoardState, id: int) -> frozenset[int]:
    """Return the tasks that name this one as a blocker."""
    return frozenset(task.id for task in board.tasks.values() if id in task.blocked_by)


def freed_by(board: BoardState, id: int) -> list[Task]:
    """Return the tasks that wait only for this one, so that its end unblocks them. Call this before it ends."""
    return [task for task in board.tasks.values() if id in task.blocked_by and blockers(board, task) == [id]]


@lru_cache(maxsize=4096)
def role_key(role: str) -> str:
    """Return a role for comparison, ignoring case, width, and how its words are separated."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", role).casefold())
    return _SPACING.sub(" ", folded).strip()


def fits(task: Task, *, name: str, role: str | None, reads_only: bool) -> bool:
    """Tell whether the task is for this member. A read-only member takes only tasks whose role names it."""
    if task.role is None or not role_key(task.role):
        return not reads_only
    # A member that reserves a task for itself does not offer it to every member whose role is the same word.
    if task.role == task.created_by:
        return name == task.created_by
    return role_key(task.role) in (role_key(name), role_key(role or ""))


def claimable(board: BoardState, *, name: str, role: str | None, reads_only: bool) -> list[Task]:
    """Return the free tasks a member may begin, lowest number first; none while damage stops claims."""
    return [task for task in _ready(board, None) if fits(task, name=name, role=role, reads_only=reads_only)]


def next_claimable(board: BoardState, *, name: str, role: str | None, reads_only: bool) -> Task | None:
    """Return the first claimable task without looking at the rest."""
    ready = _ready(board, None)
    return next((task for task in ready if fits(task, name=name, role=role, reads_only=reads_only)), None)


def assigned(board: BoardState, name: str) -> list[Task]:
    """Return the tasks in a member's queue that it may begin, lowest number first; none while damage stops claims."""
    return list(_ready(board, name))


def in_progress_of(board: BoardState, name: str) -> list[Task]:
    """Return the task a member works on, at most one."""
    return [board.tasks[board.working[name]]] if name in board.working else []


def merge_queue(board: BoardState) -> list[Task]:
    """Return the tasks whose work waits to be merged, in the order of their offers."""
    offers = {task.offer.number: task for task in board.tasks.values() if task.offer}
    return [offers[number] for number in sorted(offers)]


def _ready(board: BoardState, owner: str | None) -> Iterator[Task]:
    for task in () if board.damaged else board.tasks.values():
        if task.status is TaskStatus.PENDING and task.owner == owner and not is_blocked(board, task):
            yield task
