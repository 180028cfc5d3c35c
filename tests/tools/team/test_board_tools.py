"""The task tools: what each call makes of the board, and what the model reads of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.team.spending import Sum
from deskmate.ports import Ran
from deskmate.testing import Say, Use
from deskmate.tools import spec, tools_for
from tests.runtime.agent_harness import AgentHarness
from tests.tools.board_team import BoardTeam, add, refused

pytestmark = pytest.mark.anyio

TASK_TOOLS = ("TaskCreate", "TaskGet", "TaskUpdate", "TaskList")


# -- what a model is shown, and what is refused at once -------------------------------------------


@pytest.mark.behaviour("task-tools")
@pytest.mark.parametrize("kind", [AgentKind.LEAD, AgentKind.TEAMMATE])
@pytest.mark.parametrize("agent_type", AgentType)
def test_lead_and_teammates_have_all_four(kind: AgentKind, agent_type: AgentType) -> None:
    tools = tools_for(kind, tools_of(kind, agent_type))
    assert tuple(tool.name for tool in tools if tool.name in TASK_TOOLS) == TASK_TOOLS


@pytest.mark.behaviour("task-tools")
def test_the_model_is_shown_the_names_it_must_use() -> None:
    assert {tool.name: list(spec(tool).schema["properties"]) for tool in tools_for(AgentKind.LEAD, TASK_TOOLS)} == {
        "TaskCreate": ["subject", "description", "activeForm", "blockedBy", "owner", "role", "verify"],
        "TaskGet": ["taskId"],
        "TaskUpdate": [
            "taskId",
            "status",
            "owner",
            "subject",
            "description",
            "activeForm",
            "role",
            "addBlocks",
            "addBlockedBy",
            "removeBlockedBy",
        ],
        "TaskList": [],
    }


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("TaskCreate", {}),
        ("TaskCreate", {"subject": ""}),
        ("TaskCreate", {"subject": "a", "blockedBy": ["one"]}),
        ("TaskCreate", {"subject": "a", "blockedBy": 1}),
        ("TaskGet", {"taskId": "three"}),
        ("TaskGet", {"taskId": 0}),
        ("TaskGet", {"taskId": -3}),
        ("TaskGet", {"taskId": True}),
        ("TaskGet", {"taskId": 1.5}),
        ("TaskGet", {"taskId": [1]}),
        ("TaskGet", {"taskId": None}),
        ("TaskUpdate", {"status": "completed"}),
        ("TaskUpdate", {"taskId": 1, "status": "done"}),
        ("TaskUpdate", {"taskId": 1, "addBlocks": [0]}),
        ("TaskUpdate", {"taskId": 1, "epoch": 3}),
        ("TaskList", {"status": "pending"}),
    ],
)
def test_arguments_that_make_no_sense_are_refused(name: str, wrong: dict[str, object]) -> None:
    (tool,) = tools_for(AgentKind.LEAD, [name])
    with pytest.raises(ValidationError):
        tool.arguments.model_validate(wrong)


@pytest.mark.behaviour("task-tools")
@pytest.mark.parametrize("name", TASK_TOOLS)
async def test_a_named_team_must_be_the_callers(desks: BoardTeam, name: str) -> None:
    await add(desks, "parse")
    needed: dict[str, dict[str, Any]] = {
        "TaskCreate": {"subject": "a"},
        "TaskUpdate": {"taskId": 1, "owner": "alice"},
        "TaskGet": {"taskId": 1},
    }
    arguments = needed.get(name, {})
    before = await desks.events()
    other = await desks["alice"].use(name, team_name="api", **arguments)
    assert other == refused("Your team is 'web', not 'api'. You can only use its board: leave team_name out.")
    assert await desks.events() == before
    assert (await desks["alice"].use(name, team_name="web", **arguments)).ok


# -- creating and looking -------------------------------------------------------------------------


@pytest.mark.behaviour("task-tools", "task-deps")
async def test_creating_tells_the_number_and_what_the_task_waits_for(desks: BoardTeam) -> None:
    lead = desks["lead"]
    assert await lead.use("TaskCreate", subject="design\nthe schema") == Result("Created #1 design the schema")
    assert await lead.use("TaskCreate", subject="write it") == Result("Created #2 write it")
    assert await lead.use("TaskCreate", subject="test it", blockedBy=["#1", 2]) == Result(
        "Created #3 test it. It waits for #1, #2."
    )


@pytest.mark.behaviour("task-tools")
@pytest.mark.parametrize("id_", [3, "3", "#3"])
async def test_an_id_may_be_written_in_three_ways(desks: BoardTeam, id_: int | str) -> None:
    await add(desks, "one", "two", "three", "four")
    lead = desks["lead"]
    three = '<deskmate-task id="3" created_by="lead">three</deskmate-task>'
    assert await lead.use("TaskGet", taskId=id_) == Result(
        f"task #3\nstatus: pending\nowner: nobody\n{three}", framed=True
    )
    await lead.use("TaskUpdate", taskId=1, addBlocks=[id_])
    await lead.use("TaskUpdate", taskId=id_, addBlockedBy=["#2"])
    await lead.use("TaskUpdate", taskId=4, addBlockedBy=[id_, "1"])
    await lead.use("TaskUpdate", taskId=4, removeBlockedBy=[id_])
    assert (desks.task(3).blocked_by, desks.task(4).blocked_by) == (frozenset({1, 2}), frozenset({1}))


async def test_a_repeated_creation_makes_no_second_task_and_tells_the_same(desks: BoardTeam) -> None:
    first = await desks["lead"].use("TaskCreate", subject="parse", owner="alice")
    await desks.roster.leave("alice", "done", heard=0)
    assert await desks["lead"].use_again("TaskCreate", subject="parse", owner="alice") == first
    assert list(desks.board.state.tasks) == [1]


@pytest.mark.behaviour("assign")
async def test_an_owner_must_be_here(desks: BoardTeam) -> None:
    await add(desks, "parse")
    await desks.roster.leave("bob", "done", heard=0)
    before = await desks.events()
    unknown = refused("'zoe' is not on this team. On the team: lead, alice, user.")
    gone = refused("'bob' has left. On the team: lead, alice, user.")
    assert await desks["lead"].use("TaskCreate", subject="a", owner="zoe") == unknown
    assert await desks["lead"].use("TaskCreate", subject="a", owner="bob") == gone
    assert await desks["lead"].use("TaskUpdate", taskId=1, owner="zoe") == unknown
    assert await desks["lead"].use("TaskUpdate", taskId=1, owner="bob") == gone
    assert await desks.events() == before


@pytest.mark.behaviour("assign")
async def test_a_new_task_is_given_to_others_by_the_lead_alone(desks: BoardTeam) -> None:
    assert (await desks["lead"].use("TaskCreate", subject="a", owner="user")).ok
    assert (await desks["alice"].use("TaskCreate", subject="b", owner="alice")).ok
    told = await desks["alice"].use("TaskCreate", subject="c", owner="bob")
    assert told == refused("Only the lead and the user can give work to 'bob'. Leave owner out, or ask the lead.")
    assert [task.owner for task in desks.board.state.tasks.values()] == ["user", "alice"]


async def test_an_empty_optional_text_is_as_good_as_none(desks: BoardTeam) -> None:
    await desks["lead"].use("TaskCreate", subject="a", owner="", role="", verify="")
    task = desks.task(1)
    assert (task.owner, task.role, task.verify) == (None, None, None)


@pytest.mark.behaviour("task-tools")
async def test_the_list_has_a_line_for_each_task_that_is_not_deleted(desks: BoardTeam) -> None:
    alice = desks["alice"]
    assert await alice.use("TaskList") == Result("The board is empty.")
    await add(desks, "one", "two", "three")
    await add(desks, "four", blockedBy=[2, 3])
    await alice.use("TaskUpdate", taskId=2, status="in_progress")
    await desks["lead"].use("TaskUpdate", taskId=1, status="deleted")
    assert await alice.use("TaskList") == Result(
        "#2 [in progress] two @alice\n#3 [pending] three\n#4 [pending] four (blocked by #2, #3)"
    )


async def test_a_long_list_leaves_out_what_is_completed_and_says_how_many_more_there_are(desks: BoardTeam) -> None:
    await add(desks, *(str(number) for number in range(1, 203)))
    await desks["lead"].use("TaskUpdate", taskId=1, status="completed")
    lines = (await desks["alice"].use("TaskList")).text.split("\n")
    assert lines[0] == "#2 [pending] 2"
    assert lines[199:] == [
        "#201 [pending] 201",
        "… 1 line more. Read any of them with TaskGet.",
        "(1 completed task not listed)",
    ]


@pytest.mark.behaviour("task-tools")
async def test_reading_a_task_tells_all_of_it_but_its_epoch(desks: BoardTeam) -> None:
    await add(desks, "design", "collect")
    await add(
        desks,
        "parse",
        description="Read the file.\nKeep its order.",
        activeForm="Parsing",
        blockedBy=[1, 2],
        role="alice",
        verify="make test",
    )
    await add(desks, "print", blockedBy=[3])
    await desks["lead"].use("TaskUpdate", taskId=1, status="completed")
    waiting = await desks["bob"].use("TaskGet", taskId=3)
    assert waiting.text.split("\n")[1:4] == [
        "status: pending",
        "owner: nobody",
        "blocked by: #1, #2 (still open: #2)",
    ]
    await desks["lead"].use("TaskUpdate", taskId=2, status="completed")
    desks["alice"].workspace.ran = Ran(0, "4 passed\nin 1 s\n")
    await desks["alice"].use("TaskUpdate", taskId=3, status="in_progress", activeForm="Parsing it")
    await desks.board.release("alice", 3, 1, note="half\nway")
    await desks["alice"].use("TaskUpdate", taskId=3, owner="alice", status="completed")
    assert await desks["bob"].use("TaskGet", taskId=3) == Result(
        "task #3\n"
        "status: completed\n"
        "owner: alice\n"
        "blocked by: #1, #2\n"
        "blocks: #4\n"
        "receipt: exit 0 in /desk, at an unknown commit, it printed … 4 passed in 1 s\n"
        '<deskmate-task id="3" created_by="lead" edited_by="alice">parse\n'
        "only for: alice\n"
        "status text: Parsing it\n"
        "completing it runs this command, which must succeed: make test\n"
        "Read the file.\nKeep its order.</deskmate-task>\n"
        '<deskmate-note task="3" by="alice">half\nway</deskmate-note>',
        framed=True,
    )


@pytest.mark.behaviour("task-tools")
async def test_a_task_that_is_not_there_is_named(desks: BoardTeam) -> None:
    await add(desks, "parse")
    unknown = refused("There is no task #9. TaskList shows all tasks.")
    assert await desks["alice"].use("TaskGet", taskId=9) == unknown
    assert await desks["alice"].use("TaskUpdate", taskId=9, status="completed") == unknown


# -- what the board says about parallel work ----------------------------------------------------------


@pytest.mark.behaviour("advice")
async def test_a_lead_reads_what_its_board_allows_with_the_last_task_of_a_step() -> None:
    one, two = ({"subject": subject, "description": "in src/app.py"} for subject in ("parse", "print"))
    step = Say("", [Use("TaskCreate", one), Use("TaskCreate", two)])
    harness = await AgentHarness.opened([step, "Done."])
    await harness.turn("go")
    first, second = [text for _, _, text in await harness.results()]
    assert first == "Created #1 parse"
    assert "All 2 open tasks" in second
    assert "#1 and #2 both name src/app.py" in second


@pytest.mark.behaviour("advice")
async def test_a_teammate_reads_nothing_of_that() -> None:
    team = BoardTeam()
    await team.open("alice")
    await team["lead"].use("TaskCreate", subject="parse")
    assert (await team["alice"].use("TaskCreate", subject="print")).text == "Created #2 print"


@pytest.mark.behaviour("advice")
@pytest.mark.parametrize(("spent", "told"), [(Sum(cost=0.5), True), (Sum(cost=0.5, unpriced=1), False), (None, False)])
async def test_a_lead_reads_what_a_completed_task_has_cost(spent: Sum | None, told: bool) -> None:
    team = BoardTeam()
    await team.open("alice")
    lead, alice = team["lead"], team["alice"]
    lead.spent = {"alice": spent} if spent else {}
    await lead.use("TaskCreate", subject="parse", owner="alice")
    await alice.use("TaskUpdate", taskId=1, status="in_progress")
    await alice.use("TaskUpdate", taskId=1, status="completed")
    await lead.use("TaskCreate", subject="print")
    result = await lead.use("TaskCreate", subject="test")
    assert ("$0.50 for each task" in result.text) is told
