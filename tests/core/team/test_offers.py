"""Offers of work on the board: who may make them, and what ends them."""

import pytest

from deskmate.core.log.records import Record
from deskmate.core.team.board_fold import fold
from deskmate.core.team.board_rules import refusal
from deskmate.core.team.tasks import (
    EMPTY,
    Assigned,
    BoardEvent,
    BoardState,
    Claimed,
    Completed,
    Created,
    Deleted,
    Offer,
    Offered,
    Released,
    Returned,
    TaskStatus,
    merge_queue,
)

pytestmark = pytest.mark.behaviour("worktree")
COMMIT, OTHER, MERGED = "a" * 40, "b" * 40, "c" * 40


def board(*events: BoardEvent) -> BoardState:
    return fold(EMPTY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


def created(task: int, *, owner: str | None = None, verify: str | None = None) -> Created:
    return Created(by="lead", at=0, task=task, subject=f"task {task}", owner=owner, verify=verify)


def claimed(task: int, by: str) -> Claimed:
    return Claimed(by=by, at=0, task=task, epoch=0)


def offered(task: int = 1, by: str = "ann", commit: str = COMMIT, epoch: int = 1) -> Offered:
    return Offered(by=by, at=0, task=task, epoch=epoch, commit=commit)


START = (created(1), claimed(1, "ann"))


def test_offered_work_waits_in_the_order_of_its_offers() -> None:
    state = board(*START, created(2), claimed(2, "bob"), offered(2, "bob"), offered(1, "ann"))
    assert [task.id for task in merge_queue(state)] == [2, 1]
    assert state.tasks[1].status is TaskStatus.IN_PROGRESS


def test_the_last_offer_of_a_task_counts() -> None:
    assert board(*START, offered(), offered(commit=OTHER)).tasks[1].offer == Offer(4, OTHER)


@pytest.mark.parametrize(
    "ending",
    [
        Returned(by="ann", at=0, task=1, offer=3, reason="conflict"),
        Completed(by="ann", at=0, task=1, epoch=1, merged=MERGED),
        Released(by="ann", at=0, task=1, epoch=1),
        Assigned(by="lead", at=0, task=1, owner="bob", epoch=1),
        Deleted(by="lead", at=0, task=1),
    ],
    ids=lambda event: event.type,
)
def test_nothing_waits_after_it_was_returned_or_merged_or_the_task_changed_hands(ending: BoardEvent) -> None:
    assert not merge_queue(board(*START, offered(), ending))


def test_the_owner_of_returned_work_still_has_the_task() -> None:
    task = board(*START, offered(), Returned(by="ann", at=0, task=1, offer=3, reason="conflict")).tasks[1]
    assert (task.status, task.owner, task.returned) == (TaskStatus.IN_PROGRESS, "ann", "conflict")


def test_a_merged_task_has_its_commit() -> None:
    task = board(*START, offered(), Completed(by="ann", at=0, task=1, epoch=1, merged=MERGED)).tasks[1]
    assert (task.status, task.merged) == (TaskStatus.COMPLETED, MERGED)


@pytest.mark.parametrize(
    "event",
    [
        offered(by="bob"),
        offered(epoch=0),
        offered(task=2),
        Returned(by="ann", at=0, task=1, offer=2, reason="no such offer"),
    ],
    ids=["not the owner", "an old epoch", "not in progress", "another offer"],
)
def test_what_is_not_offered_by_its_owner_now_is_refused(event: BoardEvent) -> None:
    assert refusal(board(*START, offered(), created(2, owner="ann")), event)


def test_work_without_the_receipt_of_its_command_is_refused() -> None:
    assert refusal(board(created(1, verify="make"), claimed(1, "ann")), offered())
