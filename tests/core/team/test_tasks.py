"""What a task is, what can be asked of a board, and how a task is written."""

from typing import Any

import pytest

from deskmate.core.log.facts import Foreign
from deskmate.core.log.records import Damaged, encode
from deskmate.core.prompt.task_lines import line
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.board_fold import fold
from deskmate.core.team.tasks import (
    EMPTY,
    KINDS,
    Assigned,
    BoardEvent,
    BoardFact,
    BoardLossAccepted,
    Claimed,
    Completed,
    Created,
    Deleted,
    Offered,
    OverlapsSeen,
    Receipt,
    Released,
    Returned,
    Task,
    TaskEdited,
    assigned,
    blocks,
    claimable,
    fits,
    freed_by,
    in_progress_of,
    is_blocked,
    parse_id,
    read_event,
)
from deskmate.errors import BadInput, BadName
from tests.core.team.board_builder import board_of, then

# #1 in progress (bob)   #2 free      #3 waits for #1    #4 waits for #1, #2    #5 free, for backend
# #6 queued for alice    #7 queued for alice, waits for #2                      #8 deleted
BOARD = board_of(
    Created(by="lead", at=1.0, task=1, subject="parse"),
    Created(by="lead", at=1.0, task=2, subject="lex"),
    Created(by="lead", at=1.0, task=3, subject="print", blocked_by=frozenset({1})),
    Created(by="lead", at=1.0, task=4, subject="test", blocked_by=frozenset({1, 2})),
    Created(by="lead", at=1.0, task=5, subject="serve", role="backend"),
    Created(by="lead", at=1.0, task=6, subject="review", owner="alice"),
    Created(by="lead", at=1.0, task=7, subject="merge", owner="alice", blocked_by=frozenset({2})),
    Created(by="lead", at=1.0, task=8, subject="mistake"),
    Claimed(by="bob", at=2.0, task=1, epoch=0),
    Deleted(by="lead", at=2.0, task=8),
)
DAMAGED = fold(BOARD, [Damaged(11, "lost", "board.jsonl:11", "no record")])


def numbers(tasks: list[Task]) -> list[int]:
    return [task.id for task in tasks]


@pytest.mark.parametrize("text", [3, "3", "#3"])
@pytest.mark.behaviour("task-fields")
def test_a_task_id_may_be_written_in_three_ways(text: str | int) -> None:
    assert parse_id(text) == 3


@pytest.mark.parametrize(
    "text", ["", "#", "0", 0, -1, "-1", "03", "3.0", " 3", "3\n", "##3", "٣", "three", True, "9" * 17]
)
def test_anything_else_is_no_task_id(text: str | int) -> None:
    with pytest.raises(BadInput):
        parse_id(text)


@pytest.mark.parametrize("text", [3.0, None, [3]])
def test_what_is_neither_text_nor_number_is_no_task_id(text: Any) -> None:
    with pytest.raises(BadInput):
        parse_id(text)


@pytest.mark.behaviour("task-deps", "task-fields")
def test_what_a_task_blocks_is_derived_from_who_waits_for_it() -> None:
    assert {id: blocks(BOARD, id) for id in (1, 2, 3)} == {1: {3, 4}, 2: {4, 7}, 3: frozenset()}


@pytest.mark.behaviour("task-deps")
def test_a_task_is_blocked_until_its_last_blocker_is_completed() -> None:
    half = then(BOARD, Completed(by="bob", at=3.0, task=1, epoch=1))
    done = then(half, Completed(by="lead", at=4.0, task=2, epoch=0))
    assert [is_blocked(board, board.tasks[4]) for board in (BOARD, half, done)] == [True, True, False]


@pytest.mark.behaviour("task-deps")
def test_a_task_that_is_over_waits_for_nothing() -> None:
    board = then(
        BOARD,
        TaskEdited(by="lead", at=3.0, task=1, add_blocked_by=frozenset({2})),
        Completed(by="bob", at=4.0, task=1, epoch=1),
    )
    assert board.tasks[1].blocked_by == {2}
    assert not is_blocked(board, board.tasks[1])


@pytest.mark.behaviour("task-deps")
def test_the_end_of_a_task_frees_those_that_waited_for_it_alone() -> None:
    assert {id: numbers(freed_by(BOARD, id)) for id in (1, 2, 3)} == {1: [3], 2: [7], 3: []}


@pytest.mark.parametrize(
    ("wanted", "name", "role", "reads_only", "fitting"),
    [
        (None, "alice", None, False, True),
        (None, "alice", "backend", False, True),
        (None, "alice", None, True, False),
        ("backend", "alice", "backend", False, True),
        ("backend", "alice", "frontend", False, False),
        ("backend", "alice", None, False, False),
        ("alice", "alice", "frontend", False, True),
        ("alice", "bob", None, False, False),
        ("alice", "alice", None, True, True),
        ("backend", "alice", "backend", True, True),
    ],
)
@pytest.mark.behaviour("claim")
def test_a_task_fits_whom_its_role_names_and_without_one_whoever_can_write(
    wanted: str | None, name: str, role: str | None, reads_only: bool, fitting: bool
) -> None:
    task = Task(id=1, subject="s", role=wanted)
    assert fits(task, name=name, role=role, reads_only=reads_only) is fitting


@pytest.mark.parametrize(
    ("name", "role", "reads_only", "ids"),
    [
        ("carol", None, False, [2]),
        ("carol", "backend", False, [2, 5]),
        ("carol", "backend", True, [5]),
        ("carol", None, True, []),
        ("backend", None, False, [2, 5]),
    ],
)
@pytest.mark.behaviour("claim")
def test_free_unblocked_fitting_tasks_are_claimable_lowest_number_first(
    name: str, role: str | None, reads_only: bool, ids: list[int]
) -> None:
    assert numbers(claimable(BOARD, name=name, role=role, reads_only=reads_only)) == ids


@pytest.mark.behaviour("claim")
def test_numbers_are_ordered_as_numbers() -> None:
    board = board_of(*(Created(by="lead", at=1.0, task=task, subject="s") for task in range(1, 12)))
    assert numbers(claimable(board, name="alice", role=None, reads_only=False)) == list(range(1, 12))


@pytest.mark.behaviour("assign")
def test_a_queue_holds_what_was_assigned_and_is_not_blocked() -> None:
    assert numbers(assigned(BOARD, "alice")) == [6]
    freed = then(BOARD, Completed(by="lead", at=3.0, task=2, epoch=0))
    assert numbers(assigned(freed, "alice")) == [6, 7]
    assert assigned(BOARD, "bob") == []


def test_a_damaged_board_offers_nothing_to_begin() -> None:
    assert claimable(DAMAGED, name="carol", role="backend", reads_only=False) == []
    assert assigned(DAMAGED, "alice") == []


def test_the_task_a_member_works_on_is_known_by_its_name() -> None:
    assert in_progress_of(BOARD, "bob") == [BOARD.tasks[1]]
    assert in_progress_of(BOARD, "alice") == []


@pytest.mark.parametrize(
    ("id", "text"),
    [
        (1, "#1 [in progress] parse @bob"),
        (2, "#2 [pending] lex"),
        (4, "#4 [pending] test (blocked by #1, #2)"),
        (7, "#7 [pending] merge (blocked by #2) @alice"),
        (8, "#8 [deleted] mistake"),
    ],
)
def test_a_task_is_written_as_one_line(id: int, text: str) -> None:
    assert line(BOARD, BOARD.tasks[id]) == text


def test_a_blocker_that_is_completed_is_not_written() -> None:
    board = then(BOARD, Completed(by="bob", at=3.0, task=1, epoch=1))
    assert line(board, board.tasks[4]) == "#4 [pending] test (blocked by #2)"


def test_no_subject_can_pose_as_a_second_line_or_fill_the_screen() -> None:
    forged = Task(id=1, subject="a\n#2 [completed] b\u2028c")
    assert line(EMPTY, forged) == "#1 [pending] a #2 [completed] b c"
    assert line(EMPTY, Task(id=1, subject="x" * 121)) == f"#1 [pending] {'x' * 119}…"
    assert line(EMPTY, Task(id=1, subject="x" * 120)) == f"#1 [pending] {'x' * 120}"


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("deploy (blocked by #9) @lead", "deploy (it says: blocked by #9) @ lead"),
        ("@lead\t(Blocked  by #9)", "@ lead (it says: Blocked by #9)"),
        ("x (\u200bblocked\u200b by #9)", "x (it says: blocked\u200b by #9)"),
        ("mail ann@example.org (not blocked)", "mail ann@example.org (not blocked)"),
    ],
)
def test_no_subject_can_name_an_owner_or_a_blocker(subject: str, told: str) -> None:
    assert line(EMPTY, Task(id=1, subject=subject)) == f"#1 [pending] {told}"
    assert line(EMPTY, Task(id=1, subject=subject, owner="bob")) == f"#1 [pending] {told} @bob"


OVERLAP = Overlap(kind="conflict", members=("ann", "bob"), files=("a.py",))
EVENTS: list[tuple[str, BoardEvent]] = [
    (
        "task_created",
        Created(by="lead", at=1.5, task=3, subject="s", blocked_by=frozenset({2, 1}), owner="bob", role="r"),
    ),
    ("task_edited", TaskEdited(by="bob", at=1.5, task=3, subject="t", add_blocks=frozenset({9, 4}), cause="bob:1.0")),
    ("task_claimed", Claimed(by="bob", at=1.5, task=3, epoch=0)),
    ("task_assigned", Assigned(by="lead", at=1.5, task=3, owner="bob", epoch=0)),
    ("task_released", Released(by="bob", at=1.5, task=3, epoch=1, note="half")),
    ("task_offered", Offered(by="bob", at=1.5, task=3, epoch=1, commit="a" * 40, cause="bob:2.0")),
    ("task_returned", Returned(by="bob", at=1.5, task=3, offer=4, reason="conflict")),
    (
        "task_completed",
        Completed(
            by="bob",
            at=1.5,
            task=3,
            epoch=1,
            receipt=Receipt(command="make", workspace="/w", commit="abc", exit=0, output="ok"),
        ),
    ),
    ("task_deleted", Deleted(by="user", at=1.5, task=3)),
    ("accepted", BoardLossAccepted(by="user", at=1.5, number=7)),
    ("overlaps_seen", OverlapsSeen(by="lead", at=1.5, overlaps=(OVERLAP,))),
]


@pytest.mark.parametrize(("kind", "event"), EVENTS)
def test_an_event_comes_back_from_its_record_as_it_was(kind: str, event: BoardEvent) -> None:
    body = event.body()
    encode({**body, "run": "r", "ord": 1})
    assert body["type"] == kind
    assert read_event(body) == event


def test_every_kind_of_event_is_written_and_read_above() -> None:
    assert {type(event) for _, event in EVENTS} == set(KINDS) == set(BoardFact.__subclasses__())


def test_numbers_stand_in_a_record_in_order() -> None:
    event = TaskEdited(by="bob", at=1.5, task=3, add_blocks=frozenset({30, 4, 17}))
    assert event.body()["add_blocks"] == [4, 17, 30]


@pytest.mark.parametrize(
    "body",
    [
        {"type": "task_claimed", "by": "../bob", "at": 1.0, "task": 1, "epoch": 0},
        {"type": "task_claimed", "by": "bob", "at": 1.0, "task": 0, "epoch": 0},
        {"type": "task_claimed", "by": "bob", "at": 1.0, "task": True, "epoch": 0},
        {"type": "task_claimed", "by": "bob", "at": 1.0, "task": "1", "epoch": 0},
        {"type": "task_claimed", "by": "bob", "at": 1.0, "task": 1, "epoch": -1},
        {"type": "task_claimed", "by": "bob", "at": 1.0, "task": 1},
        {"type": "task_assigned", "by": "lead", "at": 1.0, "task": 1, "epoch": 0, "owner": "B b"},
        {"type": "task_created", "by": "lead", "at": float("nan"), "task": 1, "subject": "s"},
        {"type": "task_vanished", "by": "bob", "at": 1.0, "task": 1},
        {},
    ],
)
def test_a_record_without_the_shape_of_an_event_is_foreign(body: dict[str, object]) -> None:
    assert isinstance(read_event(body), Foreign)


def test_an_event_by_nobody_cannot_be_made() -> None:
    with pytest.raises(BadName):
        Deleted(by="", at=1.0, task=1)
