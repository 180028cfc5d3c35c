"""The live board: one order of events decides, whichever processes write."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.core.team.tasks import Note, Receipt, Task, TaskStatus, assigned, blocks
from deskmate.errors import TaskRefused
from deskmate.runtime.streams.board import Board
from tests.runtime.team_process import Killed, Moment, TeamProcess, die

pytestmark = pytest.mark.anyio

MOVES: dict[str, Callable[[Board, Member], Awaitable[Task]]] = {
    "create": lambda board, alice: board.create("alice", NewTask("new"), cause="alice:1.0"),
    "edit": lambda board, alice: board.edit("lead", 1, TaskChange(subject="edited"), cause="alice:1.0"),
    "claim": lambda board, alice: board.claim(alice, 1, cause="alice:1.0"),
    "assign": lambda board, alice: board.assign("lead", 1, "bob", cause="alice:1.0"),
    "release": lambda board, alice: board.release("alice", 2, 1, note="half way", cause="alice:1.0"),
    "complete": lambda board, alice: board.complete("lead", 1, 0, cause="alice:1.0"),
    "delete": lambda board, alice: board.delete("lead", 1, cause="alice:1.0"),
}


async def member(process: TeamProcess, name: str) -> Member:
    return (await process.roster.refresh()).members[name]


async def add(process: TeamProcess, *subjects: str) -> None:
    for subject in subjects:
        await process.board.create("lead", NewTask(subject))


async def claim(process: TeamProcess, name: str, task: int) -> Task:
    return await process.board.claim(await member(process, name), task)


async def refused(move: Awaitable[object]) -> str:
    with pytest.raises(TaskRefused) as why:
        await move
    return str(why.value)


async def at_once(*moves: Awaitable[Task]) -> tuple[list[Task], list[str]]:
    """Make all these moves at once; return what came of them, and why others were refused."""
    made: list[Task] = []
    reasons: list[str] = []

    async def make(move: Awaitable[Task]) -> None:
        try:
            made.append(await move)
        except TaskRefused as why:
            reasons.append(str(why))

    async with anyio.create_task_group() as tasks:
        for move in moves:
            tasks.start_soon(make, move)
    return made, reasons


# -- claiming -------------------------------------------------------------------------------------


@pytest.mark.behaviour("claim", "B1")
async def test_of_two_who_claim_one_task_one_wins_and_the_other_is_told_who(team: TeamProcess) -> None:
    await add(team, "parse")
    made, reasons = await at_once(*[claim(team.another(), name, 1) for name in ("alice", "bob")])
    (won,) = made
    assert (won.status, won.epoch) == (TaskStatus.IN_PROGRESS, 1)
    assert reasons == [f"Task #1 belongs to '{won.owner}'. Ask {won.owner}, or choose another task."]
    assert (await team.another().board.refresh()).tasks == {1: won}


@pytest.mark.behaviour("claim", "B1")
async def test_many_who_take_the_next_task_at_once_take_each_task_once(team: TeamProcess) -> None:
    names = [f"m{index}" for index in range(8)]
    await team.join(*names)
    await add(team, *map(str, range(12)))
    taken: list[Task | None] = []

    async def work(name: str) -> None:
        process = team.another()
        me = await member(process, name)
        while task := await process.board.claim_next(me):
            taken.append(task)
            await process.board.complete(name, task.id, task.epoch)

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(work, name)
    assert sorted(task.id for task in taken) == list(range(1, 13))
    board = await team.board.refresh()
    assert {task.id: task.owner for task in taken} == {task.id: task.owner for task in board.tasks.values()}
    assert {(task.status, task.epoch) for task in board.tasks.values()} == {(TaskStatus.COMPLETED, 1)}


@pytest.mark.behaviour("claim")
async def test_the_next_task_is_the_lowest_that_is_free_unblocked_and_fits(team: TeamProcess) -> None:
    await add(team, *map(str, range(1, 10)))
    for task in range(2, 10):
        await team.board.delete("lead", task)
    await team.board.create("lead", NewTask("waits", blocked_by=[1]))
    await team.board.create("lead", NewTask("for tests only", role="tester"))
    await team.board.create("lead", NewTask("bob's", owner="bob"))
    await team.board.create("lead", NewTask("ten and three"))
    await claim(team, "bob", 1)
    other, alice = team.another(), await member(team, "alice")
    assert await other.board.claim_next(alice) == (await team.board.refresh()).tasks[13]
    await team.board.release("alice", 13, 1)
    assert await team.board.claim_next(replace(alice, role="tester")) == team.board.state.tasks[11]


@pytest.mark.behaviour("claim")
async def test_there_may_be_nothing_to_take(team: TeamProcess) -> None:
    alice = await member(team, "alice")
    assert await team.board.claim_next(alice) is None
    await add(team.another(), "parse")
    assert await team.board.claim_next(replace(alice, agent_type=AgentType.EXPLORE)) is None
    assert (await team.board.claim_next(alice)) == team.board.state.tasks[1]


@pytest.mark.behaviour("claim")
async def test_a_claim_of_what_is_not_there_to_take_is_refused_with_words(team: TeamProcess) -> None:
    await add(team, "first", "second")
    await team.board.create("lead", NewTask("third", blocked_by=[1, 2]))
    await team.board.create("lead", NewTask("fourth", role="tester"))
    await team.board.complete("lead", 2, 0)
    whys = [await refused(claim(team.another(), "alice", task)) for task in (3, 4, 2, 9)]
    assert [why.partition(".")[0] for why in whys] == [
        "Task #3 is blocked by #1",
        "Task #4 is for another member or role, not for 'alice'",
        "Task #2 is completed and can no longer change",
        "There is no task #9",
    ]
    await claim(team, "alice", 1)
    await add(team, "fifth")
    assert [await refused(claim(team.another(), "alice", task)) for task in (1, 5)] == [
        "Task #1 is already yours and in progress. Continue with it.",
        "'alice' has #1 in progress. Complete it or give it back before you take #5.",
    ]


@pytest.mark.behaviour("assign")
async def test_what_the_lead_gives_to_someone_is_for_that_one_whatever_its_role(team: TeamProcess) -> None:
    await member(team, "alice")
    await team.board.create("lead", NewTask("first", role="tester"))
    await team.board.assign("lead", 1, "alice")
    await claim(team.another(), "alice", 1)
    task = (await team.board.refresh()).tasks[1]
    assert (task.owner, task.status) == ("alice", TaskStatus.IN_PROGRESS)


@pytest.mark.behaviour("claim", "M2")
async def test_who_died_claiming_finds_the_task_its_own_or_free(team: TeamProcess) -> None:
    moments: tuple[Moment, ...] = ("before append", "after append")
    for task, moment in enumerate(moments, start=1):
        await add(team, moment)
        dying, wire = team.meddled()
        wire.at(moment, "board", die)
        alice = await member(dying, "alice")
        with pytest.raises(Killed):
            await dying.board.claim(alice, task, cause=f"alice:{task}.0")
        again = await team.another().board.claim(alice, task, cause=f"alice:{task}.0")
        assert (again.owner, again.status, again.epoch) == ("alice", TaskStatus.IN_PROGRESS, 1)
        await team.board.complete("alice", task, 1)
    assert len(await team.store.read("board")) == 6


# -- assigning, completing, releasing -------------------------------------------------------------


@pytest.mark.behaviour("assign")
async def test_lead_and_user_assign_and_nobody_else(team: TeamProcess) -> None:
    await add(team, "parse")
    assert (await team.board.assign("lead", 1, "alice")).owner == "alice"
    assert (await team.another().board.assign("user", 1, "bob")).epoch == 2
    assert "To take #1" in await refused(team.board.assign("alice", 1, "alice"))
    assert "Ask the lead to give #1 to 'alice'" in await refused(team.board.assign("bob", 1, "alice"))


@pytest.mark.behaviour("assign")
async def test_what_is_assigned_waits_until_it_is_unblocked_and_its_owner_free(team: TeamProcess) -> None:
    await add(team, "first", "second")
    await team.board.edit("lead", 2, TaskChange(add_blocked_by={1}))
    await claim(team, "alice", 1)
    queued = await team.board.assign("lead", 2, "alice")
    assert (queued.status, queued.owner) == (TaskStatus.PENDING, "alice")
    assert assigned(team.board.state, "alice") == []
    await team.board.complete("alice", 1, 1)
    assert assigned(await team.another().board.refresh(), "alice") == [queued]
    assert await refused(claim(team, "bob", 2)) == "Task #2 belongs to 'alice'. Ask alice, or choose another task."
    assert (await claim(team, "alice", 2)).status is TaskStatus.IN_PROGRESS


@pytest.mark.behaviour("complete", "task-deps")
async def test_a_task_can_be_taken_the_moment_its_last_blocker_is_done(team: TeamProcess) -> None:
    await add(team, "first", "second", "third")
    await team.board.edit("lead", 3, TaskChange(add_blocked_by={1, 2}))
    bob, other = await member(team, "bob"), team.another()
    for task in (1, 2):
        assert "is blocked" in await refused(other.board.claim(bob, 3))
        await team.board.complete("lead", task, 0)
    assert (await other.board.claim(bob, 3)).owner == "bob"


@pytest.mark.behaviour("complete")
async def test_only_its_owner_the_lead_and_the_user_complete_a_task(team: TeamProcess) -> None:
    await add(team, "one", "two", "three")
    await claim(team, "alice", 1)
    assert await refused(team.another().board.complete("bob", 1, 1)) == (
        "Task #1 belongs to 'alice'. Ask alice, or choose another task."
    )
    assert (await team.board.complete("alice", 1, 1)).status is TaskStatus.COMPLETED
    assert (await team.board.complete("lead", 2, 0)).status is TaskStatus.COMPLETED
    assert (await team.board.complete("user", 3, 0)).status is TaskStatus.COMPLETED


@pytest.mark.behaviour("complete")
async def test_a_task_with_a_command_is_completed_by_its_receipt(team: TeamProcess) -> None:
    await team.board.create("lead", NewTask("parse", verify="make test"))
    failed = Receipt(command="make test", workspace="/w", commit="c0ffee", exit=2, output="1 failed")
    for receipt, why in ((None, "Complete it with the receipt"), (failed, "ended with 2")):
        assert why in await refused(team.board.complete("lead", 1, 0, receipt=receipt))
    passed = failed.model_copy(update={"exit": 0, "output": "7 passed"})
    assert (await team.board.complete("lead", 1, 0, receipt=passed)).receipt == passed
    assert (await team.another().board.refresh()).tasks[1].receipt == passed


@pytest.mark.behaviour("release", "B2")
async def test_whoever_lost_a_task_can_neither_complete_nor_release_it(team: TeamProcess) -> None:
    """Stopped while it worked: its task was released in its name and claimed by another."""
    zombie = team.another()
    await add(team, "parse")
    mine = await claim(zombie, "alice", 1)
    assert (await team.board.release("lead", 1, mine.epoch, note="alice hangs")).owner is None
    for now in ("it now has no owner", "it now belongs to 'bob'"):
        for move in (zombie.board.complete, zombie.board.release):
            why = await refused(move("alice", 1, mine.epoch))
            assert why == f"Task #1 is no longer yours: {now}. Leave it, and choose another task."
        if team.board.state.tasks[1].owner is None:
            await claim(team, "bob", 1)
    done = await team.board.complete("bob", 1, 3)
    assert (done.owner, done.epoch, done.notes) == ("bob", 3, (Note("lead", "alice hangs"),))


@pytest.mark.behaviour("release", "B2")
async def test_a_task_claimed_again_by_the_one_who_lost_it_is_another_claim(team: TeamProcess) -> None:
    await add(team, "parse")
    first = await claim(team, "alice", 1)
    await team.board.release("lead", 1, first.epoch)
    await claim(team, "alice", 1)
    assert "is no longer yours" in await refused(team.another().board.complete("alice", 1, first.epoch))
    assert (await team.board.complete("alice", 1, 3)).status is TaskStatus.COMPLETED


@pytest.mark.behaviour("release")
async def test_who_leaves_gives_back_all_it_had_and_nothing_else(team: TeamProcess) -> None:
    await add(team, "one", "two", "three", "four")
    await claim(team, "alice", 1)
    await team.board.assign("lead", 2, "alice")
    await claim(team, "bob", 3)
    given = await team.another().board.give_back("alice", note="alice left: done")
    board = await team.board.refresh()
    assert given == [board.tasks[1], board.tasks[2]]
    assert [(task.owner, task.notes) for task in board.tasks.values()] == [
        (None, (Note("alice", "alice left: done"),)),
        (None, (Note("alice", "alice left: done"),)),
        ("bob", ()),
        (None, ()),
    ]
    assert await team.board.give_back("alice", note="again") == []


@pytest.mark.behaviour("release")
async def test_what_was_taken_away_while_it_was_given_back_is_left_alone(team: TeamProcess) -> None:
    await add(team, "one", "two")
    await claim(team, "alice", 1)
    await team.board.assign("lead", 2, "alice")
    leaver, wire = team.meddled()
    wire.at("before append", "board", lambda: team.board.assign("lead", 1, "bob"))
    given = await leaver.board.give_back("alice", note="alice left: done")
    board = await team.board.refresh()
    assert given == [board.tasks[2]]
    assert [task.owner for task in board.tasks.values()] == ["bob", None]


# -- repeats --------------------------------------------------------------------------------------


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize("move", MOVES)
async def test_a_move_repeated_after_a_crash_has_one_effect_and_the_first_outcome(team: TeamProcess, move: str) -> None:
    await add(team, "one", "two")
    alice = await member(team, "alice")
    if move != "claim":
        await claim(team, "alice", 2)
    dying, wire = team.meddled()
    wire.at("after append", "board", die)
    with pytest.raises(Killed):
        await MOVES[move](dying.board, alice)
    before = await team.board.refresh()
    await add(team, "meanwhile")
    outcomes = [await MOVES[move](process.board, alice) for process in (dying, team, team.another())]
    assert outcomes == [before.tasks[outcomes[0].id]] * 3
    assert (await team.another().board.refresh()).number == before.number + 1
    assert team.board.state.skipped == ()


@pytest.mark.behaviour("M2")
async def test_a_move_is_found_again_behind_a_line_put_in_by_hand(team_on_disk: TeamProcess, board_file: Path) -> None:
    """Such a line shares the number of the record behind it."""
    made = [await team_on_disk.board.create("lead", NewTask(text), cause=f"lead:{text}.0") for text in "123"]
    lines = board_file.read_bytes().splitlines(keepends=True)
    board_file.write_bytes(b"".join([lines[0], b"<<<<<<< mine\n", *lines[1:]]))
    again = team_on_disk.another().board
    assert [await again.create("lead", NewTask(text), cause=f"lead:{text}.0") for text in "123"] == made


# -- editing --------------------------------------------------------------------------------------


@pytest.mark.behaviour("B4")
async def test_edits_of_different_fields_at_once_both_survive(team: TeamProcess) -> None:
    await add(team, "old")
    edits: dict[str, Any] = {
        "subject": "new",
        "description": "more",
        "active_form": "parsing",
        "role": "tester",
        "verify": "make",
    }
    await at_once(*[team.another().board.edit("lead", 1, TaskChange(**{field: text})) for field, text in edits.items()])
    task = (await team.board.refresh()).tasks[1]
    assert {field: getattr(task, field) for field in edits} == edits


@pytest.mark.behaviour("task-authors", "B2")
async def test_an_owner_that_loses_its_task_while_it_edits_it_has_not_edited_it(team: TeamProcess) -> None:
    await add(team, "old")
    await claim(team, "alice", 1)
    process, wire = team.meddled()
    await process.board.refresh()
    wire.at("before append", "board", lambda: team.board.assign("lead", 1, "bob"))
    assert await refused(process.board.edit("alice", 1, TaskChange(subject="new"))) == (
        "Only bob, the lead and the user can edit task #1. Ask the lead with SendMessage."
    )
    assert (await team.board.refresh()).tasks[1].subject == "old"


@pytest.mark.behaviour("task-authors")
async def test_a_process_that_has_read_nothing_yet_knows_who_is_read_only(team: TeamProcess) -> None:
    await team.roster.join(Joined(name="ann", agent_type=AgentType.EXPLORE, at=0.0))
    assert "You are read-only" in await refused(team.another().board.create("ann", NewTask("new")))
    made = await team.another().board.create("ann", NewTask("new", owner="ann"))
    assert (made.role, made.owner) == ("ann", "ann")


@pytest.mark.behaviour("B4", "B5", "task-deps")
async def test_nineteen_edges_added_at_once_stand_from_both_sides(team: TeamProcess) -> None:
    await add(team, *map(str, range(1, 21)))
    processes = [team.another() for _ in range(4)]
    edits = [
        processes[task % 4].board.edit("lead", task, TaskChange(add_blocks={20}))
        if task % 2
        else processes[task % 4].board.edit("lead", 20, TaskChange(add_blocked_by={task}))
        for task in range(1, 20)
    ]
    made, reasons = await at_once(*edits)
    assert (len(made), reasons) == (19, [])
    board = await team.another().board.refresh()
    assert board.tasks[20].blocked_by == frozenset(range(1, 20))
    assert {task: blocks(board, task) for task in range(1, 21)} == {
        **{task: frozenset({20}) for task in range(1, 20)},
        20: frozenset(),
    }


@pytest.mark.behaviour("B5", "task-deps")
async def test_of_edits_that_close_a_circle_at_once_the_last_is_refused_with_its_path(team: TeamProcess) -> None:
    await add(team, "one", "two", "three")
    made, reasons = await at_once(
        *[team.another().board.edit("lead", task, TaskChange(add_blocked_by={task % 3 + 1})) for task in (1, 2, 3)]
    )
    assert len(made) == 2
    board = await team.another().board.refresh()
    (last,) = (task for task in board.tasks.values() if not task.blocked_by)
    path = [last.id, last.id % 3 + 1, (last.id + 1) % 3 + 1, last.id]
    shown = " -> ".join(f"#{task}" for task in path)
    assert reasons == [f"Task #{last.id} would wait for itself: {shown}. Remove one of these dependencies first."]


@pytest.mark.behaviour("B5", "task-deps")
async def test_edges_to_nowhere_and_to_itself_are_refused(team: TeamProcess) -> None:
    await add(team, "one")
    assert (
        await refused(team.board.edit("lead", 1, TaskChange(add_blocked_by={1})))
        == "Task #1 cannot block itself. Leave #1 out."
    )
    why = await refused(team.board.create("lead", NewTask("two", blocked_by=[7])))
    assert why == await refused(team.board.edit("lead", 1, TaskChange(add_blocks={7})))
    assert why.startswith("There is no task #7.")


@pytest.mark.behaviour("task-deps")
async def test_deleting_a_task_takes_its_edges_away_and_frees_what_waited(team: TeamProcess) -> None:
    await add(team, "one", "two")
    await team.board.edit("lead", 2, TaskChange(add_blocked_by={1}))
    await team.another().board.delete("lead", 1)
    assert (await claim(team, "bob", 2)).blocked_by == frozenset()
    assert "deleted" in await refused(team.board.edit("lead", 2, TaskChange(add_blocked_by={1})))
    assert (await team.board.create("lead", NewTask("three"))).id == 3


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("B1")
async def test_nobody_takes_work_from_a_damaged_board_until_a_person_accepts_the_loss(
    team_on_disk: TeamProcess, board_file: Path
) -> None:
    await add(team_on_disk, "one", "two", "three")
    board_file.write_bytes(board_file.read_bytes().replace(b'"two"', b'"TWO"'))
    process = team_on_disk.another()
    alice = await member(process, "alice")
    words = (
        "No task can be taken while the board is damaged (record 2). "
        "The user must accept the loss: deskmate doctor --accept"
    )
    assert await process.board.claim_next(alice) is None
    assert await refused(process.board.claim(alice, 1)) == words
    assert await refused(process.board.assign("lead", 1, "alice")) == words
    assert "Only a person" in await refused(process.board.accept("lead", 2))
    await process.board.accept("user", 2)
    assert (await team_on_disk.another().board.claim_next(alice)) is not None
    assert (await process.board.create("lead", NewTask("four"))).id == 4
