"""What records make of a board: each kind of event, what is skipped, and what damage does."""

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import pytest

from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.team.board_fold import fold
from deskmate.core.team.board_rules import refusal
from deskmate.core.team.tasks import (
    EMPTY,
    Assigned,
    BoardEvent,
    BoardLossAccepted,
    BoardState,
    Claimed,
    Completed,
    Created,
    Deleted,
    Note,
    Receipt,
    Released,
    Task,
    TaskEdited,
    TaskStatus,
)
from tests.core.team.board_builder import board_of, records, then

NONE_SEEN: Seen[int] = Seen()

FIRST = Created(by="lead", at=1.0, task=1, subject="parse")
SECOND = Created(by="lead", at=2.0, task=2, subject="print", blocked_by=frozenset({1}))
CLAIM = Claimed(by="bob", at=3.0, task=1, epoch=0)
PLAIN = Task(id=1, subject="parse", created=1.0, updated=1.0, created_by="lead")


def lost(number: int) -> Damaged:
    return Damaged(number, "lost", f"board.jsonl:{number}", "not a record, or its checksum is wrong")


def created(task: int, blocked_by: frozenset[int] = frozenset()) -> Created:
    return Created(by="lead", at=1.0, task=task, subject="s", blocked_by=blocked_by)


@pytest.mark.behaviour("task-fields")
def test_a_created_task_has_all_that_was_said_of_it() -> None:
    event = Created(
        by="lead",
        at=5.0,
        task=2,
        subject="print",
        description="nicely",
        active_form="printing",
        blocked_by=frozenset({1}),
        owner="bob",
        role="backend",
        verify="make test",
    )
    assert board_of(FIRST, event) == BoardState(
        tasks={
            1: PLAIN,
            2: Task(
                id=2,
                subject="print",
                description="nicely",
                active_form="printing",
                status=TaskStatus.PENDING,
                owner="bob",
                epoch=0,
                blocked_by=frozenset({1}),
                role="backend",
                verify="make test",
                created=5.0,
                updated=5.0,
                created_by="lead",
            ),
        },
        number=2,
        next_id=3,
    )


@pytest.mark.behaviour("task-fields")
def test_an_edit_changes_what_it_gives_and_nothing_else() -> None:
    full = Created(by="lead", at=1.0, task=1, subject="a", description="b", active_form="c", role="d", verify="e")
    board = board_of(full)
    task = board.tasks[1]
    cases: list[tuple[TaskEdited, Task]] = [
        (TaskEdited(by="bob", at=2.0, task=1, subject="z"), replace(task, subject="z", updated=2.0)),
        (TaskEdited(by="bob", at=2.0, task=1, description=""), replace(task, description="", updated=2.0)),
        (TaskEdited(by="bob", at=2.0, task=1, active_form="z"), replace(task, active_form="z", updated=2.0)),
        (TaskEdited(by="bob", at=2.0, task=1, role="z"), replace(task, role="z", updated=2.0)),
        (TaskEdited(by="bob", at=2.0, task=1, role=""), replace(task, role=None, updated=2.0)),
        (TaskEdited(by="bob", at=2.0, task=1, verify="z"), replace(task, verify="z", updated=2.0)),
        (TaskEdited(by="bob", at=2.0, task=1, verify=""), replace(task, verify=None, updated=2.0)),
    ]
    for (event, after), name in zip(
        cases, ["subject", "description", "active_form", "role", "role", "verify", "verify"], strict=True
    ):
        assert then(board, event).tasks[1] == replace(after, edits={name: "bob"})


@pytest.mark.behaviour("task-authors")
def test_everybody_whose_words_a_task_holds_is_known_by_name() -> None:
    def edited(by: str, **words: Any) -> TaskEdited:
        return TaskEdited(by=by, at=2.0, task=1, **words)

    board = board_of(Created(by="lead", at=1.0, task=1, subject="a", description="b"))
    stories: list[tuple[list[TaskEdited], tuple[str, ...]]] = [
        ([], ()),
        ([edited("lead", subject="z")], ()),
        ([edited("ann", subject="z")], ("ann",)),
        ([edited("ann", description="z"), edited("bob", subject="z")], ("ann", "bob")),
        # Another field is edited after it: her words are still there.
        ([edited("ann", description="z"), edited("lead", subject="z")], ("ann",)),
        # To repeat her words does not hide who wrote them.
        ([edited("ann", description="z"), edited("lead", description="z")], ("ann",)),
        ([edited("ann", description="z"), edited("lead", description="y")], ()),
        ([edited("ann", subject="a", description="b")], ()),
        ([edited("ann", add_blocked_by=[])], ()),
        ([edited("ann", verify="z"), edited("bob", verify="")], ("bob",)),
    ]
    told = [(then(board, *events).tasks[1].created_by, then(board, *events).tasks[1].editors) for events, _ in stories]
    assert told == [("lead", editors) for _, editors in stories]


@pytest.mark.behaviour("task-deps")
def test_one_edit_can_add_and_remove_edges_on_both_sides() -> None:
    board = board_of(FIRST, SECOND, created(3), created(4))
    after = then(
        board,
        TaskEdited(
            by="bob",
            at=9.0,
            task=2,
            remove_blocked_by=frozenset({1, 3}),
            add_blocked_by=frozenset({3}),
            add_blocks=frozenset({1, 4}),
        ),
    )
    assert after.tasks == {
        1: replace(board.tasks[1], blocked_by=frozenset({2}), updated=9.0, edits={"blocked_by": "bob"}),
        2: replace(board.tasks[2], blocked_by=frozenset({3}), updated=9.0, edits={"blocked_by": "bob"}),
        3: board.tasks[3],
        4: replace(board.tasks[4], blocked_by=frozenset({2}), updated=9.0, edits={"blocked_by": "bob"}),
    }


@pytest.mark.behaviour("claim", "B1")
def test_a_claim_of_a_free_task_begins_it_in_a_new_epoch() -> None:
    after = then(board_of(FIRST), CLAIM)
    assert after.tasks[1] == replace(PLAIN, status=TaskStatus.IN_PROGRESS, owner="bob", epoch=1, updated=3.0)
    assert after.working == {"bob": 1}


@pytest.mark.behaviour("assign", "B1")
def test_an_assigned_task_waits_and_its_owner_begins_it_in_the_same_epoch() -> None:
    given = then(board_of(FIRST), Assigned(by="lead", at=3.0, task=1, owner="bob", epoch=0))
    begun = then(given, Claimed(by="bob", at=4.0, task=1, epoch=1))
    assert given.tasks[1] == replace(PLAIN, owner="bob", epoch=1, updated=3.0)
    assert begun.tasks[1] == replace(PLAIN, status=TaskStatus.IN_PROGRESS, owner="bob", epoch=1, updated=4.0)


@pytest.mark.behaviour("assign", "B1")
def test_a_task_taken_over_from_its_owner_waits_again_in_a_new_epoch() -> None:
    after = then(board_of(FIRST, CLAIM), Assigned(by="user", at=4.0, task=1, owner="carol", epoch=1))
    assert after.tasks[1] == replace(PLAIN, owner="carol", epoch=2, updated=4.0)
    assert after.working == {}


@pytest.mark.behaviour("release", "B1")
def test_a_released_task_is_free_in_a_new_epoch_with_a_note_of_how_far_it_was() -> None:
    after = then(board_of(FIRST, CLAIM), Released(by="bob", at=4.0, task=1, epoch=1, note="half of it"))
    assert after.tasks[1] == replace(PLAIN, epoch=2, notes=(Note("bob", "half of it"),), updated=4.0)
    assert after.working == {}
    again = then(
        after,
        Claimed(by="bob", at=5.0, task=1, epoch=2),
        Released(by="lead", at=6.0, task=1, epoch=3),
        Claimed(by="bob", at=7.0, task=1, epoch=4),
        Released(by="bob", at=8.0, task=1, epoch=5, note="most of it"),
    )
    assert again.tasks[1] == replace(
        PLAIN, epoch=6, notes=(Note("bob", "half of it"), Note("bob", "most of it")), updated=8.0
    )


@pytest.mark.behaviour("complete")
def test_a_completed_task_keeps_its_owner_its_epoch_and_its_receipt() -> None:
    receipt = Receipt(command="make test", workspace="/repo", commit="abc", exit=0, output="ok")
    after = then(board_of(FIRST, CLAIM), Completed(by="bob", at=4.0, task=1, epoch=1, receipt=receipt))
    assert after.tasks[1] == replace(
        PLAIN, status=TaskStatus.COMPLETED, owner="bob", epoch=1, receipt=receipt, updated=4.0
    )
    assert after.working == {}


@pytest.mark.behaviour("task-deps", "B5")
def test_a_deleted_task_stays_as_deleted_and_leaves_no_edge_behind() -> None:
    board = board_of(FIRST, SECOND, created(3, frozenset({1, 2})))
    after = then(board, Deleted(by="lead", at=9.0, task=2))
    assert after.tasks == {
        1: board.tasks[1],
        2: replace(
            board.tasks[2],
            status=TaskStatus.DELETED,
            blocked_by=frozenset(),
            updated=9.0,
            deleted_by="lead",
            deleted_in=board.number + 1,
        ),
        3: replace(board.tasks[3], blocked_by=frozenset({1}), updated=9.0),
    }


def test_a_task_deleted_in_the_middle_of_work_leaves_its_owner_free() -> None:
    after = then(board_of(FIRST, CLAIM), Deleted(by="lead", at=4.0, task=1))
    assert after.working == {}


@pytest.mark.behaviour("task-fields")
def test_the_number_of_a_deleted_task_is_not_used_again() -> None:
    after = then(board_of(FIRST), Deleted(by="lead", at=2.0, task=1))
    assert after.next_id == 2
    assert fold(after, records([FIRST], after.number)).tasks == after.tasks


def test_a_fold_leaves_the_board_it_began_with_as_it_was() -> None:
    board = board_of(FIRST)
    before = replace(board, tasks=dict(board.tasks), working=dict(board.working))
    then(board, CLAIM)
    assert board == before


@pytest.mark.behaviour("B1")
def test_an_event_with_a_cause_already_held_changes_nothing() -> None:
    claim = CLAIM.model_copy(update={"cause": "bob:7.0"})
    released = Released(by="bob", at=4.0, task=1, epoch=1)
    board = board_of(FIRST, claim, released)
    again = fold(board, records([claim.model_copy(update={"epoch": 2})], board.number))
    assert again == replace(board, number=4)
    assert again.causes == NONE_SEEN.put("bob:7.0", 2)


def test_a_cause_whose_event_was_skipped_is_not_held() -> None:
    early = CLAIM.model_copy(update={"cause": "bob:7.0"})
    board = fold(EMPTY, records([early, FIRST, early]))
    assert board.causes == NONE_SEEN.put("bob:7.0", 3)
    assert board.working == {"bob": 1}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"type": "task_vanished"}, "unknown kind 'task_vanished'"),
        (
            {"type": "task_claimed", "by": "bob", "at": 1.0, "task": 1},
            "a malformed Claimed: epoch: Field required",
        ),
        (
            Claimed(by="carol", at=1.0, task=1, epoch=1).body(),
            "Task #1 belongs to 'bob'. Ask bob, or choose another task.",
        ),
    ],
)
def test_a_record_that_does_not_count_is_skipped_and_named(body: dict[str, object], why: str) -> None:
    board = board_of(FIRST, CLAIM)
    assert fold(board, [Record(3, body)]) == replace(board, number=3, skipped=(f"record 3 was skipped: {why}",))


def test_only_the_last_twenty_skipped_records_are_named() -> None:
    board = fold(EMPTY, [Record(number, {"type": "odd"}) for number in range(1, 31)])
    assert board.skipped == tuple(f"record {n} was skipped: unknown kind 'odd'" for n in range(11, 31))


@pytest.mark.behaviour("B2")
def test_a_write_of_an_owner_that_lost_its_task_is_skipped() -> None:
    board = board_of(
        FIRST,
        CLAIM,
        Released(by="lead", at=4.0, task=1, epoch=1),
        Claimed(by="carol", at=5.0, task=1, epoch=2),
    )
    zombies: list[BoardEvent] = [
        Completed(by="bob", at=6.0, task=1, epoch=1),
        Released(by="bob", at=6.0, task=1, epoch=1),
    ]
    assert fold(board, records(zombies, board.number)).tasks == board.tasks


def test_a_lost_record_is_damage_until_a_person_accepts_it() -> None:
    board = fold(board_of(FIRST), [lost(2)])
    assert board.damaged == {2}
    assert then(board, BoardLossAccepted(by="user", at=3.0, number=2)).damaged == frozenset()


class Copied(frozenset[int]):
    """A set that counts how much of it is copied."""

    count = 0

    def __or__(self, other: AbstractSet[Any]) -> "Copied":
        Copied.count += len(self)
        return Copied(frozenset.__or__(self, other))

    def __sub__(self, other: AbstractSet[Any]) -> "Copied":
        Copied.count += len(self)
        return Copied(frozenset.__sub__(self, other))


def test_no_damaged_record_and_no_acceptance_costs_a_copy_of_all_damage_before_it() -> None:
    board, Copied.count = replace(board_of(FIRST), damaged=Copied()), 0
    accepted = [BoardLossAccepted(by="user", at=3.0, number=number) for number in range(2, 502)]
    board = fold(board, [*map(lost, range(2, 1002)), *records(accepted, 1001)])
    assert board.damaged == frozenset(range(502, 1002))
    assert Copied.count <= 2000


def test_who_may_not_claim_is_told_how_much_damage_there_is_and_not_all_of_it() -> None:
    board = fold(board_of(FIRST), map(lost, range(2, 1002)))
    assert "(1000 records)" in (refusal(board, CLAIM) or "")


def test_a_torn_record_was_never_one_and_is_no_damage() -> None:
    torn = Damaged(2, "torn", "board.jsonl:2", "an append that never finished")
    board = board_of(FIRST)
    assert fold(board, [torn]) == replace(board, number=2)


def test_a_claim_written_before_a_record_went_bad_still_counts() -> None:
    board = fold(board_of(FIRST), [lost(2), *records([CLAIM], 2)])
    assert board.working == {"bob": 1}
    assert board.skipped == ()


@pytest.mark.behaviour("B1")
def test_what_depended_on_a_lost_record_is_skipped_and_gives_no_second_owner() -> None:
    after_lost_release = Claimed(by="carol", at=5.0, task=1, epoch=2)
    board = fold(board_of(FIRST, CLAIM), [lost(3), *records([after_lost_release], 3)])
    assert board.tasks == board_of(FIRST, CLAIM).tasks
    assert board.skipped == ("record 4 was skipped: Task #1 belongs to 'bob'. Ask bob, or choose another task.",)


@pytest.mark.parametrize(
    ("damage", "next_id"),
    [
        pytest.param([lost(2)], 3, id="one record lost"),
        pytest.param([lost(4)], 5, id="three records missing"),
        pytest.param([lost(2), lost(2)], 4, id="two lines at one place"),
    ],
)
@pytest.mark.behaviour("task-fields")
def test_a_number_that_a_lost_record_may_have_used_is_not_used_again(damage: list[Item], next_id: int) -> None:
    board = fold(board_of(FIRST), damage)
    assert board.next_id == next_id
    assert refusal(board, created(next_id)) is None
    assert refusal(board, created(next_id - 1)) is not None


@pytest.mark.behaviour("task-fields")
def test_tasks_created_after_a_lost_record_keep_their_numbers() -> None:
    was_a_claim = fold(board_of(FIRST), [lost(2), *records([created(2), created(3)], 2)])
    was_a_task = fold(board_of(FIRST), [lost(2), *records([created(3), created(4)], 2)])
    assert [list(board.tasks) for board in (was_a_claim, was_a_task)] == [[1, 2, 3], [1, 3, 4]]
    assert [board.next_id for board in (was_a_claim, was_a_task)] == [4, 5]


@pytest.mark.behaviour("task-fields", "B5")
def test_a_task_that_waits_for_a_lost_one_is_skipped_and_those_behind_it_are_not() -> None:
    waits_for_lost = created(3, frozenset({2}))
    skipped = fold(board_of(FIRST), [lost(2), *records([waits_for_lost], 2)])
    assert skipped.next_id == 4
    board = fold(skipped, records([created(4)], 3))
    assert list(board.tasks) == [1, 4]
    (skip,) = board.skipped
    assert skip.startswith("record 3 was skipped: There is no task #2.")


def test_a_task_knows_when_its_owner_began_and_when_it_was_over() -> None:
    claimed = board_of(FIRST, CLAIM)
    assert (claimed.tasks[1].began, claimed.tasks[1].ended) == (3.0, 0.0)
    done = then(claimed, Completed(by="bob", at=9.0, task=1, epoch=1))
    assert (done.tasks[1].began, done.tasks[1].ended) == (3.0, 9.0)
    # Only the time of the last owner counts.
    again = then(claimed, Released(by="bob", at=5.0, task=1, epoch=1), Claimed(by="amy", at=6.0, task=1, epoch=2))
    assert again.tasks[1].began == 6.0
    assert then(claimed, Assigned(by="lead", at=7.0, task=1, epoch=1, owner="amy")).tasks[1].began == 0.0
