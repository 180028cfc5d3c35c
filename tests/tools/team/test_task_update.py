"""TaskUpdate: words and edges, owners and status, and what the model reads of each."""

from typing import Any

import pytest

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.team.tasks import TaskStatus
from tests.tools.board_team import BoardTeam, add, refused

pytestmark = pytest.mark.anyio


# -- words and edges ------------------------------------------------------------------------------


@pytest.mark.behaviour("task-tools")
async def test_an_update_without_a_change_says_what_can_be_changed(desks: BoardTeam) -> None:
    await add(desks, "parse")
    told = await desks["alice"].use("TaskUpdate", taskId=1, team_name="web", addBlocks=[])
    assert told == refused(
        "There is nothing to change. Set at least one of "
        "status, owner, subject, description, activeForm, role, addBlocks, addBlockedBy, removeBlockedBy."
    )


@pytest.mark.behaviour("task-tools")
async def test_words_are_changed_where_they_are_given(desks: BoardTeam) -> None:
    await add(desks, "parse", description="old", activeForm="Parsing")
    told = await desks["lead"].use("TaskUpdate", taskId=1, subject="parse all", description="")
    assert told == Result("#1 [pending] parse all\nedited")
    task = desks.task(1)
    assert (task.subject, task.description, task.active_form) == ("parse all", "", "Parsing")
    await desks["lead"].use("TaskUpdate", taskId=1, activeForm="Parsing all")
    assert desks.task(1).active_form == "Parsing all"


@pytest.mark.behaviour("task-authors")
async def test_a_task_is_edited_by_its_creator_its_owner_and_the_lead_and_by_nobody_else(desks: BoardTeam) -> None:
    await desks["bob"].use("TaskCreate", subject="parse")
    why = refused("Only bob, the lead and the user can edit task #1. Ask the lead with SendMessage.")
    assert await desks["alice"].use("TaskUpdate", taskId=1, subject="mine", status="deleted") == why
    gone = await desks["alice"].use("TaskUpdate", taskId=1, status="deleted")
    assert gone == refused("Only bob, the lead and the user can delete task #1. Ask the lead with SendMessage.")
    for name in ("bob", "lead"):
        assert (await desks[name].use("TaskUpdate", taskId=1, subject=f"by {name}")).ok
    # A member that takes a task owns it, and may say so in the same call.
    told = await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress", activeForm="Parsing")
    assert (told.text.splitlines()[:2], told.tasks) == (["#1 [in progress] by lead @alice", "claimed, edited"], {1: 1})
    assert (desks.task(1).created_by, desks.task(1).editors) == ("bob", ("lead", "alice"))


@pytest.mark.behaviour("task-authors")
async def test_an_edge_changes_the_task_that_has_to_wait(desks: BoardTeam) -> None:
    await add(desks, "of the lead")
    await desks["bob"].use("TaskCreate", subject="of bob")
    why = refused("Only the lead and the user can edit task #1. Ask the lead with SendMessage.")
    assert await desks["bob"].use("TaskUpdate", taskId=2, addBlocks=[1]) == why
    assert await desks["bob"].use("TaskUpdate", taskId=1, addBlockedBy=[2]) == why
    assert (await desks["bob"].use("TaskUpdate", taskId=1, addBlocks=[2])).ok
    assert [sorted(task.blocked_by) for task in desks.board.state.tasks.values()] == [[], [1]]


@pytest.mark.behaviour("task-deps")
async def test_edges_are_added_and_taken_away(desks: BoardTeam) -> None:
    await add(desks, "one", "two", "three")
    told = await desks["lead"].use("TaskUpdate", taskId=2, addBlockedBy=["1"], addBlocks=["#3"])
    assert told == Result("#2 [pending] two (blocked by #1)\nedited")
    assert [sorted(task.blocked_by) for task in desks.board.state.tasks.values()] == [[], [1], [2]]
    assert await desks["lead"].use("TaskUpdate", taskId=2, removeBlockedBy=[1]) == Result("#2 [pending] two\nedited")


@pytest.mark.behaviour("task-deps")
@pytest.mark.parametrize(
    ("edges", "why"),
    [
        (
            {"addBlockedBy": [3]},
            "Task #1 would wait for itself: #1 -> #3 -> #2 -> #1. Remove one of these dependencies first.",
        ),
        ({"addBlockedBy": [1]}, "Task #1 cannot block itself. Leave #1 out."),
        ({"addBlocks": [9]}, "There is no task #9. The highest number on the board is #3."),
    ],
)
async def test_edges_that_cannot_be_are_refused(desks: BoardTeam, edges: dict[str, Any], why: str) -> None:
    await add(desks, "one")
    await add(desks, "two", blockedBy=[1])
    await add(desks, "three", blockedBy=[2])
    assert await desks["lead"].use("TaskUpdate", taskId=1, status="deleted", **edges) == refused(why)
    assert desks.task(1).status is TaskStatus.PENDING


# -- taking, giving and giving back ---------------------------------------------------------------


@pytest.mark.behaviour("claim")
@pytest.mark.parametrize(
    "arguments",
    [
        {"status": "in_progress"},
        {"owner": "alice"},
        {"owner": "alice", "status": "in_progress"},
    ],
)
@pytest.mark.parametrize("queued", [False, True])
async def test_a_teammate_takes_a_free_task_or_one_of_its_queue(
    desks: BoardTeam, arguments: dict[str, str], queued: bool
) -> None:
    await add(desks, "parse", **({"owner": "alice"} if queued else {}))
    told = await desks["alice"].use("TaskUpdate", taskId=1, **arguments)
    assert told.text.startswith(
        '#1 [in progress] parse @alice\nclaimed\nTask #1 is yours now.\n<deskmate-task id="1" created_by="lead">parse<'
    )
    assert (told.tasks, told.board, told.framed) == ({1: desks.task(1).epoch}, 2, True)
    assert len(await desks.events()) == 2


@pytest.mark.behaviour("claim")
async def test_who_takes_a_task_reads_all_of_it(desks: BoardTeam) -> None:
    await add(desks, "parse <it>", description="the whole grammar", verify="make test")
    told = await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    assert told.text.startswith(
        "#1 [in progress] parse <it> @alice\nclaimed\nTask #1 is yours now.\n"
        '<deskmate-task id="1" created_by="lead">parse &lt;it&gt;\n'
        "completing it runs this command, which must succeed: make test\nthe whole grammar</deskmate-task>"
    )
    assert (told.tasks, told.board) == ({1: 1}, 2)


@pytest.mark.behaviour("claim")
async def test_of_two_who_want_a_task_one_is_told_who_has_it(desks: BoardTeam) -> None:
    await add(desks, "parse")
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    why = refused("Task #1 belongs to 'alice'. Ask alice, or choose another task.")
    assert await desks["bob"].use("TaskUpdate", taskId=1, status="in_progress") == why
    assert await desks["bob"].use("TaskUpdate", taskId=1, owner="bob") == why
    assert desks["bob"].memory.tasks == {}


@pytest.mark.behaviour("claim")
async def test_what_is_blocked_or_for_others_or_a_second_one_cannot_be_taken(desks: BoardTeam) -> None:
    await add(desks, "one")
    await add(desks, "two", blockedBy=[1])
    await add(desks, "three", role="bob")
    alice = desks["alice"]
    blocked = await alice.use("TaskUpdate", taskId=2, status="in_progress")
    assert (blocked.ok, blocked.text.partition(".")[0]) == (False, "Task #2 is blocked by #1")
    others = await alice.use("TaskUpdate", taskId=3, status="in_progress")
    assert others == refused("Task #3 is for another member or role, not for 'alice'. Choose another task.")
    await alice.use("TaskUpdate", taskId=1, status="in_progress")
    await add(desks, "four")
    second = await alice.use("TaskUpdate", taskId=4, status="in_progress")
    assert second == refused("'alice' has #1 in progress. Complete it or give it back before you take #4.")


@pytest.mark.behaviour("claim", "task-deps")
@pytest.mark.parametrize("extra", [{}, {"owner": "bob"}])
@pytest.mark.parametrize("creator", ["bob", "lead"])
async def test_nobody_begins_a_task_in_the_call_that_blocks_it(
    desks: BoardTeam, creator: str, extra: dict[str, str]
) -> None:
    await desks["bob"].use("TaskCreate", subject="one")
    await desks[creator].use("TaskCreate", subject="two")
    told = await desks["bob"].use("TaskUpdate", taskId=2, status="in_progress", addBlockedBy=[1], **extra)
    blocked = (
        "edited. The rest was refused: Task #2 is blocked by #1. Wait until it is unblocked, or choose another task."
    )
    not_theirs = "Only the lead and the user can edit task #2. Ask the lead with SendMessage."
    assert (told.ok, (blocked if creator == "bob" else not_theirs) in told.text) == (False, True)
    assert desks.task(2).status is TaskStatus.PENDING


@pytest.mark.behaviour("claim", "task-deps")
async def test_a_lead_begins_no_task_in_the_call_that_blocks_it(desks: BoardTeam) -> None:
    await add(desks, "one", "two")
    told = await desks["lead"].use("TaskUpdate", taskId=2, status="in_progress", addBlockedBy=[1])
    assert (told.ok, desks.task(2).status, desks.task(2).blocked_by) == (False, TaskStatus.PENDING, frozenset({1}))


async def test_beginning_what_is_under_way_is_no_error(desks: BoardTeam) -> None:
    await add(desks, "parse")
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    told = await desks["alice"].use("TaskUpdate", taskId=1, owner="alice", status="in_progress")
    assert told == Result("#1 [in progress] parse @alice\nNothing changed: it was like this before", tasks={1: 1})
    assert len(await desks.events()) == 2


async def test_a_repeated_claim_takes_nothing_back_from_who_has_it_since(desks: BoardTeam) -> None:
    await add(desks, "parse")
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    desks["alice"].memory = Memory()
    await desks["lead"].use("TaskUpdate", taskId=1, owner="bob")
    before = await desks.events()
    told = await desks["alice"].use_again("TaskUpdate", taskId=1, status="in_progress")
    assert told == Result("#1 [pending] parse @bob\nclaimed", tasks={1: None})
    assert await desks.events() == before


@pytest.mark.behaviour("assign")
@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, "given to 'bob'"),
        ({"status": "pending"}, "given to 'bob'"),
        ({"status": "in_progress"}, "given to 'bob', 'bob' will start it"),
    ],
)
async def test_the_lead_puts_a_task_in_a_queue_whatever_status_it_says_with_it(
    desks: BoardTeam, status: dict[str, str], said: str
) -> None:
    await add(desks, "parse")
    told = await desks["lead"].use("TaskUpdate", taskId=1, owner="bob", **status)
    assert told == Result(f"#1 [pending] parse @bob\n{said}", tasks={1: None})
    again = await desks["lead"].use("TaskUpdate", taskId=1, owner="bob")
    assert again == Result("#1 [pending] parse @bob\nNothing changed: it was like this before", tasks={1: None})


@pytest.mark.behaviour("assign")
async def test_the_lead_can_take_a_task_itself(desks: BoardTeam) -> None:
    await add(desks, "parse", owner="bob")
    told = await desks["lead"].use("TaskUpdate", taskId=1, owner="lead", status="in_progress")
    assert told.text.splitlines()[:2] == ["#1 [in progress] parse @lead", "given to 'lead', claimed"]
    assert told.tasks == {1: desks.task(1).epoch}


@pytest.mark.behaviour("assign")
async def test_a_teammate_gives_no_task_to_another(desks: BoardTeam) -> None:
    await add(desks, "parse")
    told = await desks["alice"].use("TaskUpdate", taskId=1, owner="bob")
    assert (told.ok, "Ask the lead to give #1 to 'bob'" in told.text) == (False, True)


@pytest.mark.behaviour("release")
async def test_an_owner_gives_its_task_back(desks: BoardTeam) -> None:
    await add(desks, "parse")
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    others = await desks["bob"].use("TaskUpdate", taskId=1, status="pending")
    assert others == refused("Task #1 belongs to 'alice'. Ask alice, or choose another task.")
    told = await desks["alice"].use("TaskUpdate", taskId=1, status="pending")
    assert told == Result("#1 [pending] parse\ngiven back", tasks={1: None})
    assert desks["alice"].memory.tasks == {}
    again = await desks["alice"].use_again("TaskUpdate", taskId=1, status="pending")
    assert again == Result("#1 [pending] parse\nNothing changed: it was like this before", tasks={1: None})


@pytest.mark.behaviour("release", "complete")
@pytest.mark.parametrize("status", ["pending", "completed"])
async def test_who_has_lost_a_task_can_no_longer_end_it(desks: BoardTeam, status: str) -> None:
    await add(desks, "parse")
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    await desks["lead"].use("TaskUpdate", taskId=1, status="pending")
    # Alice has not noticed: what counts is the claim she was told of.
    await desks["lead"].use("TaskUpdate", taskId=1, owner="alice")
    told = await desks["alice"].use("TaskUpdate", taskId=1, status=status)
    assert told == refused("Task #1 is no longer yours: it now belongs to 'alice'. Leave it, and choose another task.")


# -- ending ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("complete", "task-deps")
async def test_completing_tells_what_it_unblocked(desks: BoardTeam) -> None:
    await add(desks, "one", "two")
    await add(desks, "three", "four", blockedBy=[1])
    await add(desks, "five", blockedBy=[1, 2])
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    told = await desks["alice"].use("TaskUpdate", taskId=1, status="completed")
    assert told == Result("#1 [completed] one @alice\ncompleted, which unblocked #3, #4", tasks={1: None})
    assert (await desks["bob"].use("TaskUpdate", taskId=3, status="in_progress")).ok


@pytest.mark.behaviour("complete")
async def test_only_owner_or_lead_complete(desks: BoardTeam) -> None:
    await add(desks, "one", "two")
    await desks["alice"].use("TaskUpdate", taskId=1, status="in_progress")
    others = await desks["bob"].use("TaskUpdate", taskId=1, status="completed")
    assert others == refused("Task #1 belongs to 'alice'. Ask alice, or choose another task.")
    free = await desks["bob"].use("TaskUpdate", taskId=2, status="completed")
    assert free == refused("Task #2 is not yours. Take it first, with status in_progress.")
    assert (await desks["lead"].use("TaskUpdate", taskId=1, status="completed")).ok
    assert (await desks["bob"].use("TaskUpdate", taskId=2, owner="bob", status="completed")).ok


@pytest.mark.behaviour("task-deps")
async def test_deleting_takes_the_edges_away_and_tells_what_it_unblocked(desks: BoardTeam) -> None:
    await add(desks, "one")
    await add(desks, "two", blockedBy=[1])
    told = await desks["lead"].use("TaskUpdate", taskId=1, status="deleted")
    assert told == Result("#1 [deleted] one\ndeleted, which unblocked #2", tasks={1: None})
    assert desks.task(2).blocked_by == set()


async def test_a_repeated_update_does_nothing_twice(desks: BoardTeam) -> None:
    await add(desks, "one", "two")
    await desks["alice"].use("TaskCreate", subject="three")
    wanted: dict[str, Any] = {"taskId": 1, "owner": "alice", "subject": "all", "addBlocks": [3], "status": "completed"}
    first = await desks["alice"].use("TaskUpdate", **wanted)
    before = await desks.events()
    assert [event["cause"] for event in before[3:]] == ["alice:2.0/owner", "alice:2.0/edit", "alice:2.0/status"]
    again = await desks["alice"].use_again("TaskUpdate", **wanted)
    assert first == Result("#1 [completed] all @alice\nclaimed, edited, completed, which unblocked #3", tasks={1: None})
    # What it unblocked has gone on since, and an owner edits first; the rest is as it was.
    assert again == Result("#1 [completed] all @alice\nedited, claimed, completed", tasks={1: None})
    assert await desks.events() == before


async def test_what_was_done_before_a_refusal_is_told_with_it(desks: BoardTeam) -> None:
    await add(desks, "one", "two", owner="alice")
    told = await desks["alice"].use("TaskUpdate", taskId=2, subject="more", owner="bob")
    assert told == Result(
        "#2 [pending] more @alice\nedited. The rest was refused: Only the lead and the user can assign tasks. "
        "Ask the lead to give #2 to 'bob'.",
        ok=False,
        tasks={2: None},
    )
