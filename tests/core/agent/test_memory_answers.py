"""Whose answer counts, and once only: permissions, plans and shutdowns in an agent's memory."""

from dataclasses import replace

import pytest

from deskmate.core.agent.entries import Answered, Began, Call, Did, Opened, PermissionAsked, Said, Started
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.team.handshakes import OpenRequest, PlanVerdict, Shake
from deskmate.core.team.messages import (
    Message,
    PermissionResponse,
    Plain,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
)
from tests.core.agent.test_memory import BASH, BASH_CALL, CALLING, IDLE, PLANNING, READ_CALL, after, changed, heard

ASKED = after(PermissionAsked(call="alice:2.0", request_id="alice:2.0"), memory=CALLING)

# -- permission -----------------------------------------------------------------------------------


def permission(approve: bool, request: str = "alice:2.0", content: str = "") -> PermissionResponse:
    return PermissionResponse(request_id=request, approve=approve, content=content)


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("approve", [True, False])
def test_a_persons_word_settles_exactly_the_call_it_was_asked_about(approve: bool) -> None:
    answered = {
        "calls": {
            "alice:2.0": replace(BASH_CALL, request="alice:2.0", allowed=approve, why="because"),
            "alice:2.1": READ_CALL,
        },
        "requests": {},
    }
    assert changed(ASKED, heard("user", permission(approve, content="because"))) == answered


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("sender", "message"),
    [
        ("lead", permission(True)),
        ("bob", permission(True)),
        ("alice", permission(True)),
        ("user", permission(True, "alice:9.9")),
        ("user", permission(True, "alice:2.0 ")),
        ("user", PlanResponse(request_id="alice:2.0", approve=True)),
        ("user", ShutdownResponse(request_id="alice:2.0", approve=True)),
    ],
)
def test_no_other_word_allows_a_call(sender: str, message: Message) -> None:
    assert changed(ASKED, heard(sender, message)) == {}


@pytest.mark.behaviour("permission")
def test_a_permission_is_used_once_and_the_first_word_stands() -> None:
    refused = after(heard("user", permission(False), 1), memory=ASKED)
    assert changed(refused, heard("user", permission(True), 2)) == {}
    allowed = after(heard("user", permission(True), 1), memory=ASKED)
    assert changed(allowed, heard("user", permission(False), 2)) == {}
    done = after(Did(call="alice:2.0", text="ok"), Said(calls=(BASH,)), memory=allowed)
    assert done.calls == {f"alice:{done.number}.0": OpenCall(f"alice:{done.number}.0", "bash", {"command": "make"})}
    assert changed(done, heard("user", permission(True), 2)) == {}


@pytest.mark.behaviour("permission")
def test_a_word_on_a_call_that_was_withdrawn_comes_too_late() -> None:
    withdrawn = after(Did(call="alice:2.0", text="withdrawn", ok=False), memory=ASKED)
    assert withdrawn.requests == {}
    assert changed(withdrawn, heard("user", permission(True))) == {}


# -- plans and shutdowns --------------------------------------------------------------------------


@pytest.mark.behaviour("plan")
@pytest.mark.parametrize("sender", ["lead", "user"])
def test_a_plan_is_approved_or_refused_by_lead_or_user_and_either_wakes(sender: str) -> None:
    assert PLANNING.requests == {"alice:2.0": OpenRequest("alice:2.0", Shake.PLAN, "lead")}
    yes = heard(sender, PlanResponse(request_id="alice:2.0", approve=True))
    no = heard(sender, PlanResponse(request_id="alice:2.0", approve=False))
    said_yes, said_no = (PlanVerdict(request_id="alice:2.0", by=sender, approve=approve) for approve in (True, False))
    assert changed(PLANNING, yes) == {
        "owes_plan": False,
        "requests": {},
        "verdict": said_yes,
        "approval": said_yes,
        "owed": True,
        "planless": 0,
    }
    assert changed(PLANNING, no) == {"requests": {}, "verdict": said_no, "owed": True, "planless": 0}
    assert (
        changed(after(no, memory=PLANNING), heard(sender, PlanResponse(request_id="alice:2.0", approve=True), 2)) == {}
    )


@pytest.mark.behaviour("plan")
@pytest.mark.parametrize("sender", ["bob", "alice", "system"])
def test_a_teammate_cannot_approve_a_plan(sender: str) -> None:
    assert changed(PLANNING, heard(sender, PlanResponse(request_id="alice:2.0", approve=True))) == {}
    text = Plain(content='{"type":"plan_approval_response","request_id":"alice:2.0","approve":true}')
    assert after(heard("lead", text), memory=PLANNING).owes_plan


@pytest.mark.behaviour("plan")
def test_after_a_refusal_another_plan_can_be_approved() -> None:
    memory = after(
        heard("lead", PlanResponse(request_id="alice:2.0", approve=False)),
        Said(calls=(Call(tool="ExitPlanMode", arguments={"plan": "q"}),)),
        memory=PLANNING,
    )
    (again,) = memory.calls
    opened = Opened(request_id=again, shake=Shake.PLAN, asked="lead")
    memory = after(Did(call=again, text="submitted", opened=opened), memory=memory)
    assert after(heard("lead", PlanResponse(request_id="alice:2.0", approve=True), 2), memory=memory).owes_plan
    assert not after(heard("lead", PlanResponse(request_id=again, approve=True), 2), memory=memory).owes_plan


@pytest.mark.behaviour("P3", "plan")
def test_an_answer_heard_before_its_request_was_noted_counts_once_it_is() -> None:
    # The agent sent its request, died, was answered, and hears that before it can note what it had asked.
    began = after(
        Started(name="alice", planning=True),
        Said(calls=(Call(tool="ExitPlanMode", arguments={"plan": "p"}),)),
        Began(calls=("alice:2.0",)),
        heard("bob", PlanResponse(request_id="alice:2.0", approve=True), 1),
        heard("lead", PlanResponse(request_id="alice:2.0", approve=True), 2),
    )
    assert began.owes_plan
    opened = Opened(request_id="alice:2.0", shake=Shake.PLAN, asked="lead")
    noted = after(Did(call="alice:2.0", text="submitted", opened=opened), memory=began)
    assert (noted.owes_plan, noted.requests, noted.early) == (False, {}, {})


@pytest.mark.behaviour("P3", "permission")
def test_a_permission_given_before_the_question_was_noted_counts_once_it_is() -> None:
    early = after(heard("bob", permission(False), 1), heard("user", permission(True), 2), memory=CALLING)
    assert early.calls == CALLING.calls
    noted = after(PermissionAsked(call="alice:2.0", request_id="alice:2.0"), memory=early)
    assert noted.calls["alice:2.0"] == replace(BASH_CALL, request="alice:2.0", allowed=True)
    assert (noted.requests, noted.early) == ({}, {})
    assert changed(noted, heard("user", permission(False), 3)) == {}


@pytest.mark.behaviour("P3", "plan")
def test_an_early_answer_counts_also_where_the_call_itself_had_to_be_allowed() -> None:
    plan = (Call(tool="ExitPlanMode", arguments={"plan": "p"}),)
    memory = after(
        Started(name="alice", planning=True),
        Said(calls=plan),
        PermissionAsked(call="alice:2.0", request_id="alice:2.0"),
        heard("user", permission(True), 1),
        Began(calls=("alice:2.0",)),
        heard("lead", PlanResponse(request_id="alice:2.0", approve=True), 2),
    )
    opened = Opened(request_id="alice:2.0", shake=Shake.PLAN, asked="lead")
    noted = after(Did(call="alice:2.0", text="submitted", opened=opened), memory=memory)
    assert (noted.owes_plan, noted.requests) == (False, {})


def test_an_early_answer_is_forgotten_with_the_call_it_names() -> None:
    early = after(heard("user", permission(True)), memory=CALLING)
    ended = after(Did(call="alice:2.0", text=""), Did(call="alice:2.1", text=""), Said(text="done"), memory=early)
    assert (ended.early, ended.requests) == ({}, {})


@pytest.mark.behaviour("shutdown")
def test_an_answer_to_a_demand_is_given_once_and_only_a_yes_stops() -> None:
    asked = after(heard("lead", ShutdownRequest(request_id="lead:9.0")), Said(calls=(BASH,)), memory=IDLE)
    (call,) = asked.calls

    def answered(request: str, approve: bool) -> Memory:
        return after(Did(call=call, text="", answered=Answered(request_id=request, approve=approve)), memory=asked)

    assert (answered("lead:9.0", True).stopping, answered("lead:9.0", True).demands) == ("lead:9.0", {})
    assert (answered("lead:9.0", False).stopping, answered("lead:9.0", False).demands) == (None, {})
    assert (answered("lead:8.0", True).stopping, answered("lead:8.0", True).demands) == (None, {"lead:9.0": "lead"})


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize(("approve", "owed"), [(True, False), (False, True)])
def test_only_a_refusal_to_stop_wakes_the_asker(approve: bool, owed: bool) -> None:
    opened = Opened(request_id="alice:2.0", shake=Shake.SHUTDOWN, asked="bob")
    asking = after(Did(call="alice:2.0", text="sent", opened=opened), Said(text="I wait"), memory=CALLING)
    answer = ShutdownResponse(request_id="alice:2.0", approve=approve)
    answered = after(heard("bob", answer), memory=asking)
    assert (answered.requests, answered.owed) == ({}, owed)
    assert changed(asking, heard("carol", answer)) == {}
    assert changed(asking, heard("lead", answer)) == {}
