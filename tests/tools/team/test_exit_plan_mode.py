"""ExitPlanMode: a plan is submitted, answered once, and submitted again where it was refused."""

import pytest
from pydantic import ValidationError

from deskmate.core.agent.entries import Opened
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.handshakes import OpenRequest, Shake
from deskmate.core.team.messages import PlanRequest, PlanResponse
from deskmate.errors import Refused, ToolError
from tests.tools.mail_team import MailDesk, MailTeam

pytestmark = pytest.mark.anyio


@pytest.fixture
async def team() -> MailTeam:
    return await MailTeam.gathered("alice", "bob")


@pytest.fixture
async def planner(team: MailTeam) -> MailDesk:
    return await team.desk("bob", planning=True)


async def answer(team: MailTeam, request_id: str, *, approve: bool, content: str = "") -> None:
    """Let the lead hear of a plan of bob's and answer it, and bob hear that."""
    await team.hear(LEAD)
    await (await team.desk(LEAD)).send(
        type="plan_approval_response", recipient="bob", request_id=request_id, approve=approve, content=content
    )
    await team.hear("bob")


@pytest.mark.behaviour("plan")
async def test_a_plan_goes_to_the_lead_and_is_remembered_as_open(team: MailTeam, planner: MailDesk) -> None:
    result = await planner.use("ExitPlanMode", plan="Rename, then test.")
    assert result == Result(
        "Submitted to lead (request bob:2.0). End your turn: the answer wakes you.",
        opened=Opened(request_id="bob:2.0", shake=Shake.PLAN, asked=LEAD),
    )
    assert planner.memory.requests == {"bob:2.0": OpenRequest("bob:2.0", Shake.PLAN, LEAD)}
    assert planner.memory.owes_plan
    assert await team.hear(LEAD) == [("bob", PlanRequest(request_id="bob:2.0", content="Rename, then test."))]


@pytest.mark.behaviour("plan")
async def test_an_approved_plan_ends_the_planning(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename, then test.")
    await answer(team, planner.call, approve=True)
    assert (planner.memory.owes_plan, planner.memory.requests) == (False, {})
    with pytest.raises(ToolError, match="not in plan mode"):
        await planner.use("ExitPlanMode", plan="Another.")


@pytest.mark.behaviour("plan")
async def test_a_refused_plan_may_be_followed_by_another(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    await answer(team, planner.call, approve=False, content="And the tests?")
    assert planner.memory.owes_plan
    await planner.use("ExitPlanMode", plan="Rename, then test.")
    await answer(team, planner.call, approve=True)
    assert not planner.memory.owes_plan


@pytest.mark.behaviour("plan")
async def test_only_the_first_answer_to_a_plan_counts(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    first = planner.call
    await answer(team, first, approve=False, content="No.")
    with pytest.raises(ToolError, match=r"^bob has no open plan 'bob:2\.0'\. Open: none\.$"):
        await answer(team, first, approve=True)
    with pytest.raises(Refused, match=r"lead has already refused plan 'bob:2\.0'"):
        await team.process.mailbox(USER).answer("bob", PlanResponse(request_id=first, approve=True))
    # Nor is an answer heard that came about in another way.
    await team.process.mailbox(USER).send("bob", PlanResponse(request_id=first, approve=True))
    assert await team.hear("bob") == []
    assert planner.memory.owes_plan


@pytest.mark.behaviour("plan")
async def test_a_plan_that_the_user_answered_is_refused_to_the_lead(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    await team.process.mailbox(USER).answer("bob", PlanResponse(request_id=planner.call, approve=True))
    with pytest.raises(Refused, match=r"user has already approved plan 'bob:2\.0'. The first answer counts"):
        await answer(team, planner.call, approve=False, content="No.")
    assert await team.hear("bob") == [(USER, PlanResponse(request_id="bob:2.0", approve=True))]
    assert not planner.memory.owes_plan


@pytest.mark.behaviour("plan")
async def test_an_answer_given_again_after_a_crash_is_the_same_one(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    await team.hear(LEAD)
    lead = await team.desk(LEAD)
    run = await lead.begin(
        "SendMessage", type="plan_approval_response", recipient="bob", request_id=planner.call, approve=True
    )
    assert await run() == await run()
    assert await team.hear("bob") == [(LEAD, PlanResponse(request_id="bob:2.0", approve=True))]


@pytest.mark.behaviour("plan")
async def test_a_teammate_approves_neither_its_own_plan_nor_that_of_another(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    request = planner.call
    for name in ("bob", "alice"):
        with pytest.raises(ToolError, match="Only the lead"):
            await (await team.desk(name)).send(
                type="plan_approval_response", recipient="bob", request_id=request, approve=True
            )
    # Nor does it count if it came about in another way.
    await team.process.mailbox("alice").send("bob", PlanResponse(request_id=request, approve=True))
    await team.hear("bob")
    assert planner.memory.owes_plan


@pytest.mark.behaviour("plan")
async def test_a_new_plan_replaces_the_one_that_waits_for_an_answer(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    older = planner.call
    second = await planner.use("ExitPlanMode", plan="Rename twice.")
    assert f"It replaces your plan {older}." in second.text
    assert list(planner.memory.requests) == [planner.call]
    await team.hear(LEAD)
    with pytest.raises(ToolError, match=rf"^bob has no open plan '{older}'. Open: {planner.call} from bob\.$"):
        await answer(team, older, approve=True)
    await answer(team, planner.call, approve=True)
    assert not planner.memory.owes_plan


@pytest.mark.behaviour("plan")
async def test_a_mode_of_plan_lets_lead_and_teammate_submit_a_plan(team: MailTeam) -> None:
    await team.permit(Mode.PLAN)
    for name, asked in ((LEAD, USER), ("alice", LEAD)):
        result = await (await team.desk(name)).use("ExitPlanMode", plan="Rename.")
        assert result.opened
        assert result.opened.asked == asked


@pytest.mark.behaviour("plan", "P4")
async def test_a_lead_in_plan_mode_approves_nothing(team: MailTeam, planner: MailDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    await team.hear(LEAD)
    await team.permit(Mode.PLAN, LEAD)
    with pytest.raises(ToolError, match="You are in plan mode yourself"):
        await answer(team, planner.call, approve=True)


@pytest.mark.behaviour("plan")
async def test_a_plan_submitted_again_after_a_crash_is_the_same_one(team: MailTeam, planner: MailDesk) -> None:
    run = await planner.begin("ExitPlanMode", plan="Rename.")
    assert await run() == await run()
    assert await team.hear(LEAD) == [("bob", PlanRequest(request_id="bob:2.0", content="Rename."))]


@pytest.mark.behaviour("plan")
async def test_who_does_not_plan_submits_nothing(team: MailTeam) -> None:
    for name in (LEAD, "alice"):
        with pytest.raises(ToolError, match="not in plan mode"):
            await (await team.desk(name)).use("ExitPlanMode", plan="Rename.")
    assert await team.hear(LEAD) == []


@pytest.mark.behaviour("plan")
async def test_a_lead_that_plans_asks_the_user_for_it_cannot_approve_itself(team: MailTeam) -> None:
    lead = await team.desk(LEAD, planning=True)
    result = await lead.use("ExitPlanMode", plan="Rename.")
    assert result.opened == Opened(request_id="lead:2.0", shake=Shake.PLAN, asked=USER)
    with pytest.raises(ToolError, match="is you"):
        await lead.send(type="plan_approval_response", recipient=LEAD, request_id="lead:2.0", approve=True)
    await team.process.mailbox(USER).send(LEAD, PlanResponse(request_id="lead:2.0", approve=True))
    await team.hear(LEAD)
    assert not lead.memory.owes_plan


@pytest.mark.parametrize("nonsense", [{}, {"plan": ""}, {"plan": ["one", "two"]}, {"plan": "a", "approve": True}])
async def test_what_is_no_plan_is_refused(planner: MailDesk, nonsense: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        await planner.begin("ExitPlanMode", **nonsense)
