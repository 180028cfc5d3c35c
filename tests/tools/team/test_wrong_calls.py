"""Wrong steps with the team's tools: each gets a short result that a model can learn from, and nothing is done."""

import re
from typing import Any

import pytest

from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, mail
from deskmate.core.team.messages import BODY_CAP, PlanRequest, PlanResponse, ShutdownRequest
from tests.tools.calling_team import CallingTeam

pytestmark = pytest.mark.anyio
HUGE = "x" * 300_000
HERE = "On the team: lead, alice, bob, user."
CREATE = "It takes subject, description, activeForm, blockedBy, owner, role, verify."
UPDATE = (
    "It takes taskId, status, owner, subject, description, activeForm, role, addBlocks, addBlockedBy, removeBlockedBy."
)
SEND = "It takes type, recipient, content, summary, request_id, approve."
LETTERS = "'message', 'broadcast', 'shutdown_request', 'shutdown_response' or 'plan_approval_response'"
TEXTS = "recipient: Input should be a valid string; content: Input should be a valid string"
SPAWN = (
    "It takes description, prompt, subagent_type, run_in_background, name, role, model, mode, isolation, "
    "plan_mode_required."
)
ID = 'is not a task number: write 3, "3" or "#3"'
NAME = "Use 1 to 64 letters, digits, '_' and '-', starting with a letter or digit."
STREAMS = (BOARD, ROSTER, *(mail(name) for name in (LEAD, USER, "alice", "bob", "carol", "dora")))


@pytest.fixture
async def team() -> CallingTeam:
    """A lead, alice, bob, and carol who has left; tasks #1, #2 that waits for it, and #3 in the hands of alice."""
    team = await CallingTeam.gathered("alice", "bob", "carol")
    await team.add("one")
    await team.add("two", blockedBy=[1])
    await team.add("three")
    await (await team.seat("alice")).told("TaskUpdate", taskId=3, status="in_progress")
    await team.leave("carol")
    return team


async def sizes(team: CallingTeam) -> list[int]:
    return [len(await team.team_state.writer.store.read(stream)) for stream in STREAMS]


async def refusal(team: CallingTeam, who: str, tool: str, arguments: dict[str, Any]) -> str:
    """Return what a member reads whose step must change nothing that others see."""
    seat, before = await team.seat(who), await sizes(team)
    text = await seat.refused(tool, **arguments)
    assert await sizes(team) == before
    return text


# -- what the arguments themselves rule out ---------------------------------------------------------


@pytest.mark.behaviour("tools-errors")
@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("TaskCreate", {}, f"subject: Field required. {CREATE}"),
        ("TaskCreate", {"subject": 3}, f"subject: Input should be a valid string. {CREATE}"),
        ("TaskCreate", {"subject": ""}, f"subject: String should have at least 1 character. {CREATE}"),
        ("TaskCreate", {"subject": "a", "blockedBy": "1"}, f"blockedBy: Input should be a valid list. {CREATE}"),
        ("TaskCreate", {"subject": "a", "blockedBy": ["one", 2]}, f"blockedBy.0: 'one' {ID}. {CREATE}"),
        ("TaskCreate", {"subject": "a", "colour": "red"}, f"colour: Extra inputs are not permitted. {CREATE}"),
        ("TaskGet", {}, "taskId: Field required. It takes taskId."),
        ("TaskGet", {"taskId": None}, f"taskId: None {ID}. It takes taskId."),
        ("TaskGet", {"taskId": "\x00"}, f"taskId: '\\x00' {ID}. It takes taskId."),
        ("TaskGet", {"taskId": HUGE}, f"taskId: '{'x' * 79} {ID}. It takes taskId."),
        ("TaskGet", {"taskId": 1, "\x00\n": 1}, "\\x00\\n: Extra inputs are not permitted. It takes taskId."),
        ("TaskGet", {"taskId": 1, HUGE: 1}, f"{'x' * 80}: Extra inputs are not permitted. It takes taskId."),
        ("TaskList", {"status": "pending"}, "status: Extra inputs are not permitted. It takes no arguments."),
        ("TaskUpdate", {"status": "completed"}, f"taskId: Field required. {UPDATE}"),
        (
            "TaskUpdate",
            {"taskId": 1, "status": "done"},
            f"status: Input should be 'pending', 'in_progress', 'completed' or 'deleted'. {UPDATE}",
        ),
        ("TaskUpdate", {"taskId": 1, "epoch": 7}, f"epoch: Extra inputs are not permitted. {UPDATE}"),
        ("TaskUpdate", {"taskId": 1, "addBlocks": [[2]]}, f"addBlocks.0: [2] {ID}. {UPDATE}"),
        (
            "SendMessage",
            {"type": "interrupt", "recipient": ["bob"], "content": {"text": "hi"}, "approve": "perhaps"},
            f"type: Input should be {LETTERS}; {TEXTS}. {SEND}",
        ),
        (
            "SendMessage",
            {"type": "shutdown_response", "request_id": "a", "approve": "perhaps"},
            f"approve: Input should be a valid boolean, unable to interpret input. {SEND}",
        ),
        (
            "SendMessage",
            {"recipient": "bob", "content": "hi", "sender": "user"},
            f"sender: Extra inputs are not permitted. {SEND}",
        ),
        ("ExitPlanMode", {}, "plan: Field required. It takes plan."),
        ("ExitPlanMode", {"plan": ["one", "two"]}, "plan: Input should be a valid string. It takes plan."),
        ("Task", {"name": "dora"}, f"prompt: Field required. {SPAWN}"),
        (
            "Task",
            {"prompt": "a", "name": "dora", "mode": "root"},
            f"mode: Input should be 'default', 'acceptEdits', 'plan', 'dontAsk' or 'bypass'. {SPAWN}",
        ),
        (
            "Task",
            {"prompt": "a", "name": "dora", "role": HUGE},
            f"role: String should have at most 120 characters. {SPAWN}",
        ),
    ],
)
async def test_arguments_that_do_not_fit_are_named_with_those_that_do(
    team: CallingTeam, tool: str, arguments: dict[str, Any], why: str
) -> None:
    assert await refusal(team, LEAD, tool, arguments) == f"{tool} was not run. {why}"


# -- the board --------------------------------------------------------------------------------------


@pytest.mark.behaviour("task-tools", "task-deps", "assign", "complete")
@pytest.mark.parametrize(
    ("who", "arguments", "why"),
    [
        (LEAD, {"taskId": 9, "status": "completed"}, "There is no task #9. TaskList shows all tasks."),
        (LEAD, {"taskId": 1, "subject": " \n"}, "The subject is blank. Say in a few words what to do."),
        (LEAD, {"taskId": 1, "addBlockedBy": [1]}, "Task #1 cannot block itself. Leave #1 out."),
        (LEAD, {"taskId": 1, "addBlocks": ["#1"]}, "Task #1 cannot block itself. Leave #1 out."),
        (LEAD, {"taskId": 1, "addBlockedBy": [2]}, "Task #1 would wait for itself: #1 -> #2 -> #1. Remove one of …"),
        (LEAD, {"taskId": 2, "addBlocks": [1]}, "Task #2 would wait for itself: #2 -> #1 -> #2. Remove one of …"),
        (LEAD, {"taskId": 1, "addBlocks": [9]}, "There is no task #9. The highest number on the board is #3."),
        (LEAD, {"taskId": 1, "removeBlockedBy": [9]}, "There is no task #9. The highest number on the board is #3."),
        (LEAD, {"taskId": 1, "owner": "zoe"}, f"'zoe' is not on this team. {HERE}"),
        (LEAD, {"taskId": 1, "owner": "carol"}, f"'carol' has left. {HERE}"),
        (LEAD, {"taskId": 1, "owner": "all"}, f"'all' is not on this team. {HERE}"),
        (LEAD, {"taskId": 1, "owner": ""}, f"'' is not on this team. {HERE}"),
        (LEAD, {"taskId": 1, "owner": HUGE}, f"'{'x' * 80}' is not on this team. {HERE}"),
        (LEAD, {"taskId": 1, "owner": "bob", "team_name": "api"}, "Your team is 'web', not 'api'. You can only use …"),
        (
            "bob",
            {"taskId": 1, "owner": "alice"},
            "Only the lead and the user can assign tasks. Ask the lead to give #1 to 'alice'.",
        ),
        ("bob", {"taskId": 1, "owner": "zoe"}, f"'zoe' is not on this team. {HERE}"),
        ("bob", {"taskId": 1, "status": "completed"}, "Task #1 is not yours. Take it first, with status in_progress."),
        ("bob", {"taskId": 2, "status": "in_progress"}, "Task #2 is blocked by #1. Wait until it is unblocked, …"),
        ("bob", {"taskId": 3, "status": "completed"}, "Task #3 belongs to 'alice'. Ask alice, or choose another task."),
        ("bob", {"taskId": 3, "status": "pending"}, "Task #3 belongs to 'alice'. Ask alice, or choose another task."),
        ("bob", {"taskId": 3, "status": "deleted"}, "Task #3 belongs to 'alice'. Ask alice, or choose another task."),
        ("bob", {"taskId": 3, "owner": "bob"}, "Task #3 belongs to 'alice'. Ask alice, or choose another task."),
        ("alice", {"taskId": 1, "status": "in_progress"}, "'alice' has #3 in progress. Complete it or give it back …"),
        ("alice", {"taskId": 1, "owner": "alice\x00"}, f"'alice\x00' is not on this team. {HERE}"),
    ],
)
async def test_a_change_that_the_board_does_not_allow_is_refused_with_the_reason(
    team: CallingTeam, who: str, arguments: dict[str, Any], why: str
) -> None:
    assert is_as(await refusal(team, who, "TaskUpdate", arguments), why)


@pytest.mark.behaviour("task-tools", "assign")
@pytest.mark.parametrize(
    ("who", "arguments", "why"),
    [
        (LEAD, {"subject": "\t"}, "The subject is blank. Say in a few words what to do."),
        (LEAD, {"subject": "a", "owner": "zoe"}, f"'zoe' is not on this team. {HERE}"),
        (LEAD, {"subject": "a", "owner": "carol"}, f"'carol' has left. {HERE}"),
        (LEAD, {"subject": "a", "blockedBy": [9]}, "There is no task #9. The highest number on the board is #3."),
        (LEAD, {"subject": "a", "blockedBy": [4]}, "Task #4 cannot block itself. Leave #4 out."),
        (LEAD, {"subject": "a", "team_name": HUGE}, f"Your team is 'web', not '{'x' * 78}…"),
        (
            "bob",
            {"subject": "a", "owner": "alice"},
            "Only the lead and the user can give work to 'alice'. Leave owner out, …",
        ),
    ],
)
async def test_a_task_that_cannot_be_is_not_created(
    team: CallingTeam, who: str, arguments: dict[str, Any], why: str
) -> None:
    assert is_as(await refusal(team, who, "TaskCreate", arguments), why)


async def test_a_task_of_odd_words_is_taken_as_it_is_and_shown_on_one_line(team: CallingTeam) -> None:
    lead = await team.seat()
    told = await lead.told("TaskCreate", subject="\x00 a\n#9 [completed] b\x1b[2J", description=HUGE)
    assert told.split("\n")[0] == "Created #4 \x00 a #9 [completed] b\x1b[2J"
    assert (await lead.told("TaskCreate", subject=HUGE)).split("\n")[0] == f"Created #5 {'x' * 119}…"
    assert len(await lead.told("TaskGet", taskId=4)) < 5_000


@pytest.mark.behaviour("release", "complete")
async def test_who_has_lost_its_claim_is_told_who_has_the_task_now(team: CallingTeam) -> None:
    lead, alice = await team.seat(), await team.seat("alice")
    await lead.told("TaskUpdate", taskId=3, owner="bob")
    assert await refusal(team, "alice", "TaskUpdate", {"taskId": 3, "status": "completed"}) == (
        "Task #3 is no longer yours: it now belongs to 'bob'. Leave it, and choose another task."
    )
    await lead.told("TaskUpdate", taskId=3, status="pending")
    assert await refusal(team, "alice", "TaskUpdate", {"taskId": 3, "status": "completed"}) == (
        "Task #3 is no longer yours: it now has no owner. Leave it, and choose another task."
    )
    taken = await alice.told("TaskUpdate", taskId=3, owner="alice")
    assert taken.startswith("#3 [in progress] three @alice\nclaimed\nTask #3 is yours now.\n")


# -- mail -------------------------------------------------------------------------------------------

TEAM_OF_ONE = "Nobody else is on the team, so there is no one to broadcast to."
NOBODY = "is not a member. Name one member, or send a broadcast to reach every other agent."


@pytest.mark.behaviour("send")
@pytest.mark.parametrize("kind", ["message", "shutdown_request"])
@pytest.mark.parametrize(
    ("recipient", "why"),
    [
        ("zoe", f"'zoe' is not on this team. {HERE}"),
        ("B0b", f"'B0b' is not on this team. {HERE}"),
        ("carol", f"'carol' has left. {HERE}"),
        ("lead", "'lead' is you. Write to another member."),
        ("Lead@Web", "'lead' is you. Write to another member."),
        ("all", f"'all' {NOBODY}"),
        ("everyone", f"'everyone' {NOBODY}"),
        ("anyone@web", f"'anyone' {NOBODY}"),
        ("bob@api", "'bob@api' is not in team 'web'. Write to members of your own team by name."),
        (f"bob@{HUGE}", f"'bob@{'x' * 75} is not in team 'web'. Write to members of your own team by name."),
        ("\x00", f"'\x00' is not on this team. {HERE}"),
        (HUGE, f"'{'x' * 80}' is not on this team. {HERE}"),
    ],
)
async def test_a_letter_to_nobody_is_refused(team: CallingTeam, kind: str, recipient: str, why: str) -> None:
    letter = {"type": kind, "recipient": recipient, "content": "Hello."}
    assert await refusal(team, LEAD, "SendMessage", letter) == why
    assert (await team.seat()).memory.requests == {}


@pytest.mark.behaviour("send", "broadcast", "plan")
async def test_what_no_mailbox_holds_is_refused_before_anybody_has_it(team: CallingTeam) -> None:
    await team.join("dora")
    planner = await team.seat("dora", planning=True)
    for letter in ({"recipient": "bob"}, {"type": "broadcast"}, {"type": "shutdown_request", "recipient": "bob"}):
        assert is_too_large(await refusal(team, LEAD, "SendMessage", {**letter, "content": HUGE}))
    assert is_too_large(await refusal(team, "dora", "ExitPlanMode", {"plan": HUGE}))
    assert planner.memory.requests == {}


def is_too_large(text: str) -> bool:
    size = f"This message has 300[0-9]{{3}} bytes, and at most {BODY_CAP} fit."
    advice = rf"{size} Write the text to a file and send its path\."
    return re.fullmatch(advice, text) is not None


async def test_a_broadcast_of_a_team_of_one_is_refused() -> None:
    alone = await CallingTeam.gathered()
    assert await refusal(alone, LEAD, "SendMessage", {"type": "broadcast", "content": "Hello?"}) == TEAM_OF_ONE


# -- handshakes -------------------------------------------------------------------------------------

YES = {"approve": True}


@pytest.mark.behaviour("shutdown")
async def test_a_shutdown_is_answered_once_by_whom_it_was_asked_and_with_its_own_kind(team: CallingTeam) -> None:
    lead, bob = await team.seat(), await team.seat("bob")
    await lead.told("SendMessage", type="shutdown_request", recipient="bob")
    await lead.told("SendMessage", type="shutdown_request", recipient="alice")
    (bobs, alices) = lead.memory.requests
    await bob.hear()
    answer = {"type": "shutdown_response", **YES}
    unknown = {"nope": "nope", "a" * 5_000: "a" * 80, "\x00": "\x00", alices: alices}
    for request_id, shown in unknown.items():
        assert await refusal(team, "bob", "SendMessage", {**answer, "request_id": request_id}) == (
            f"There is no open shutdown request '{shown}'. Open: {bobs}."
        )
    assert await refusal(team, "bob", "SendMessage", {**answer, "request_id": bobs, "recipient": "alice"}) == (
        f"Request '{bobs}' was made by lead. Leave recipient out."
    )
    assert await refusal(team, "bob", "SendMessage", {**answer, "request_id": bobs, "approve": False}) == (
        "A refusal needs content. Say why."
    )
    assert await refusal(team, "bob", "SendMessage", {"type": "plan_approval_response", "request_id": bobs, **YES}) == (
        "Only the lead can send a plan_approval_response. Send a message to lead instead."
    )
    assert await refusal(team, "bob", "SendMessage", {"recipient": LEAD, "content": "Yes.", "request_id": bobs}) == (
        "A message has no request_id. To answer a request, set the type of the answer."
    )
    await bob.told("SendMessage", **answer, request_id=bobs)
    why = await refusal(team, "bob", "SendMessage", {**answer, "request_id": bobs})
    assert why.endswith(f"'{bobs}'. None is open.")


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize("recipient", ["alice", "bob", LEAD, USER])
async def test_a_teammate_asks_nobody_to_leave(team: CallingTeam, recipient: str) -> None:
    assert await refusal(team, "bob", "SendMessage", {"type": "shutdown_request", "recipient": recipient}) == (
        "Only the lead can send a shutdown_request. Send a message to lead instead."
    )


@pytest.mark.behaviour("plan")
async def test_a_plan_is_approved_by_the_lead_to_who_made_it_and_by_nobody_else(team: CallingTeam) -> None:
    await team.join("dora")
    planner = await team.seat("dora", planning=True)
    assert await refusal(team, "dora", "ExitPlanMode", {"plan": " \n"}) == (
        "The plan is blank. Say what you will change, where, and how you will check it."
    )
    await planner.told("ExitPlanMode", plan="Rename.")
    await (await team.seat()).hear()
    (request,) = planner.memory.requests
    answer = {"type": "plan_approval_response", "request_id": request, "recipient": "dora", **YES}
    steps = [
        ("dora", answer, "Only the lead can send a plan_approval_response. Send a message to lead instead."),
        ("alice", answer, "Only the lead can send a plan_approval_response. Send a message to lead instead."),
        (LEAD, {**answer, "recipient": "bob"}, f"bob has no open plan '{request}'. Open: {request} from dora."),
        (LEAD, {**answer, "recipient": LEAD}, "'lead' is you. Write to another member."),
        (LEAD, {**answer, "recipient": USER}, "A plan_approval_response goes to a teammate, not to the user. …"),
        (
            LEAD,
            {**answer, "recipient": "carol", "request_id": "carol:1.0"},
            f"carol has no open plan 'carol:1.0'. Open: {request} from dora.",
        ),
        (LEAD, {**answer, "approve": False}, "A refusal needs content. Say why."),
        (LEAD, {"type": "shutdown_response", "request_id": request, **YES}, "There is no open shutdown request …"),
    ]
    for who, letter, why in steps:
        assert is_as(await refusal(team, who, "SendMessage", letter), why)
    assert (planner.memory.owes_plan, list(planner.memory.requests)) == (True, [request])


@pytest.mark.behaviour("plan")
async def test_answers_to_a_plan_that_is_none_or_was_answered_change_nothing(team: CallingTeam) -> None:
    await team.join("dora")
    lead, planner = await team.seat(), await team.seat("dora", planning=True)
    await planner.told("ExitPlanMode", plan="Rename.")
    (request,) = planner.memory.requests
    answer = {"type": "plan_approval_response", "recipient": "dora"}
    await lead.hear()
    for request_id in ("dora:99.0", "nope", "\x00"):
        why = f"dora has no open plan '{request_id}'. Open: {request} from dora."
        assert await refusal(team, LEAD, "SendMessage", {**answer, **YES, "request_id": request_id}) == why
    await planner.hear()
    assert (planner.memory.owes_plan, list(planner.memory.requests)) == (True, [request])
    await lead.told("SendMessage", **answer, request_id=request, approve=False, content="And the tests?")
    again = await refusal(team, LEAD, "SendMessage", {**answer, **YES, "request_id": request})
    assert again == f"dora has no open plan '{request}'. Open: none."
    await planner.hear()
    assert (planner.memory.owes_plan, planner.memory.requests) == (True, {})


@pytest.mark.behaviour("plan")
@pytest.mark.parametrize("who", [LEAD, "alice"])
async def test_who_does_not_plan_has_nothing_to_hand_in(team: CallingTeam, who: str) -> None:
    assert await refusal(team, who, "ExitPlanMode", {"plan": "Rename."}) == (
        "You are not in plan mode, so there is nothing to approve. Do the work."
    )


@pytest.mark.behaviour("shutdown", "plan")
async def test_a_handshake_in_the_name_of_another_counts_for_nothing(team: CallingTeam) -> None:
    alice, bob = await team.seat("alice"), await team.seat("bob", planning=True)
    await bob.told("ExitPlanMode", plan="Rename.")
    (request,) = bob.memory.requests
    await alice.mail.send("bob", PlanResponse(request_id=request, approve=True))
    await alice.mail.send("bob", ShutdownRequest(request_id="alice:1.0"))
    await alice.mail.send("bob", PlanRequest(request_id="alice:1.1", content="Mine."))
    await bob.hear()
    assert (bob.memory.owes_plan, bob.memory.demands, list(bob.memory.requests)) == (True, {}, [request])


# -- joining ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("spawn")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "alice"}, "The name 'alice' was used in this team before, and no name is used twice. Try 'alice-2'."),
        ({"name": "carol"}, "The name 'carol' was used in this team before, and no name is used twice. Try 'carol-2'."),
        (
            {"name": "all"},
            "The member name 'all' is reserved. Choose another name. Reserved names: all, anyone, everyone, lead, …",
        ),
        ({"name": "\x00"}, f"'\\x00' is not a valid member name. {NAME}"),
        ({"name": HUGE}, f"'{'x' * 79} is not a valid member name. {NAME}"),
        (
            {"name": "dora", "team_name": "api"},
            "You cannot add to team 'api'. Your team is 'web': leave team_name out.",
        ),
        (
            {"name": "dora", "run_in_background": True},
            "A teammate always runs in the background. Leave out run_in_background. …",
        ),
        ({"name": "dora", "mode": "bypass"}, "Mode bypass is wider than your own, default. Use default or less, …"),
        (
            {"team_name": "web"},
            "team_name is only for a teammate. Set name to start one, or leave that out for a subagent.",
        ),
    ],
)
async def test_who_cannot_join_is_refused_with_the_reason(
    team: CallingTeam, arguments: dict[str, Any], why: str
) -> None:
    assert is_as(await refusal(team, LEAD, "Task", {"prompt": "Own it.", **arguments}), why)


def is_as(text: str, why: str) -> bool:
    """Tell whether a refusal is the one that is meant; `…` at its end stands for advice that is tested elsewhere."""
    return text.startswith(why[:-1]) and len(text) < 200 if why.endswith("…") else text == why
