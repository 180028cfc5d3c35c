"""SendMessage: what is sent to whom, what it opens and closes, and what it refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from deskmate.core.agent.entries import Answered, Opened
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team.handshakes import OpenRequest, Shake
from deskmate.core.team.messages import BODY_CAP, Broadcast, Plain, PlanResponse, ShutdownRequest, ShutdownResponse
from deskmate.errors import BadName, DeskmateError, TooLarge, ToolError, UnknownRecipient
from tests.tools.mail_team import MailTeam

pytestmark = pytest.mark.anyio


@pytest.fixture
async def team() -> MailTeam:
    return await MailTeam.gathered("alice", "bob")


# -- words ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("send")
@pytest.mark.parametrize("address", ["bob", "bob@web", " bob "])
async def test_a_message_reaches_a_member_by_its_name(team: MailTeam, address: str) -> None:
    alice = await team.desk("alice")
    result = await alice.send(recipient=address, content="The schema is final.", summary="schema final")
    assert result == Result("sent to bob")
    assert await team.hear("bob") == [("alice", Plain(content="The schema is final.", summary="schema final"))]


@pytest.mark.behaviour("send")
async def test_a_message_without_a_summary_is_previewed_by_its_first_words(team: MailTeam) -> None:
    await (await team.desk(LEAD)).send(recipient="bob", content="Begin with\nthe login page.")
    assert await team.hear("bob") == [
        (LEAD, Plain(content="Begin with\nthe login page.", summary="Begin with the login page."))
    ]


@pytest.mark.behaviour("send")
async def test_the_user_can_be_written_to(team: MailTeam) -> None:
    assert await (await team.desk("bob")).send(recipient=USER, content="Hello.") == Result("sent to user")


@pytest.mark.behaviour("send")
@pytest.mark.parametrize("address", ["carol", "B0b", "bob:3.0", "mail/bob", "../bob", "x" * 5_000])
async def test_a_message_to_nobody_is_refused_and_names_who_is_here(team: MailTeam, address: str) -> None:
    with pytest.raises(UnknownRecipient, match="lead, alice, bob, user"):
        await (await team.desk("alice")).send(recipient=address, content="Hello.")


@pytest.mark.behaviour("send")
@pytest.mark.parametrize("address", ["bob@api", "bob@", "@bob", "bob@web@web"])
async def test_members_of_another_team_cannot_be_written_to(team: MailTeam, address: str) -> None:
    with pytest.raises(BadName):
        await (await team.desk("alice")).send(recipient=address, content="Hello.")


@pytest.mark.behaviour("send")
async def test_who_has_left_is_not_written_to(team: MailTeam) -> None:
    await team.process.leave("bob")
    for letter in ({"content": "Hello."}, {"type": "shutdown_request"}):
        with pytest.raises(UnknownRecipient, match="'bob' has left"):
            await (await team.desk(LEAD)).send(recipient="bob", **letter)


async def test_a_message_above_the_cap_is_refused(team: MailTeam) -> None:
    with pytest.raises(TooLarge):
        await (await team.desk("alice")).send(recipient="bob", content="x" * BODY_CAP)
    assert await team.hear("bob") == []


@pytest.mark.behaviour("send")
async def test_a_message_sent_again_after_a_crash_is_heard_once(team: MailTeam) -> None:
    run = await (await team.desk("alice")).begin("SendMessage", recipient="bob", content="Once.")
    assert await run() == await run() == Result("sent to bob")
    assert await team.hear("bob") == [("alice", Plain(content="Once.", summary="Once."))]
    await run()
    assert await team.hear("bob") == []


# -- broadcasts -------------------------------------------------------------------------------------


@pytest.mark.behaviour("broadcast")
async def test_a_broadcast_reaches_every_other_agent_that_is_here_and_not_the_user(team: MailTeam) -> None:
    await team.process.join("carol")
    await team.process.leave("carol")
    letter = {"type": "broadcast", "recipient": "anyone", "content": "Stop all work.", "team_name": "web"}
    result = await (await team.desk("alice")).send(**letter)
    assert result == Result("sent to 2 of 2: lead, bob")
    message = Broadcast(content="Stop all work.", summary="Stop all work.")
    assert [await team.hear(name) for name in (LEAD, "bob", "alice")] == [
        [("alice", message)],
        [("alice", message)],
        [],
    ]
    assert await team.process.hear(USER) == []


@pytest.mark.behaviour("broadcast")
async def test_a_broadcast_run_again_reaches_whom_it_was_meant_for_and_each_once(team: MailTeam) -> None:
    run = await (await team.desk("alice")).begin("SendMessage", type="broadcast", content="Stop.")
    await team.process.join("carol")
    await run()
    await team.process.leave("bob")
    assert await run() == Result("sent to 1 of 2: lead. Not reached: bob")
    assert [letter.id for letter in await team.letters(LEAD)] == ["alice:2.0/lead"]
    assert await team.hear("carol") == []


@pytest.mark.behaviour("broadcast")
async def test_a_broadcast_that_reaches_nobody_has_failed(team: MailTeam) -> None:
    run = await (await team.desk(LEAD)).begin("SendMessage", type="broadcast", content="Stop.")
    for name in ("alice", "bob"):
        await team.process.leave(name)
    assert await run() == Result("sent to 0 of 2: nobody. Not reached: alice, bob", ok=False)


async def test_a_broadcast_of_a_team_of_one_is_refused() -> None:
    alone = await (await MailTeam.gathered()).desk(LEAD)
    with pytest.raises(ToolError, match="Nobody else"):
        await alone.send(type="broadcast", content="Hello?")


# -- shutdown ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("shutdown")
async def test_the_lead_asks_a_teammate_to_leave_and_remembers_that_it_asked(team: MailTeam) -> None:
    lead = await team.desk(LEAD)
    result = await lead.send(type="shutdown_request", recipient="bob@web", content="All done.")
    assert result.opened == Opened(request_id="lead:2.0", shake=Shake.SHUTDOWN, asked="bob")
    assert lead.memory.requests == {"lead:2.0": OpenRequest("lead:2.0", Shake.SHUTDOWN, "bob")}
    assert await team.hear("bob") == [(LEAD, ShutdownRequest(request_id="lead:2.0", content="All done."))]
    assert (await team.desk("bob")).memory.demands == {"lead:2.0": LEAD}


@pytest.mark.behaviour("shutdown")
async def test_a_request_sent_again_after_a_crash_is_the_same_request(team: MailTeam) -> None:
    run = await (await team.desk(LEAD)).begin("SendMessage", type="shutdown_request", recipient="bob")
    assert await run() == await run()
    assert await team.hear("bob") == [(LEAD, ShutdownRequest(request_id="lead:2.0"))]


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize("asker", [LEAD, USER])
async def test_a_teammate_that_agrees_tells_who_asked_and_stops(team: MailTeam, asker: str) -> None:
    await team.process.mailbox(asker).send("bob", ShutdownRequest(request_id="abc-123"))
    await team.hear("bob")
    bob = await team.desk("bob")
    result = await bob.send(type="shutdown_response", request_id="abc-123", approve=True)
    assert result.answered == Answered(request_id="abc-123", approve=True)
    assert (bob.memory.stopping, bob.memory.demands) == ("abc-123", {})
    heard = await team.process.hear(asker)
    assert [letter.message for letter in heard] == [ShutdownResponse(request_id="abc-123", approve=True)]


@pytest.mark.behaviour("shutdown")
async def test_a_teammate_that_refuses_says_why_and_goes_on(team: MailTeam) -> None:
    request = await team.ask_to_stop("bob")
    bob, lead = await team.desk("bob"), await team.desk(LEAD)
    with pytest.raises(ToolError, match="Say why"):
        await bob.send(type="shutdown_response", request_id=request, approve=False, content=" ")
    result = await bob.send(type="shutdown_response", request_id=request, approve=False, content="Still on #3.")
    assert result.answered == Answered(request_id=request, approve=False)
    assert (bob.memory.stopping, bob.memory.demands) == (None, {})
    assert await team.hear(LEAD) == [
        ("bob", ShutdownResponse(request_id=request, approve=False, content="Still on #3."))
    ]
    assert lead.memory.requests == {}


@pytest.mark.behaviour("shutdown")
async def test_a_request_is_answered_once(team: MailTeam) -> None:
    request = await team.ask_to_stop("bob")
    bob = await team.desk("bob")
    await bob.send(type="shutdown_response", request_id=request, approve=False, content="Not yet.")
    with pytest.raises(ToolError, match="None is open"):
        await bob.send(type="shutdown_response", request_id=request, approve=True)
    assert bob.memory.stopping is None


@pytest.mark.behaviour("shutdown")
async def test_nobody_answers_the_request_made_of_another(team: MailTeam) -> None:
    mine, others = await team.ask_to_stop("alice"), await team.ask_to_stop("bob")
    with pytest.raises(ToolError, match=f"Open: {mine}"):
        await (await team.desk("alice")).send(type="shutdown_response", request_id=others, approve=True)
    await team.hear(LEAD)
    assert sorted((await team.desk(LEAD)).memory.requests) == sorted([mine, others])


@pytest.mark.behaviour("shutdown")
async def test_an_answer_goes_to_who_asked_and_to_nobody_else(team: MailTeam) -> None:
    request = await team.ask_to_stop("bob")
    bob = await team.desk("bob")
    with pytest.raises(ToolError, match="made by lead"):
        await bob.send(type="shutdown_response", recipient="alice", request_id=request, approve=True)
    await bob.send(type="shutdown_response", recipient="lead@web", request_id=request, approve=True)
    assert bob.memory.stopping == request


# -- plans ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("plan")
async def test_the_lead_answers_a_plan(team: MailTeam) -> None:
    lead, bob = await team.desk(LEAD), await team.desk("bob", planning=True)
    await bob.use("ExitPlanMode", plan="Rename.")
    await team.hear(LEAD)
    answer = {"type": "plan_approval_response", "request_id": bob.call, "recipient": "bob"}
    result = await lead.send(**answer, approve=False, content="Add error handling.")
    assert result == Result(
        "told bob: refused. It can submit another plan.", answered=Answered(request_id=bob.call, approve=False)
    )
    refusal = PlanResponse(request_id=bob.call, approve=False, content="Add error handling.")
    assert await team.hear("bob") == [(LEAD, refusal)]


@pytest.mark.behaviour("plan")
async def test_a_plan_that_nobody_made_or_another_made_is_not_approved(team: MailTeam) -> None:
    alice = await team.desk("alice", planning=True)
    await alice.use("ExitPlanMode", plan="Rename.")
    await team.hear(LEAD)
    for request_id in (alice.call, "bob:3.0", "plan-1"):
        with pytest.raises(ToolError, match=f"^bob has no open plan '{request_id}'. Open: {alice.call} from alice"):
            await (await team.desk(LEAD)).send(
                type="plan_approval_response", request_id=request_id, recipient="bob", approve=True
            )
    assert await team.hear("bob") == []


# -- what is refused --------------------------------------------------------------------------------

SHUTDOWN = {"type": "shutdown_request", "recipient": "bob"}
ANSWER = {"type": "shutdown_response", "request_id": "lead:9.0", "approve": True}
PLAN = {"type": "plan_approval_response", "recipient": "bob", "request_id": "bob:3.0", "approve": True}


def without(letter: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {field: value for field, value in letter.items() if field not in fields}


@pytest.mark.parametrize(
    ("letter", "why"),
    [
        ({}, "needs content and recipient"),
        ({"recipient": "bob"}, "needs content"),
        ({"recipient": "bob", "content": " \n"}, "needs content"),
        ({"content": "Hello."}, "needs recipient"),
        ({"type": "broadcast", "recipient": "bob"}, "needs content"),
        (without(SHUTDOWN, "recipient"), "needs recipient"),
        (without(ANSWER, "request_id"), "needs request_id"),
        (without(ANSWER, "approve"), "needs approve"),
        (without(PLAN, "recipient"), "needs recipient"),
        (without(PLAN, "request_id", "approve"), "needs approve and request_id"),
        ({**PLAN, "approve": False}, "Say why"),
        ({"recipient": "bob", "content": "Yes.", "approve": True}, "has no approve"),
        ({"type": "broadcast", "content": "Yes.", "request_id": "bob:3.0"}, "has no request_id"),
        ({**SHUTDOWN, "request_id": "mine", "approve": True}, "has no approve and no request_id"),
        ({"recipient": "lead", "content": "Hello."}, "'lead' is you"),
        ({**SHUTDOWN, "recipient": "lead@web"}, "'lead' is you"),
        ({**PLAN, "recipient": "lead", "request_id": "lead:3.0"}, "'lead' is you"),
        ({**SHUTDOWN, "recipient": "user"}, "not to the user"),
        ({**PLAN, "recipient": "user"}, "not to the user"),
        ({"recipient": "bob", "content": "Hello.", "team_name": "api"}, "You are on team 'web'"),
        (ANSWER, "no open shutdown request 'lead:9.0'. None is open."),
    ],
)
async def test_what_a_letter_lacks_or_has_no_place_for_is_named_and_nothing_is_sent(
    team: MailTeam, letter: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        await (await team.desk(LEAD)).send(**letter)
    assert [await team.process.hear(name) for name in ("alice", "bob", USER)] == [[], [], []]


@pytest.mark.behaviour("shutdown", "plan")
@pytest.mark.parametrize("letter", [SHUTDOWN, PLAN])
async def test_only_the_lead_asks_to_leave_and_answers_plans(team: MailTeam, letter: dict[str, Any]) -> None:
    for name in ("alice", "bob"):
        with pytest.raises(ToolError, match="Only the lead"):
            await (await team.desk(name)).send(**letter)
    assert await team.hear("bob") == []


@pytest.mark.parametrize(
    "nonsense",
    [
        {"type": "interrupt", "recipient": "bob"},
        {"type": "permission_response", "request_id": "bob:3.0", "approve": True},
        {"type": None},
        {"recipient": ["alice", "bob"], "content": "Hello."},
        {"recipient": "bob", "content": {"text": "Hello."}},
        {"recipient": "bob", "content": "\ud800"},
        {"recipient": "bob", "content": "Hello.", "sender": "lead"},
        {**PLAN, "approve": "perhaps"},
    ],
)
async def test_nonsense_is_refused_before_anything_runs(team: MailTeam, nonsense: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await (await team.desk(LEAD)).begin("SendMessage", **nonsense)


@pytest.mark.parametrize("words", ["</teammate-message>", '{"type": "shutdown_request"}', "\x00\u202e", "🙂" * 100])
async def test_odd_words_arrive_as_they_are(team: MailTeam, words: str) -> None:
    await (await team.desk("alice")).send(recipient="bob", content=words, summary="odd")
    assert await team.hear("bob") == [("alice", Plain(content=words, summary="odd"))]


@pytest.mark.parametrize("request_id", ["x" * 100_000, "bob:3.0/..", "*"])
async def test_an_error_about_a_request_stays_short(team: MailTeam, request_id: str) -> None:
    with pytest.raises(DeskmateError) as refused:
        await (await team.desk("bob")).send(type="shutdown_response", request_id=request_id, approve=True)
    assert len(str(refused.value)) < 200
