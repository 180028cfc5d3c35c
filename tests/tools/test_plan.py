"""ExitPlanMode: a plan is handed in, answered once, and handed in again where it was refused."""

import pytest
from pydantic import ValidationError

from deskmate.core.entries import Opened
from deskmate.core.handshakes import Request, Shake
from deskmate.core.messages import PlanRequest, PlanResponse
from deskmate.core.names import LEAD, USER
from deskmate.core.results import Result
from deskmate.errors import ToolError
from tests.tools.letters import Colleagues, LetterDesk

pytestmark = pytest.mark.anyio


@pytest.fixture
async def team() -> Colleagues:
    return await Colleagues.gathered("alice", "bob")


@pytest.fixture
async def planner(team: Colleagues) -> LetterDesk:
    return await team.desk("bob", planning=True)


async def answer(team: Colleagues, request_id: str, *, approve: bool, content: str = "") -> None:
    """Let the lead answer a plan of bob's, and bob hear it."""
    await (await team.desk(LEAD)).send(
        type="plan_approval_response", recipient="bob", request_id=request_id, approve=approve, content=content
    )
    await team.hear("bob")


@pytest.mark.behaviour("plan")
async def test_a_plan_goes_to_the_lead_and_is_remembered_as_open(team: Colleagues, planner: LetterDesk) -> None:
    result = await planner.use("ExitPlanMode", plan="Rename, then test.")
    assert result == Result(
        "submitted to lead (request bob:2.0); end your turn and wait for the answer",
        opened=Opened(request_id="bob:2.0", shake=Shake.PLAN, asked=LEAD),
    )
    assert planner.memory.requests == {"bob:2.0": Request("bob:2.0", Shake.PLAN, LEAD)}
    assert planner.memory.planning
    assert await team.hear(LEAD) == [("bob", PlanRequest(request_id="bob:2.0", content="Rename, then test."))]


@pytest.mark.behaviour("plan")
async def test_an_approved_plan_ends_the_planning(team: Colleagues, planner: LetterDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename, then test.")
    await answer(team, planner.call, approve=True)
    assert (planner.memory.planning, planner.memory.requests) == (False, {})
    with pytest.raises(ToolError, match="not in plan mode"):
        await planner.use("ExitPlanMode", plan="Another.")


@pytest.mark.behaviour("plan")
async def test_a_refused_plan_may_be_followed_by_another(team: Colleagues, planner: LetterDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    await answer(team, planner.call, approve=False, content="And the tests?")
    assert planner.memory.planning
    await planner.use("ExitPlanMode", plan="Rename, then test.")
    await answer(team, planner.call, approve=True)
    assert not planner.memory.planning


@pytest.mark.behaviour("plan")
async def test_only_the_first_answer_to_a_plan_counts(team: Colleagues, planner: LetterDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    first = planner.call
    await answer(team, first, approve=False, content="No.")
    await answer(team, first, approve=True)
    assert planner.memory.planning


@pytest.mark.behaviour("plan")
async def test_a_teammate_approves_neither_its_own_plan_nor_that_of_another(
    team: Colleagues, planner: LetterDesk
) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    request = planner.call
    for name in ("bob", "alice"):
        with pytest.raises(ToolError, match="only the lead"):
            await (await team.desk(name)).send(
                type="plan_approval_response", recipient="bob", request_id=request, approve=True
            )
    # Nor does it count if it came about in another way.
    await team.process.mailbox("alice").send("bob", PlanResponse(request_id=request, approve=True))
    await team.hear("bob")
    assert planner.memory.planning


async def test_a_second_plan_waits_for_the_answer_to_the_first(team: Colleagues, planner: LetterDesk) -> None:
    await planner.use("ExitPlanMode", plan="Rename.")
    with pytest.raises(ToolError, match=r"your plan bob:2\.0 waits for the answer of lead"):
        await planner.use("ExitPlanMode", plan="Rename twice.")
    assert len(await team.hear(LEAD)) == 1


@pytest.mark.behaviour("plan")
async def test_a_plan_handed_in_again_after_a_crash_is_the_same_one(team: Colleagues, planner: LetterDesk) -> None:
    run = await planner.begin("ExitPlanMode", plan="Rename.")
    assert await run() == await run()
    assert await team.hear(LEAD) == [("bob", PlanRequest(request_id="bob:2.0", content="Rename."))]


@pytest.mark.behaviour("plan")
async def test_who_does_not_plan_hands_in_nothing(team: Colleagues) -> None:
    for name in (LEAD, "alice"):
        with pytest.raises(ToolError, match="not in plan mode"):
            await (await team.desk(name)).use("ExitPlanMode", plan="Rename.")
    assert await team.hear(LEAD) == []


@pytest.mark.behaviour("plan")
async def test_a_lead_that_plans_asks_the_user_for_it_cannot_approve_itself(team: Colleagues) -> None:
    lead = await team.desk(LEAD, planning=True)
    result = await lead.use("ExitPlanMode", plan="Rename.")
    assert result.opened == Opened(request_id="lead:2.0", shake=Shake.PLAN, asked=USER)
    with pytest.raises(ToolError, match="is you"):
        await lead.send(type="plan_approval_response", recipient=LEAD, request_id="lead:2.0", approve=True)
    await team.process.mailbox(USER).send(LEAD, PlanResponse(request_id="lead:2.0", approve=True))
    await team.hear(LEAD)
    assert not lead.memory.planning


@pytest.mark.parametrize("nonsense", [{}, {"plan": ""}, {"plan": ["one", "two"]}, {"plan": "a", "approve": True}])
async def test_what_is_no_plan_is_refused(planner: LetterDesk, nonsense: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        await planner.begin("ExitPlanMode", **nonsense)
