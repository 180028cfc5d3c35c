"""The boards of a lead with two teams. Both have a task #1, and a member named alice."""

import pytest

from deskmate.core.agent.memory import Memory
from deskmate.core.policy.permissions import Attempt
from deskmate.core.team.tasks import TaskStatus
from tests.tools.board_team import BoardDesk, BoardTeam, add, refused

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("two-teams")]


@pytest.fixture
async def home() -> BoardTeam:
    """The lead's first team: alice and bob, and a task."""
    team = BoardTeam("main")
    await team.open("alice", "bob")
    await add(team, "parse")
    return team


@pytest.fixture
async def lead(home: BoardTeam) -> BoardDesk:
    """The lead, which leads `web` now: wendy and another alice, and a task."""
    team = BoardTeam("web", home)
    await team.open("alice", "wendy")
    await add(team, "paint")
    # As `CallContext.memory` returns it for the home.
    home["lead"].memory = Memory(name="lead", away="web")
    return team["lead"]


async def test_a_lead_creates_lists_and_reads_tasks_of_its_first_team_by_name(lead: BoardDesk, home: BoardTeam) -> None:
    made = await lead.use("TaskCreate", subject="test", owner="bob", blockedBy=[1], team_name="main")
    assert (made.text, made.team) == ("In team 'main':\nCreated #2 test. It waits for #1.", "main")
    listed = await lead.use("TaskList", team_name="main")
    assert listed.text.splitlines() == [
        "In team 'main':",
        "#1 [pending] parse",
        "#2 [pending] test (blocked by #1) @bob",
    ]
    assert (await lead.use("TaskList")).text == "#1 [pending] paint"
    assert (await lead.use("TaskList", team_name="web")).text == "#1 [pending] paint"
    read = await lead.use("TaskGet", taskId=2, team_name="main")
    assert read.text.startswith("In team 'main':\ntask #2\n")
    assert (read.framed, home.task(2).owner) == (True, "bob")


async def test_a_change_of_the_other_board_leaves_its_own_alone(lead: BoardDesk, home: BoardTeam) -> None:
    done = await lead.use("TaskUpdate", taskId=1, owner="Alice@main", subject="parse it", team_name="main")
    assert done.text == "In team 'main':\n#1 [pending] parse it @alice\nedited, given to 'alice'"
    assert (home.task(1).owner, lead.desks.task(1).owner) == ("alice", None)
    ended = await lead.use("TaskUpdate", taskId=1, status="deleted", team_name="main")
    assert ended.ok
    assert (home.task(1).status, lead.desks.task(1).status) == (TaskStatus.DELETED, TaskStatus.PENDING)


async def test_a_repeated_call_changes_the_other_board_once(lead: BoardDesk, home: BoardTeam) -> None:
    first = await lead.use("TaskCreate", subject="test", team_name="main")
    assert (await lead.use_again("TaskCreate", subject="test", team_name="main")) == first
    assert len(home.board.state.tasks) == 2


async def test_a_refusal_of_the_other_team_says_so(lead: BoardDesk) -> None:
    for result in (
        await lead.use("TaskGet", taskId=9, team_name="main"),
        await lead.use("TaskCreate", subject="test", owner="wendy", team_name="main"),
    ):
        assert (result.ok, result.team, result.text.splitlines()[0]) == (False, "main", "In team 'main':")
    # The result names the members of that team, as of this record of its roster.
    assert (result.roster, "bob" in result.text) == (3, True)


async def test_a_lead_with_two_teams_is_told_how_to_name_them(lead: BoardDesk) -> None:
    assert await lead.use("TaskCreate", subject="test", owner="bob@main") == refused(
        "'bob@main' is on your other team, and this is the board of team 'web'. For the board of that team, set "
        "team_name to 'main'."
    )
    assert await lead.use("TaskList", team_name="api") == refused(
        "Your teams are 'web' and 'main', not 'api'. Set team_name to 'main', or leave it out for the board of 'web'."
    )


async def test_a_role_that_nobody_has_there_is_reported_without_advice_that_would_act_here(lead: BoardDesk) -> None:
    made = await lead.use("TaskCreate", subject="test", role="tester", team_name="main")
    assert ("tester" in made.text, "Spawn" in made.text) == (True, False)
    here = await lead.use("TaskCreate", subject="test", role="tester")
    assert "Spawn" in here.text


async def test_the_rules_see_the_command_of_the_task_on_the_named_board(lead: BoardDesk) -> None:
    await lead.use("TaskUpdate", taskId=1, owner="lead", status="in_progress", team_name="main")
    await lead.use("TaskCreate", subject="test", verify="make test", team_name="main")
    seen = [await lead.attempt("TaskUpdate", taskId=2, status="completed", team_name=team) for team in ("main", "web")]
    assert seen[0].command == "make test"
    assert seen[1] == Attempt("bash", None, inside=False)


async def test_a_teammate_has_one_team_only(lead: BoardDesk) -> None:
    refusal = await lead.desks["wendy"].use("TaskList", team_name="main")
    assert (refusal.ok, refusal.team) == (False, None)
