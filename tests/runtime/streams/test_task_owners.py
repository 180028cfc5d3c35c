"""Work is given to who is here: the board asks the roster, before it gives and after."""

import pytest

from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Note, TaskStatus
from deskmate.errors import TaskRefused
from tests.runtime.team_process import TeamProcess

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("assign")
@pytest.mark.parametrize("by", ["lead", "user"])
async def test_an_owner_that_is_unknown_or_has_left_is_refused_and_who_is_here_is_named(
    team: TeamProcess, by: str
) -> None:
    await team.board.create("lead", NewTask("parse"))
    # In a process of its own: what this one knew of bob is old.
    await team.another().leave("bob")
    why = {"zoe": "'zoe' is not on this team", "bob": "'bob' has left", "": "'' is not on this team"}
    for owner, reason in why.items():
        with pytest.raises(TaskRefused) as refused:
            await team.board.assign(by, 1, owner)
        assert str(refused.value) == f"{reason}. On the team: lead, alice, user."
    for owner in ("zoe", "bob"):
        with pytest.raises(TaskRefused) as refused:
            await team.board.create(by, NewTask("print", owner=owner))
        assert str(refused.value) == f"{why[owner]}. On the team: lead, alice, user."
    assert [task.owner for task in (await team.another().board.refresh()).tasks.values()] == [None]


@pytest.mark.behaviour("assign")
async def test_lead_and_user_own_tasks_too(team: TeamProcess) -> None:
    owners = ("lead", "user", "alice")
    assert [(await team.board.create("lead", NewTask("parse", owner=owner))).owner for owner in owners] == [*owners]


@pytest.mark.behaviour("release")
async def test_who_leaves_while_it_is_given_work_does_not_keep_it(team: TeamProcess) -> None:
    process, wire = team.meddled()
    await process.board.create("lead", NewTask("parse"))
    await process.board.create("lead", NewTask("print"))
    wire.at("before append", "board", lambda: team.leave("bob"))
    given = await process.board.assign("lead", 1, "bob")
    assert (given.status, given.owner, given.notes) == (
        TaskStatus.PENDING,
        None,
        (Note("bob", "bob left before it could start"),),
    )
    wire.at("before append", "board", lambda: team.leave("alice"))
    created = await process.board.create("lead", NewTask("send", owner="alice"))
    assert (created.status, created.owner, created.notes) == (
        TaskStatus.PENDING,
        None,
        (Note("alice", "alice left before it could start"),),
    )
    assert [task.owner for task in (await team.another().board.refresh()).tasks.values()] == [None, None, None]


@pytest.mark.behaviour("assign")
async def test_a_call_run_again_after_its_owner_left_tells_the_same(team: TeamProcess) -> None:
    await team.board.create("lead", NewTask("parse"))
    await team.board.create("lead", NewTask("print", owner="bob"), cause="lead:3.0")
    await team.board.assign("lead", 1, "bob", cause="lead:3.1")
    await team.leave("bob")
    await team.board.give_back("bob", note="left")
    number = team.board.state.number
    assert (await team.board.create("lead", NewTask("print", owner="bob"), cause="lead:3.0")).id == 2
    assert (await team.board.assign("lead", 1, "bob", cause="lead:3.1")).id == 1
    assert (await team.board.refresh()).number == number
