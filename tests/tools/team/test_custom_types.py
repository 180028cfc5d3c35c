"""Task with an agent type that a file describes: what its teammates and subagents are made with."""

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.team.roster_records import Joined
from deskmate.errors import BadInput, ToolError
from tests.tools.calling_team import CallingTeam
from tests.tools.mail_team import MailDesk, MailTeam

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("agent-types")]

REVIEWER = AgentProfile(
    "reviewer",
    "reviews",
    "Read the diff.",
    ("read_file", "grep"),
    "openai:small",
    Mode.BYPASS,
    Isolation.AUTO,
    "magenta",
    file="reviewer.md",
    of_project=True,
)


@pytest.fixture
async def team() -> MailTeam:
    return await MailTeam.gathered()


@pytest.fixture
async def lead(team: MailTeam) -> MailDesk:
    desk = await team.desk(LEAD)
    desk.profiles["reviewer"] = REVIEWER
    return desk


async def test_a_teammate_of_a_type_has_all_that_the_file_says_in_its_record(lead: MailDesk) -> None:
    await lead.use("Task", prompt="Review task 1.", subagent_type="Reviewer", name="rita")
    found = lead.roster.members["rita"].joined
    assert found
    assert found.model_dump(exclude={"at", "run", "ord"}) == Joined(
        name="rita",
        agent_type=AgentType.EXPLORE,
        custom_type="reviewer",
        instructions="Read the diff.",
        tools=("read_file", "grep"),
        colour="magenta",
        role="reviewer",
        prompt="Review task 1.",
        model="openai:small",
        # As wide as the lead's, although the file wants more.
        mode=Mode.DEFAULT,
        isolation=Isolation.AUTO,
        cause="lead:2.0",
        at=0.0,
    ).model_dump(exclude={"at"})


async def test_what_the_lead_says_wins_over_the_file(team: MailTeam, lead: MailDesk) -> None:
    await team.permit(Mode.DONT_ASK)
    await lead.use(
        "Task",
        prompt="Review.",
        subagent_type="reviewer",
        name="rita",
        role="tester",
        model="openai:large",
        mode="acceptEdits",
        isolation="shared",
    )
    found = lead.roster.members["rita"].joined
    assert found
    said = (found.role, found.model, found.mode, found.isolation)
    assert said == ("tester", "openai:large", Mode.ACCEPT_EDITS, Isolation.SHARED)


@pytest.mark.behaviour("trust")
async def test_a_file_of_a_project_gives_no_mode_that_is_wider_than_the_teams(team: MailTeam, lead: MailDesk) -> None:
    await team.permit(Mode.BYPASS, LEAD)
    await lead.use("Task", prompt="Review.", subagent_type="reviewer", name="rita")
    assert lead.roster.mode_of("rita") is Mode.DEFAULT


async def test_a_type_that_plans_first_joins_to_plan(lead: MailDesk) -> None:
    lead.profiles["planner"] = AgentProfile("planner", mode=Mode.PLAN, file="planner.md")
    result = await lead.use("Task", prompt="Plan it.", subagent_type="planner", name="paul")
    assert lead.roster.members["paul"].owes_plan
    assert "It plans first" in result.text


async def test_an_unknown_type_is_refused_with_the_names_there_are(lead: MailDesk) -> None:
    with pytest.raises(BadInput, match=r"'Wizard' is not an agent type\. Choose one of .*Plan, reviewer\."):
        await lead.use("Task", prompt="Do magic.", subagent_type="Wizard", name="merlin")
    assert lead.roster.teammates == []


async def test_a_mode_that_the_lead_may_not_give_is_still_refused(lead: MailDesk) -> None:
    with pytest.raises(ToolError, match="wider than your own"):
        await lead.use("Task", prompt="Review.", subagent_type="reviewer", name="rita", mode="bypass")


async def test_a_call_that_runs_again_does_not_need_the_file_any_more(lead: MailDesk) -> None:
    run = await lead.begin("Task", prompt="Review.", subagent_type="reviewer")
    lead.profiles.clear()
    assert await run() == Result("reviewer did: Review.")


async def test_a_teammate_whose_type_has_no_bash_puts_no_command_on_the_board() -> None:
    team = await CallingTeam.gathered()
    await team.team_state.roster.join(Joined(name="dora", tools=("read_file", "write_file"), at=0.0))
    dora = await team.seat("dora")
    assert "you have no bash" in await dora.refused("TaskCreate", subject="Test it", description="x", verify="make")
    assert "#1" in await dora.told("TaskCreate", subject="Test it", description="x")
