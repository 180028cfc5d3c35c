"""The policy of an agent, rule by rule, in the order of the rules."""

from dataclasses import replace
from typing import Any

import pytest

from deskmate.core.agent.actions import (
    Act,
    Agree,
    Ask,
    Compact,
    Notice,
    Nudge,
    Park,
    Permit,
    Report,
    Rest,
    Settle,
    Stop,
    Take,
    Think,
)
from deskmate.core.agent.entries import Began, Did, Ended, Noticed, Opened, PermissionAsked, Reported, Said, WorkMode
from deskmate.core.agent.open_calls import CALLS_CAP, NOT_BEGUN_IN_TIME, TIME_IS_UP
from deskmate.core.agent.rules.decide import TOGETHER, WORDS, decide
from deskmate.core.agent.rules.quiet import quiet
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Attempt, Mode
from deskmate.core.team import roster_fold, roster_records
from deskmate.core.team.handshakes import PlanVerdict, Shake
from deskmate.core.team.messages import (
    Interrupt,
    Message,
    PermissionResponse,
    Plain,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
)
from deskmate.core.team.status import Parked, Waiting
from deskmate.core.team.tasks import Assigned, Claimed, Completed, Deleted, Released
from tests.core.simulated_team import SimulatedTeam, add_task, idle, says

ASKED = "the rule 'ask read_file' says to ask first"


def test_a_new_agent_thinks_about_its_prompt_and_then_rests() -> None:
    world = SimulatedTeam("alice")
    assert [world.step(), world.step()] == [Think(), Rest()]


@pytest.mark.parametrize("began", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_when_the_time_is_up_open_calls_get_a_result_and_the_agent_is_parked(*, began: bool, waits: bool) -> None:
    world = idle(LEAD)
    first, second = says(world, "read_file", "bash")
    if began:
        world.record(Began(calls=(first,)))
    if waits:
        world.record(PermissionAsked(call=second, request_id=second))
    view = replace(world.view, over="budget: time", time_is_up=True)
    if began:
        assert decide(view) == Settle((first,), TIME_IS_UP)
        world.record(Did(call=first, text=TIME_IS_UP, ok=False))
    left = (second,) if began else (first, second)
    view = replace(world.view, over="budget: time", time_is_up=True)
    assert decide(view) == Settle(left, NOT_BEGUN_IN_TIME)
    for call in left:
        world.record(Did(call=call, text=NOT_BEGUN_IN_TIME, ok=False))
    view = replace(world.view, over="budget: time", time_is_up=True)
    assert (decide(view), view.memory.requests) == (Park("budget: time"), {})


def test_words_wake_an_idle_agent_and_a_yes_to_its_own_request_does_not() -> None:
    world = idle(LEAD)
    (call,) = says(world, "SendMessage")
    world.record(Began(calls=(call,)))
    opened = Opened(request_id=call, shake=Shake.SHUTDOWN, asked="bob")
    world.record(Did(call=call, text="sent", opened=opened))
    assert world.step() == Think()
    world.mail("bob", ShutdownResponse(request_id=call, approve=True))
    assert decide(world.view) == Rest()
    world.mail("bob", Plain(content="one more thing"))
    assert decide(world.view) == Think()


def test_a_refusal_to_stop_wakes_the_lead() -> None:
    world = idle(LEAD)
    (call,) = says(world, "SendMessage")
    world.record(Did(call=call, text="sent", opened=Opened(request_id=call, shake=Shake.SHUTDOWN, asked="bob")))
    world.step()
    world.mail("bob", ShutdownResponse(request_id=call, approve=False, content="still on #1"))
    assert decide(world.view) == Think()


class TestManyCalls:
    def test_of_many_calls_that_overlap_sixteen_run_at_once(self) -> None:
        world = idle()
        ids = says(world, *["read_file"] * 40)
        ran = []
        while isinstance(action := world.step(), Act):
            ran.append(len(action.calls))
        assert (len(ids), ran) == (40, [TOGETHER, TOGETHER, 8])

    @pytest.mark.parametrize("tool", ["read_file", "bash", "no_such_tool"])
    def test_calls_above_the_cap_of_one_answer_are_refused_before_any_runs(self, tool: str) -> None:
        world = idle()
        ids = says(world, *[tool] * (CALLS_CAP + 3))
        action = world.step()
        assert isinstance(action, Settle)
        assert (action.calls, action.text.startswith("Not run: ")) == (tuple(ids[CALLS_CAP:]), True)
        assert list(world.memory.calls) == ids[:CALLS_CAP]

    def test_an_answer_with_as_many_calls_as_are_run_is_run_whole(self) -> None:
        world = idle()
        says(world, *["read_file"] * CALLS_CAP)
        assert isinstance(decide(world.view), Act)

    def test_refused_before_a_crash_they_are_not_run_after_it(self) -> None:
        world = idle()
        says(world, *["bash"] * (CALLS_CAP + 1))
        world.reload()
        assert isinstance(decide(world.view), Settle)


class TestCalls:
    def test_reading_calls_run_together_and_others_one_by_one(self) -> None:
        world = idle()
        world.note(roster_records.PolicySet(by=USER, at=0, mode=Mode.BYPASS))
        ids = says(world, "read_file", "grep", "bash", "write_file")
        assert decide(world.view) == Act((ids[0], ids[1]))
        world.step()
        assert decide(world.view) == Act((ids[2],))
        world.step()
        assert decide(world.view) == Act((ids[3],))

    @pytest.mark.parametrize("later", ["bash", "read_file", "SendMessage", "TaskCreate"])
    def test_nothing_after_a_call_that_waits_for_a_person_begins_before_it_is_settled(self, later: str) -> None:
        for approve in (True, False):
            world = idle()
            edit, after = says(world, "edit_file", later)
            world.step()
            while isinstance(decide(world.view), Ask):
                world.step()
            assert decide(world.view) == Rest(Waiting("permission"))
            world.note(roster_records.PolicySet(by=USER, at=0, add_rules=(f"allow {later}",)))
            assert decide(world.view) == Rest(Waiting("permission"))
            world.mail(USER, PermissionResponse(request_id=edit, approve=approve))
            world.step()
            assert list(world.memory.calls) == [after]
            assert decide(world.view) == Act((after,))

    def test_reads_go_on_beside_a_read_that_waits_and_an_edit_does_not(self) -> None:
        world = idle()
        world.note(roster_records.PolicySet(by=USER, at=0, add_rules=("ask read_file", "allow edit_file")))
        read, search, edit = says(world, "read_file", "grep", "edit_file")
        inside = {edit: Attempt("edit_file", ("a.py",), inside=True)}
        assert decide(replace(world.view, attempts=inside)) == Ask(read, ASKED)
        world.record(PermissionAsked(call=read, request_id=read))
        assert decide(replace(world.view, attempts=inside)) == Act((search,))
        world.record(Did(call=search, text="found"))
        assert decide(replace(world.view, attempts=inside)) == Rest(Waiting("permission"))

    def test_all_questions_of_a_step_are_asked_before_the_first_is_answered(self) -> None:
        world = idle()
        ids = says(world, "edit_file", "read_file", "bash", "edit_file")
        asked = [action.call for _ in range(3) if isinstance(action := world.step(), Ask)]
        assert asked == [ids[0], ids[2], ids[3]]
        assert decide(world.view) == Rest(Waiting("permission"))

    def test_an_allowed_call_runs_once_and_a_refused_one_is_answered(self) -> None:
        for approve in (True, False):
            world = idle()
            (call,) = says(world, "bash")
            world.record(PermissionAsked(call=call, request_id=call))
            world.mail(USER, PermissionResponse(request_id=call, approve=approve, content="because"))
            assert decide(world.view) == (
                Act((call,)) if approve else Settle((call,), "The user refused this call: because")
            )

    def test_a_rule_that_denies_outlives_a_persons_yes(self) -> None:
        world = idle()
        (call,) = says(world, "bash")
        world.record(PermissionAsked(call=call, request_id=call))
        world.note(roster_records.PolicySet(by=USER, at=0, add_rules=("deny bash",)))
        world.mail(USER, PermissionResponse(request_id=call, approve=True))
        assert isinstance(decide(world.view), Settle)

    def test_a_persons_yes_outlives_their_leaving(self) -> None:
        world = idle()
        (call,) = says(world, "bash")
        world.record(PermissionAsked(call=call, request_id=call))
        world.mail(USER, PermissionResponse(request_id=call, approve=True))
        world.note(roster_records.PolicySet(by=USER, at=0, attended=False))
        assert decide(world.view) == Act((call,))

    def test_nobody_there_to_ask_means_no(self) -> None:
        world = idle()
        world.note(roster_records.PolicySet(by=USER, at=0, attended=False))
        says(world, "bash")
        action = decide(world.view)
        assert isinstance(action, Settle)
        assert "--permission-mode" in action.text

    def test_a_tool_it_does_not_have_is_refused(self) -> None:
        world = idle()
        says(world, "TeamCreate")
        assert isinstance(decide(world.view), Settle)

    def test_a_tool_with_an_endless_name_is_refused_in_few_words(self) -> None:
        world = idle()
        (call,) = says(world, "x" * 100_000)
        told = f"You do not have the tool '{'x' * 80}' now. Use one that you were given."
        assert decide(world.view) == Settle((call,), told)

    @pytest.mark.parametrize(("tool", "again"), [("read_file", True), ("SendMessage", True), ("bash", False)])
    def test_after_a_crash_what_may_be_repeated_is_and_all_else_is_reported(self, tool: str, again: bool) -> None:
        world = idle()
        (call,) = says(world, tool)
        world.record(Began(calls=(call,)))
        world.reload()
        action = decide(world.view)
        assert action == Act((call,)) if again else isinstance(action, Settle) and "unknown" in action.text

    @pytest.mark.parametrize("urgent", [Plain(content="stop that"), ShutdownRequest(request_id="r"), Interrupt()])
    def test_calls_not_begun_are_skipped_when_something_urgent_came(self, urgent: Plain) -> None:
        world = idle()
        ids = says(world, "read_file", "bash")
        world.mail(USER, urgent)
        action = decide(world.view)
        assert isinstance(action, Settle)
        assert action.calls == tuple(ids)

    def test_a_peers_words_skip_nothing(self) -> None:
        world = idle()
        ids = says(world, "read_file")
        world.mail("bob", Plain(content="hello"))
        assert decide(world.view) == Act(tuple(ids))

    def test_words_of_the_user_leave_a_question_open(self) -> None:
        world = idle()
        edit, after = says(world, "edit_file", "read_file")
        world.record(PermissionAsked(call=edit, request_id=edit))
        world.mail(USER, Plain(content="Use tabs."))
        assert decide(world.view) == Rest(Waiting("permission"))
        assert list(world.memory.requests) == [edit]
        world.mail(USER, PermissionResponse(request_id=edit, approve=True))
        # What nobody was asked about gives way to the user's words, as always.
        assert world.step() == Settle((after,), "Skipped: something more urgent came in. Read that first.")
        assert [world.step(), world.step()] == [Act((edit,)), Think()]

    @pytest.mark.parametrize(
        ("urgent", "why"),
        [
            (Interrupt(), "Not run: the user interrupted you before answering."),
            (ShutdownRequest(request_id="r"), "Not run: you were asked to shut down before the user answered."),
        ],
    )
    def test_an_interrupt_and_a_shutdown_request_withdraw_a_question_and_say_so(
        self, urgent: Message, why: str
    ) -> None:
        world = idle()
        (call,) = says(world, "bash")
        world.record(PermissionAsked(call=call, request_id=call))
        world.mail(USER, urgent)
        assert decide(world.view) == Settle((call,), why)
        world.step()
        assert world.memory.requests == {}

    def test_words_after_an_interrupt_do_not_keep_the_question(self) -> None:
        world = idle()
        (call,) = says(world, "bash")
        world.record(PermissionAsked(call=call, request_id=call))
        world.mail(USER, Interrupt())
        world.mail(USER, Plain(content="Do something else."))
        assert isinstance(decide(world.view), Settle)


class TestStopping:
    def test_a_free_teammate_agrees_without_a_model_turn_and_leaves(self) -> None:
        world = idle()
        world.mail(LEAD, ShutdownRequest(request_id="r"))
        assert [world.step(), world.step()] == [Agree("r"), Stop("agreed to a shutdown request", agreed=True)]
        assert isinstance(decide(world.view), Stop)

    def test_a_teammate_with_a_task_lets_its_model_answer(self) -> None:
        world = idle()
        add_task(world)
        world.step()
        world.step()
        world.mail(LEAD, ShutdownRequest(request_id="r"))
        assert decide(world.view) == Think()

    def test_a_parked_teammate_agrees_although_it_has_a_task(self) -> None:
        world = idle()
        add_task(world)
        world.step()
        world.over = "money"
        assert world.step() == Park("money")
        world.mail(LEAD, ShutdownRequest(request_id="r"))
        assert decide(world.view) == Agree("r")

    def test_a_request_nobody_may_make_is_not_obeyed(self) -> None:
        world = idle()
        world.mail("bob", ShutdownRequest(request_id="r"))
        assert decide(world.view) == Rest()

    def test_no_answer_within_the_deadline_stops_it(self) -> None:
        world = idle()
        add_task(world)
        world.step()
        world.mail(USER, ShutdownRequest(request_id="r"))
        world.waited["r"] = 29.9
        assert decide(world.view) == Think()
        world.waited["r"] = 30.0
        assert isinstance(decide(world.view), Stop)


class TestGoingOn:
    def test_over_a_cap_it_parks_and_stays_until_someone_writes_or_the_caps_change(self) -> None:
        world = idle()
        world.over = "money"
        world.mail("bob", Plain(content="look"))
        assert [world.step(), world.step()] == [Park("money"), Rest(Parked("money"))]
        world.caps = "more"
        assert decide(world.view) == Park("money")
        world.over = None
        assert decide(world.view) == Think()
        world.caps = "caps"
        assert decide(world.view) == Rest(Parked("money"))
        world.mail(USER, Plain(content="go on"))
        assert decide(world.view) == Think()

    def test_over_a_cap_it_rests_where_nothing_is_owed_and_is_parked_where_a_task_is_there_to_take(self) -> None:
        world = idle()
        world.over = "money"
        assert decide(world.view) == Rest()
        add_task(world)
        assert [world.step(), world.step()] == [Park("money"), Rest(Parked("money"))]

    def test_a_full_context_is_compacted_once_and_then_parks(self) -> None:
        world = idle()
        world.full = True
        assert decide(world.view) == Rest()
        world.mail(USER, Plain(content="more"))
        assert [world.step(), world.step()] == [Compact(), Park("context: still too large after compaction")]

    def test_an_interrupt_rests_until_user_or_lead_writes(self) -> None:
        world = idle()
        add_task(world)
        world.mail(USER, Interrupt())
        assert decide(world.view) == Rest()
        world.mail("bob", Plain(content="hello"))
        assert decide(world.view) == Rest()
        world.mail(LEAD, Plain(content="go on"))
        assert decide(world.view) == Think()

    def test_an_answer_cut_for_length_goes_on(self) -> None:
        world = idle()
        world.record(Said(text="half of", unfinished=True))
        assert decide(world.view) == Think()

    def test_the_end_of_something_in_the_background_wakes(self) -> None:
        world = idle(LEAD)
        (call,) = says(world, "Task")
        world.record(Began(calls=(call,)))
        world.record(Did(call=call, text="started", background="b1"))
        assert [world.step(), world.step()] == [Think(), Rest(Waiting("background"))]
        world.record(Ended(background="b1", status="done"))
        assert [world.step(), world.step()] == [Think(), Rest()]


class TestWork:
    def test_an_idle_teammate_takes_the_lowest_task_that_fits_and_the_lead_takes_none(self) -> None:
        world, lead = idle(), idle(LEAD)
        for each in (world, lead):
            add_task(each, role="tester")
            add_task(each)
            add_task(each)
        assert world.step() == Take(2)
        assert decide(lead.view) == Rest()

    def test_mail_beats_tasks(self) -> None:
        world = idle()
        add_task(world)
        world.mail("bob", Plain(content="hello"))
        assert decide(world.view) == Think()

    def test_a_blocked_task_is_taken_the_moment_its_last_blocker_completes(self) -> None:
        world = idle()
        first = add_task(world)
        world.post(Claimed(by="bob", at=0, task=first, epoch=0))
        add_task(world, blocked_by=frozenset({first}))
        assert decide(world.view) == Rest()
        world.post(Completed(by="bob", at=0, task=first, epoch=1))
        assert decide(world.view) == Take(2)

    def test_an_assigned_task_is_taken_before_a_free_one(self) -> None:
        world = idle()
        add_task(world)
        second = add_task(world)
        world.post(Assigned(by=LEAD, at=0, task=second, owner="alice", epoch=0))
        assert decide(world.view) == Take(second)

    def test_a_claim_that_a_crash_kept_from_being_told_is_taken_in(self) -> None:
        world = idle()
        task = add_task(world)
        world.post(Claimed(by="alice", at=0, task=task, epoch=0))
        assert [world.step(), world.step()] == [Take(task), Think()]

    def test_nobody_takes_work_while_planning_or_while_the_board_is_damaged(self) -> None:
        planning, damaged = idle(planning=True), idle()
        add_task(planning)
        add_task(damaged)
        damaged.board = replace(damaged.board, damaged=frozenset({1}))
        assert [planning.step() for _ in range(4)] == [Nudge(0), Think(), Report(0), Rest()]
        assert decide(damaged.view) == Rest()

    def test_an_unfinished_task_is_nudged_once_then_reported_then_left_alone(self) -> None:
        world = idle()
        task = add_task(world)
        actions = [world.step() for _ in range(6)]
        assert actions == [Take(task), Think(), Nudge(task), Think(), Report(task), Rest()]
        assert world.entries[-1][1] == Reported(task=task, epoch=1)

    @pytest.mark.parametrize("gone", [Deleted, Released, Assigned])
    def test_a_task_taken_away_is_told_once(self, gone: Any) -> None:
        world = idle()
        task = add_task(world)
        world.step()
        world.step()
        extras: dict[Any, dict[str, Any]] = {
            Deleted: {},
            Released: {"epoch": 1},
            Assigned: {"epoch": 1, "owner": "bob"},
        }
        assert world.post(gone(by=LEAD, at=0, task=task, **extras[gone]))
        assert [world.step(), world.step()] == [Notice((task,)), Think()]
        assert task not in world.memory.tasks

    def test_a_task_it_finished_itself_is_no_news(self) -> None:
        world = idle()
        task = add_task(world)
        world.step()
        (call,) = says(world, "TaskUpdate")
        world.post(Completed(by="alice", at=0, task=task, epoch=1))
        world.record(Did(call=call, text="done", tasks={task: None}))
        assert [world.step(), world.step()] == [Think(), Rest()]


class TestPlanning:
    def test_it_waits_for_its_plan_and_goes_on_when_the_lead_says_yes(self) -> None:
        world = idle(planning=True)
        (call,) = says(world, "ExitPlanMode")
        world.record(Did(call=call, text="submitted", opened=Opened(request_id=call, shake=Shake.PLAN, asked=LEAD)))
        assert [world.step(), world.step()] == [Think(), Rest(Waiting("plan"))]
        world.mail("bob", PlanResponse(request_id=call, approve=True))
        assert decide(world.view) == Rest(Waiting("plan"))
        world.mail(LEAD, PlanResponse(request_id=call, approve=True))
        works = WorkMode(planning=False, attended=True, barred=())
        assert [world.step(), world.step()] == [Notice(work_mode=works), Think()]
        assert not world.memory.owes_plan

    def test_one_that_ends_its_turn_without_a_plan_is_reminded_once_and_then_reported_once_and_rests(self) -> None:
        world = idle(planning=True)
        actions = [world.step() for _ in range(5)]
        assert actions == [Nudge(0), Think(), Report(0), Rest(), Rest()]
        world.mail(LEAD, Plain(content="and?"))
        assert [world.step(), world.step()] == [Think(), Rest()]

    def test_one_that_wrote_to_somebody_waits_for_the_answer_unreminded(self) -> None:
        world = SimulatedTeam("alice", planning=True)
        (call,) = says(world, "SendMessage")
        world.record(Did(call=call, text="sent to lead"))
        assert [world.step(), world.step()] == [Think(), Rest()]

    def test_a_refused_plan_gives_one_more_reminder(self) -> None:
        world = idle(planning=True)
        assert [world.step(), world.step(), world.step()] == [Nudge(0), Think(), Report(0)]
        (call,) = says(world, "ExitPlanMode")
        world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.PLAN, asked=LEAD)))
        world.mail(LEAD, PlanResponse(request_id=call, approve=False))
        assert [world.step(), world.step()] == [Think(), Nudge(0)]

    @pytest.mark.parametrize("me", ["alice", LEAD])
    def test_a_mode_of_plan_is_planning_too_and_ends_with_the_approval(self, me: str) -> None:
        world = idle(me)
        world.note(roster_records.PolicySet(by=USER, at=0, mode=Mode.ACCEPT_EDITS))
        world.note(roster_records.PolicySet(by=USER, at=0, member=me, mode=Mode.PLAN))
        world.mail(USER, Plain(content="change it"))
        planning = WorkMode(planning=True, attended=True, barred=())
        assert [world.step(), world.step()] == [Notice(work_mode=planning), Think()]
        (call,) = says(world, "ExitPlanMode")
        asked = USER if me == LEAD else LEAD
        world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.PLAN, asked=asked)))
        assert [world.step(), world.step()] == [Think(), Rest(Waiting("plan"))]
        world.mail(USER, PlanResponse(request_id=call, approve=True))
        verdict = PlanVerdict(request_id=call, by=USER, approve=True)
        works = WorkMode(attended=True, barred=())
        assert [world.step() for _ in range(3)] == [
            Permit(Mode.ACCEPT_EDITS, verdict),
            Notice(work_mode=works),
            Think(),
        ]

    def test_an_approval_of_before_ends_no_later_plan_mode(self) -> None:
        world = idle(planning=True)
        (call,) = says(world, "ExitPlanMode")
        world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.PLAN, asked=LEAD)))
        world.mail(LEAD, PlanResponse(request_id=call, approve=True))
        assert isinstance(world.step(), Notice)
        world.note(roster_records.PolicySet(by=USER, at=0, member="alice", mode=Mode.PLAN))
        assert isinstance(world.step(), Notice)
        assert (world.view.work_mode.planning, decide(world.view)) == (True, Think())

    def test_edits_are_accepted_by_the_user_alone(self) -> None:
        for sender, mode in ((USER, Permit), (LEAD, Notice)):
            world = idle(planning=True)
            (call,) = says(world, "ExitPlanMode")
            world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.PLAN, asked=LEAD)))
            world.mail(sender, PlanResponse(request_id=call, approve=True, accept_edits=True))
            assert isinstance(world.step(), mode)

    def test_one_whose_plan_mode_is_ended_by_the_user_waits_no_longer(self) -> None:
        world = idle()
        world.note(roster_records.PolicySet(by=USER, at=0, member="alice", mode=Mode.PLAN))
        world.mail(USER, Plain(content="change it"))
        world.step()
        (call,) = says(world, "ExitPlanMode")
        world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.PLAN, asked=LEAD)))
        assert [world.step(), world.step()] == [Think(), Rest(Waiting("plan"))]
        world.note(roster_records.PolicySet(by=USER, at=0, member="alice", mode=Mode.DEFAULT))
        works = WorkMode(attended=True, barred=())
        assert [world.step(), world.step()] == [Notice(work_mode=works, closed=(call,)), Think()]
        assert world.memory.requests == {}

    def test_a_lead_that_nobody_attends_rests_on_the_plan_it_submitted(self) -> None:
        world = idle(LEAD)
        world.note(roster_records.PolicySet(by=USER, at=0, mode=Mode.PLAN, attended=False))
        world.mail(USER, Plain(content="change it"))
        world.step()
        (call,) = says(world, "ExitPlanMode")
        world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.PLAN, asked=USER)))
        assert decide(world.view) == Rest(Waiting("plan"))
        world.mail(USER, Plain(content="say more"))
        assert decide(world.view) == Think()


class TestTheLead:
    def settled(self) -> SimulatedTeam:
        """Return a lead whose teammates work, and who has noticed all so far."""
        world = idle(LEAD)
        world.record(Noticed(text="", roster=world.roster.number))
        world.record(Said())
        return world

    def test_idle_records_alone_cost_no_turn(self) -> None:
        world = self.settled()
        world.note(roster_records.MemberIdle(name="alice", at=0, words="done"))
        world.note(roster_records.MemberIdle(name="bob", at=0, words="done"))
        assert decide(world.view) == Rest()

    def test_it_is_told_once_when_the_team_goes_quiet(self) -> None:
        world = self.settled()
        for name in ("alice", "bob", "carol"):
            world.note(roster_records.MemberIdle(name=name, at=0))
        assert quiet(world.view)
        assert [world.step(), world.step(), world.step()] == [Notice(), Think(), Rest()]
        world.note(roster_records.MemberWorking(name="bob", at=0))
        world.note(roster_records.MemberIdle(name="bob", at=0))
        assert decide(world.view) == Notice()

    def test_a_team_is_not_quiet_while_mail_is_unheard_or_work_can_be_taken_or_someone_waits(self) -> None:
        world = self.settled()
        for name in ("alice", "bob", "carol"):
            world.note(roster_records.MemberIdle(name=name, at=0))
        assert not quiet(replace(world.view, unheard=frozenset({"bob"})))
        waiting = roster_records.MemberWaiting(name="bob", on="permission", at=0)
        other = roster_fold.fold(world.roster, [])
        world.note(waiting)
        assert not quiet(world.view)
        world.roster = other
        add_task(world)
        assert not quiet(world.view)

    def test_a_team_is_not_quiet_while_who_rested_has_taken_a_task_and_is_if_it_rests_on_that(self) -> None:
        world = self.settled()
        for name in ("alice", "bob", "carol"):
            world.note(roster_records.MemberIdle(name=name, at=0))
        task = add_task(world, role="bob")
        assert world.post(Claimed(by="bob", at=0, task=task, epoch=0))
        assert not quiet(world.view)
        world.note(roster_records.MemberIdle(name="bob", rests_on=((task, 1),), at=0))
        assert quiet(world.view)

    @pytest.mark.parametrize(
        ("event", "told"),
        [
            (roster_records.MemberParked(name="bob", reason="money", at=0), True),
            (roster_records.MemberLeft(name="bob", reason="crashed", at=0), True),
            (roster_records.MemberLeft(name="bob", reason="asked", agreed=True, at=0), True),
            (roster_records.MemberWaiting(name="bob", on="permission", at=0), False),
            (roster_records.MemberIdle(name="bob", words="a report", at=0), False),
        ],
    )
    def test_it_is_woken_by_who_is_parked_or_gone(self, event: roster_records.Event, told: bool) -> None:
        world = self.settled()
        world.note(event)
        assert decide(world.view) == (Notice() if told else Rest())

    def test_agreed_departures_wake_once_after_the_last_one_asked(self) -> None:
        world = self.settled()
        ids = says(world, "SendMessage", "SendMessage")
        for call, name in zip(ids, ("alice", "bob"), strict=True):
            world.record(Did(call=call, text="", opened=Opened(request_id=call, shake=Shake.SHUTDOWN, asked=name)))
        world.step()
        world.mail("alice", ShutdownResponse(request_id=ids[0], approve=True))
        world.note(roster_records.MemberLeft(name="alice", agreed=True, at=0))
        assert decide(world.view) == Rest()
        world.mail("bob", ShutdownResponse(request_id=ids[1], approve=True))
        # Who agreed has not left yet.
        assert decide(world.view) == Rest()
        world.note(roster_records.MemberLeft(name="bob", agreed=True, at=0))
        assert [world.step(), world.step(), world.step()] == [Notice(), Think(), Rest()]

    def test_words_alone_wake_it_after_the_batch(self) -> None:
        world = self.settled()
        world.note(roster_records.MemberIdle(name="bob", words="a report", only_words=True, at=0))
        assert decide(world.view) == Rest()
        world.waited[WORDS] = 2.0
        assert [world.step(), world.step(), world.step()] == [Notice(), Think(), Rest()]
