"""Task with a name: who joins, with what, and what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, BadName, Refused, ToolError
from tests.tools.mail_team import MailDesk, MailTeam

NOTIFIED = "You are notified when it writes to you or is idle. Do not wait or poll."

pytestmark = pytest.mark.anyio


@pytest.fixture
async def team() -> MailTeam:
    return await MailTeam.gathered()


@pytest.fixture
async def lead(team: MailTeam) -> MailDesk:
    return await team.desk(LEAD)


def joined(lead: MailDesk, name: str) -> dict[str, Any]:
    """Return the record with which a teammate joined, but for its time and stamp."""
    found = lead.roster.members[name].joined
    assert found
    assert found.at > 0
    return found.model_dump(exclude={"at", "run", "ord"})


@pytest.mark.behaviour("spawn")
async def test_a_name_makes_a_teammate_that_stays(lead: MailDesk) -> None:
    result = await lead.use("Task", prompt="Own the backend.", name="backend", team_name="web")
    assert result == Result(f"agent_id backend@web\nIt works now. {NOTIFIED}")
    plain = Joined(name="backend", prompt="Own the backend.", cause="lead:2.0", at=0.0)
    assert joined(lead, "backend") == plain.model_dump(exclude={"at"})
    assert lead.roster.members["backend"].kind is AgentKind.TEAMMATE


@pytest.mark.behaviour("spawn")
async def test_a_teammate_has_what_it_was_made_with(team: MailTeam, lead: MailDesk) -> None:
    await team.permit(Mode.DONT_ASK)
    await lead.use(
        "Task",
        description="look around",
        prompt="Look.",
        subagent_type="Explore",
        name="scout",
        role="research",
        model="openai:small",
        mode="acceptEdits",
    )
    made = Joined(
        name="scout",
        agent_type=AgentType.EXPLORE,
        role="research",
        prompt="Look.",
        model="openai:small",
        mode=Mode.ACCEPT_EDITS,
        cause="lead:2.0",
        at=0.0,
    )
    assert joined(lead, "scout") == made.model_dump(exclude={"at"})


@pytest.mark.behaviour("spawn", "plan")
@pytest.mark.parametrize("how", [{"plan_mode_required": True}, {"mode": "plan"}])
async def test_a_teammate_that_must_plan_joins_to_plan_and_has_the_mode_of_the_team_afterwards(
    team: MailTeam, lead: MailDesk, how: dict[str, object]
) -> None:
    await team.permit(Mode.ACCEPT_EDITS)
    result = await lead.use("Task", prompt="Migrate.", name="backend", **how)
    assert (joined(lead, "backend")["plan"], lead.roster.mode_of("backend")) == (True, Mode.ACCEPT_EDITS)
    assert result == Result(f"agent_id backend@web\nIt plans first and submits its plan to you. {NOTIFIED}")


@pytest.mark.behaviour("spawn")
async def test_a_name_is_never_used_twice(team: MailTeam, lead: MailDesk) -> None:
    await lead.use("Task", prompt="First.", name="backend")
    await team.process.leave("backend")
    with pytest.raises(Refused, match="Try 'backend-2'"):
        await lead.use("Task", prompt="Second.", name="backend")
    assert joined(lead, "backend")["prompt"] == "First."


@pytest.mark.behaviour("spawn")
async def test_a_call_run_again_after_a_crash_adds_nobody(team: MailTeam, lead: MailDesk) -> None:
    run = await lead.begin("Task", prompt="Own it.", name="backend")
    assert await run() == await run()
    assert [member.name for member in (await team.process.roster.refresh()).teammates] == ["backend"]


@pytest.mark.behaviour("spawn")
@pytest.mark.parametrize(
    "name", ["lead", "user", "everyone", "Lead", "back end", "backend@web", "../x", " ", "-x", "\u0301e", "x" * 65]
)
async def test_a_name_that_is_reserved_or_malformed_is_refused(lead: MailDesk, name: str) -> None:
    with pytest.raises(BadName):
        await lead.use("Task", prompt="Own it.", name=name)
    assert lead.roster.teammates == []


@pytest.mark.behaviour("spawn")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "backend", "team_name": "api"}, "Your team is 'web'"),
        ({"name": "backend", "run_in_background": True}, "Leave out run_in_background"),
        ({"team_name": "web"}, "team_name is only for a teammate"),
        ({"role": "tests", "mode": "plan"}, "role, mode is only for a teammate"),
        ({"plan_mode_required": True, "model": "openai:small"}, "model, plan_mode_required is only for a teammate"),
    ],
)
async def test_what_does_not_go_together_is_refused_with_the_reason(
    lead: MailDesk, arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        await lead.use("Task", prompt="Own it.", **arguments)
    assert lead.roster.teammates == []


NARROW_TO_WIDE = ["plan", "default", "acceptEdits", "dontAsk", "bypass"]
PAIRS = [(mine, asked) for mine in range(5) for asked in range(5)]


@pytest.mark.behaviour("spawn")
@pytest.mark.parametrize(("mine", "asked"), [pair for pair in PAIRS if pair[1] <= pair[0]])
async def test_a_mode_no_wider_than_ones_own_can_be_given(
    team: MailTeam, lead: MailDesk, mine: int, asked: int
) -> None:
    await team.permit(Mode(NARROW_TO_WIDE[mine]))
    await lead.use("Task", prompt="Own it.", name="backend", mode=NARROW_TO_WIDE[asked])
    # Who only plans first goes on as the team does.
    plans, later = True if asked == 0 else None, NARROW_TO_WIDE[asked or mine]
    assert (joined(lead, "backend")["plan"], lead.roster.mode_of("backend")) == (plans, later)


@pytest.mark.behaviour("spawn")
@pytest.mark.parametrize(("mine", "asked"), [pair for pair in PAIRS if pair[1] > pair[0]])
async def test_nobody_gives_a_wider_mode_than_its_own(team: MailTeam, lead: MailDesk, mine: int, asked: int) -> None:
    await team.permit(Mode(NARROW_TO_WIDE[mine]))
    with pytest.raises(ToolError, match=f"wider than your own, {NARROW_TO_WIDE[mine]}"):
        await lead.use("Task", prompt="Own it.", name="backend", mode=NARROW_TO_WIDE[asked])
    assert lead.roster.teammates == []


@pytest.mark.behaviour("spawn")
async def test_a_narrow_lead_in_a_wide_team_makes_narrow_teammates(team: MailTeam, lead: MailDesk) -> None:
    await team.permit(Mode.BYPASS)
    await team.permit(Mode.DEFAULT, member=LEAD)
    await lead.use("Task", prompt="Own it.", name="backend")
    await lead.use("Task", prompt="Own it.", name="planner", plan_mode_required=True)
    assert [lead.roster.mode_of(name) for name in ("backend", "planner")] == [Mode.DEFAULT, Mode.DEFAULT]
    with pytest.raises(ToolError, match="wider"):
        await lead.use("Task", prompt="Own it.", name="frontend", mode="bypass", plan_mode_required=True)


@pytest.mark.behaviour("spawn", "plan")
async def test_who_plans_first_works_in_the_mode_it_was_given_afterwards(team: MailTeam, lead: MailDesk) -> None:
    await team.permit(Mode.DONT_ASK)
    await lead.use("Task", prompt="Own it.", name="backend", mode="acceptEdits", plan_mode_required=True)
    assert (joined(lead, "backend")["plan"], lead.roster.mode_of("backend")) == (True, Mode.ACCEPT_EDITS)


@pytest.mark.behaviour("spawn")
async def test_a_teammate_without_a_mode_follows_the_team(team: MailTeam, lead: MailDesk) -> None:
    await lead.use("Task", prompt="Own it.", name="backend")
    await team.permit(Mode.ACCEPT_EDITS)
    assert lead.roster.mode_of("backend") is Mode.ACCEPT_EDITS


async def test_a_prompt_larger_than_a_record_is_refused(lead: MailDesk) -> None:
    with pytest.raises(BadInput):
        await lead.use("Task", prompt="x" * 600_000, name="backend")
    assert lead.roster.teammates == []


@pytest.mark.parametrize(
    "nonsense",
    [
        {"name": "backend"},
        {"prompt": "", "name": "backend"},
        {"prompt": "Own it.", "name": ["backend"]},
        {"prompt": "Own it.", "name": "backend", "mode": "root"},
        {"prompt": "Own it.", "name": "backend", "role": "x" * 121},
        {"prompt": "Own it.", "name": "backend", "launcher": "process"},
        {"prompt": "Own it.", "name": "backend", "cause": "lead:1.0"},
    ],
)
async def test_nonsense_is_refused_before_anything_runs(lead: MailDesk, nonsense: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await lead.begin("Task", **nonsense)


async def test_without_a_name_it_is_an_errand(lead: MailDesk) -> None:
    assert await lead.use("Task", prompt="Find it.", subagent_type="Plan") == Result("Plan did: Find it.")
    assert lead.roster.teammates == []


@pytest.mark.behaviour("advise")
async def test_a_lead_with_more_teammates_than_can_work_at_once_is_told_so() -> None:
    team = await MailTeam.gathered()
    for blocked_by in ([], [1], [2]):
        await team.process.board.create("lead", NewTask("step", blocked_by=blocked_by))
    lead = await team.desk("lead")
    first = await lead.use("Task", description="help", prompt="Help.", name="ann")
    second = await lead.use("Task", description="help", prompt="Help.", name="bob")
    assert "At most" not in first.text
    assert "At most 1 of the 3 open tasks" in second.text
