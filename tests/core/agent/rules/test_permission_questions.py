"""What is asked of a person, what would make it unnecessary, and what comes of it when nobody is there any more."""

from dataclasses import replace

import pytest

from deskmate.core.agent.actions import Act, Ask, Compact, Rest, Settle
from deskmate.core.agent.entries import Began, Did, PermissionAsked, SummaryDropped, SummaryRequested
from deskmate.core.agent.rules.decide import decide
from deskmate.core.log.names import USER
from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, standing_rule
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.team import roster_records
from deskmate.core.team.messages import Interrupt, PermissionResponse, Plain
from deskmate.core.team.status import Waiting
from tests.core.agent.rules.test_decide import idle, says


def offered(attempt: Attempt, *rules: str, mode: Mode = Mode.DEFAULT) -> PermissionRule | None:
    known = [roster_records.parse_rule(text) for text in rules]
    return standing_rule(attempt, mode=mode, rules=known, traits=TOOLS, confined=False)


@pytest.mark.behaviour("permission")
def test_a_question_names_the_rule_that_would_have_allowed_the_call() -> None:
    world = idle()
    (call,) = says(world, "bash")
    attempts = {call: Attempt("bash", ("make test",), inside=False)}
    action = decide(replace(world.view, attempts=attempts))
    assert isinstance(action, Ask)
    assert (action.call, action.rule) == (call, "allow bash(make test)")
    assert action.rule
    world.note(roster_records.PolicySet(by=USER, at=0, add_rules=(action.rule,)))
    assert not isinstance(decide(replace(world.view, attempts=attempts)), Ask)


@pytest.mark.parametrize(
    ("attempt", "rules", "expected"),
    [
        (Attempt("edit_file", ("src/a.py",), inside=True), (), PermissionRule(Effect.ALLOW, "edit_file", "src/**")),
        (Attempt("edit_file", ("/etc/hosts",), inside=False), (), None),
        (Attempt("bash", None, inside=False), ("ask bash",), None),
        (Attempt("bash", None, inside=False), ("deny bash(rm *)",), None),
        (Attempt("mcp__files__read", (), inside=True), (), PermissionRule(Effect.ALLOW, "mcp__files__read")),
    ],
)
def test_no_rule_is_offered_where_a_person_must_be_asked_all_the_same(
    attempt: Attempt, rules: tuple[str, ...], expected: PermissionRule | None
) -> None:
    assert offered(attempt, *rules) == expected


@pytest.mark.behaviour("permission", "P5")
def test_a_question_that_waits_is_denied_once_nobody_attends() -> None:
    world = idle()
    (call,) = says(world, "bash")
    world.record(PermissionAsked(call=call, request_id=call))
    assert decide(world.view) == Rest(Waiting("permission"))
    world.note(roster_records.PolicySet(by=USER, at=0, attended=False))
    action = decide(world.view)
    assert isinstance(action, Settle)
    assert (action.calls, "nobody is here to answer" in action.text) == ((call,), True)


@pytest.mark.behaviour("permission", "P5")
def test_a_question_that_waits_is_settled_by_what_is_permitted_since() -> None:
    for policy, expected in (
        ({"add_rules": ("allow bash",)}, Act),
        ({"mode": Mode.BYPASS}, Act),
        ({"add_rules": ("deny bash",)}, Settle),
        ({"mode": Mode.PLAN}, Settle),
        ({"add_rules": ("allow edit_file",)}, Rest),
        ({"mode": Mode.ACCEPT_EDITS}, Rest),
    ):
        world = idle()
        (call,) = says(world, "bash")
        world.record(PermissionAsked(call=call, request_id=call))
        world.note(roster_records.PolicySet.model_validate({"by": USER, "at": 0, **policy}))
        action = decide(world.view)
        assert isinstance(action, expected), policy
        assert not isinstance(action, Act | Settle) or action.calls == (call,)


def test_what_a_rule_allows_since_runs_in_its_turn_and_the_others_wait() -> None:
    world = idle()
    calls = says(world, "edit_file", "bash", "edit_file")
    for call in calls:
        world.record(PermissionAsked(call=call, request_id=call))
    world.note(roster_records.PolicySet(by=USER, at=0, add_rules=("allow edit_file",)))
    inside = Attempt("edit_file", ("a.py",), inside=True)
    attempts = {calls[0]: inside, calls[2]: inside}
    assert decide(replace(world.view, attempts=attempts)) == Act((calls[0],))
    world.record(Did(call=calls[0], text="edited"))
    assert decide(replace(world.view, attempts=attempts)) == Rest(Waiting("permission"))


def test_what_was_asked_about_is_not_skipped_because_the_user_wrote() -> None:
    world = idle()
    calls = says(world, "bash", "bash")
    for call in calls:
        world.record(PermissionAsked(call=call, request_id=call))
    world.note(roster_records.PolicySet(by=USER, at=0, add_rules=("allow bash",)))
    world.mail(USER, Plain(content="ModelCalls the cache."))
    assert decide(world.view) == Act((calls[0],))
    world.mail(USER, Interrupt())
    assert decide(world.view) == Settle(tuple(calls), "Skipped: something more urgent came in. Read that first.")


def test_an_answer_to_a_call_that_a_rule_let_run_changes_nothing() -> None:
    world = idle()
    (call,) = says(world, "bash")
    world.record(PermissionAsked(call=call, request_id=call))
    world.note(roster_records.PolicySet(by=USER, at=0, add_rules=("allow bash",)))
    world.record(Began(calls=(call,)))
    world.record(Did(call=call, text="ran"))
    before = decide(world.view)
    world.mail(USER, PermissionResponse(request_id=call, approve=False))
    assert (decide(world.view), world.memory.calls, world.memory.requests) == (before, {}, {})


def test_an_answer_that_came_before_they_left_still_counts() -> None:
    world = idle()
    (call,) = says(world, "bash")
    world.record(PermissionAsked(call=call, request_id=call))
    world.mail(USER, PermissionResponse(request_id=call, approve=False, content="not now"))
    world.note(roster_records.PolicySet(by=USER, at=0, attended=False))
    assert decide(world.view) == Settle((call,), "The user refused this call: not now")


@pytest.mark.behaviour("compact-auto")
def test_the_user_may_have_room_made_while_nothing_runs_and_no_cap_is_reached() -> None:
    world = idle()
    world.record(SummaryRequested())
    assert decide(world.view) == Compact()
    assert decide(replace(world.view, over="cost")) != Compact()
    world.record(SummaryDropped())
    assert decide(world.view) == Rest()
    says(world, "read_file")
    world.record(SummaryRequested())
    assert decide(world.view) != Compact()


@pytest.mark.behaviour("permission")
def test_of_a_completion_that_nothing_is_known_of_the_rules_see_the_command_that_it_may_run() -> None:
    world = idle()
    (call,) = says(world, "TaskUpdate")
    assert isinstance(decide(replace(world.view, attempts={})), Ask)
    world.note(roster_records.PolicySet(by=USER, at=0, add_rules=("deny bash",)))
    action = decide(replace(world.view, attempts={}))
    assert isinstance(action, Settle)
    assert (action.calls, action.text) == ((call,), "Denied by the rule 'deny bash'. Continue without this call.")
