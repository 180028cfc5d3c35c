"""What came of the team stands in front of an agent's next answer: who is told of what, when, and how often."""

import pytest

from deskmate.core.agent.actions import Act, Notice, Nudge, Park, Report, Reread, Rest, Take, Think
from deskmate.core.agent.entries import AgentParked, Did, Noticed, Started
from deskmate.core.agent.memory import EMPTY
from deskmate.core.agent.rules.decide import decide
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.team import roster_records
from deskmate.core.team.messages import Plain, ShutdownRequest
from deskmate.core.team.status import Parked
from deskmate.core.team.tasks import Assigned, Claimed, Created, Released, TaskEdited
from tests.core.simulated_team import SimulatedTeam, add_task, idle, says

JOINED = roster_records.Joined(name="dave", at=0)
LEFT = roster_records.MemberLeft(name="bob", at=0)


@pytest.mark.parametrize("event", [JOINED, LEFT], ids=["joined", "left"])
def test_who_came_or_went_stands_in_front_of_a_teammates_next_answer_and_wakes_nobody(
    event: roster_records.Event,
) -> None:
    world = idle()
    world.note(event)
    assert decide(world.view) == Rest()
    world.mail("carol", Plain(content="hello"))
    assert [world.step(), world.step(), world.step()] == [Notice(), Think(), Rest()]
    world.mail("carol", Plain(content="hello again"))
    assert decide(world.view) == Think()


@pytest.mark.parametrize(
    "event",
    [
        roster_records.MemberIdle(name="bob", words="done", only_words=True, at=0),
        roster_records.MemberParked(name="bob", reason="money", at=0),
        roster_records.MemberWorking(name="bob", at=0),
        roster_records.PolicySet(by=USER, mode=Mode.BYPASS, at=0),
    ],
)
def test_what_the_others_do_is_no_news_to_a_teammate(event: roster_records.Event) -> None:
    world = idle()
    world.note(event)
    world.mail("carol", Plain(content="hello"))
    assert decide(world.view) == Think()


def test_a_teammate_is_not_told_of_who_came_and_went_meanwhile() -> None:
    world = idle()
    world.note(JOINED)
    world.note(roster_records.MemberLeft(name="dave", at=0))
    world.mail("carol", Plain(content="hello"))
    assert decide(world.view) == Think()


def test_it_is_told_once_for_each_answer() -> None:
    world = idle()
    world.note(JOINED)
    world.mail("carol", Plain(content="hello"))
    assert world.step() == Notice()
    world.note(LEFT)
    assert [world.step(), world.step()] == [Think(), Rest()]
    world.mail("carol", Plain(content="one more thing"))
    assert [world.step(), world.step(), world.step()] == [Notice(), Think(), Rest()]


def test_a_restart_between_the_news_and_the_answer_tells_nothing_twice() -> None:
    world = idle()
    world.note(JOINED)
    world.mail("carol", Plain(content="hello"))
    assert world.step() == Notice()
    world.reload()
    assert decide(world.view) == Think()


def test_it_stands_in_front_of_a_shutdown_request_too() -> None:
    world = idle()
    add_task(world)
    assert [world.step(), world.step()] == [Take(1), Think()]
    world.note(JOINED)
    world.mail(LEAD, ShutdownRequest(request_id="r"))
    assert [world.step(), world.step()] == [Notice(), Think()]


def test_within_a_turn_a_teammate_is_told_before_its_next_step() -> None:
    world = idle()
    says(world, "read_file")
    world.note(JOINED)
    assert isinstance(world.step(), Act)
    assert [world.step(), world.step()] == [Notice(), Think()]


def test_whose_transcript_does_not_say_what_it_began_with_is_told_of_nobody() -> None:
    world = SimulatedTeam("alice")
    world.memory, world.entries = EMPTY, []
    world.record(Started(name="alice"))
    world.note(JOINED)
    world.note(LEFT)
    world.mail("carol", Plain(content="hello"))
    assert decide(world.view) == Think()


def test_who_is_parked_or_over_a_cap_is_told_nothing_until_it_goes_on() -> None:
    world = idle()
    world.note(JOINED)
    world.over = "money"
    world.mail("carol", Plain(content="hello"))
    assert [world.step(), world.step()] == [Park("money"), Rest(Parked("money"))]
    world.over = None
    world.mail(LEAD, Plain(content="go on"))
    assert decide(world.view) == Notice()


def test_the_lead_is_told_at_the_start_of_a_turn_only() -> None:
    world = idle(LEAD)
    world.note(roster_records.MemberIdle(name="bob", words="done", at=0))
    assert decide(world.view) == Rest()
    world.mail(USER, Plain(content="how is it going?"))
    assert [world.step(), decide(world.view)] == [Notice(), Think()]
    says(world, "TaskList")
    world.note(roster_records.MemberIdle(name="carol", words="done", at=0))
    assert isinstance(world.step(), Act)
    assert [world.step(), world.step()] == [Think(), Rest()]
    world.mail(USER, Plain(content="and now?"))
    assert decide(world.view) == Notice()


def test_the_lead_is_not_told_of_who_works() -> None:
    world = idle(LEAD)
    world.note(JOINED)
    world.note(roster_records.MemberWorking(name="bob", at=0))
    world.mail(USER, Plain(content="how is it going?"))
    assert decide(world.view) == Think()


@pytest.mark.parametrize("me", ["alice", LEAD])
def test_the_words_of_a_task_that_it_took_by_itself_stand_in_front_of_the_next_answer(me: str) -> None:
    world = idle(me)
    task = add_task(world, description="Parse the dates.")
    assert world.post(Claimed(by=me, at=0, task=task, epoch=0))
    world.mail(USER, Plain(content="how far are you?"))
    assert [world.step(), world.step()] == [Take(task), Think()]
    world.mail(USER, Plain(content="and now?"))
    assert decide(world.view) == Think()


def test_a_task_that_says_no_more_than_its_subject_is_told_once() -> None:
    world = idle()
    task = add_task(world)
    assert world.post(Claimed(by="alice", at=0, task=task, epoch=0))
    (call,) = says(world, "TaskUpdate")
    world.record(Did(call=call, text="#1 [in progress] s @alice", tasks={task: 1}))
    assert decide(world.view) == Think()


# -- of tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["bob", USER, LEAD])
def test_the_lead_is_told_what_others_did_on_the_board_in_front_of_its_next_answer_and_is_not_woken(by: str) -> None:
    world = idle(LEAD)
    add_task(world)
    assert world.post(TaskEdited(by=LEAD, at=0, task=1, subject="parse"))
    assert world.post(Created(by=by, at=0, task=2, subject="lex"))
    assert decide(world.view) == Rest()
    world.mail(USER, Plain(content="how is it going?"))
    assert decide(world.view) == (Think() if by == LEAD else Notice())


@pytest.mark.behaviour("urgent", "lead-wake")
def test_a_lead_is_not_woken_because_the_user_interrupted_a_teammate() -> None:
    world = idle(LEAD)
    for name in ("alice", "bob", "carol"):
        world.note(roster_records.MemberIdle(name=name, at=0))
    assert [world.step(), world.step()] == [Notice(), Think()]
    world.note(roster_records.MemberWorking(name="bob", at=0))
    world.note(roster_records.MemberIdle(name="bob", held=True, at=0))
    assert decide(world.view) == Rest()
    world.mail(USER, Plain(content="how is it going?"))
    assert decide(world.view) == Notice()


@pytest.mark.behaviour("lead-wake")
@pytest.mark.parametrize("by", [LEAD, USER])
def test_a_task_given_to_the_lead_wakes_it_once(by: str) -> None:
    world = idle(LEAD)
    add_task(world)
    assert decide(world.view) == Rest()
    assert world.post(Assigned(by=by, at=0, task=1, owner=LEAD, epoch=0))
    assert [world.step(), world.step(), decide(world.view)] == [Take(1), Think(), Rest()]


def test_a_lead_takes_by_itself_what_names_it_and_no_other_free_task() -> None:
    world = idle(LEAD)
    add_task(world)
    add_task(world, role="tester")
    assert decide(world.view) == Rest()
    add_task(world, role="Lead")
    assert decide(world.view) == Take(3)


@pytest.mark.behaviour("task-authors")
def test_an_owner_reads_what_others_changed_in_its_task_before_its_next_answer_and_is_woken_for_it() -> None:
    world = idle()
    add_task(world)
    assert [world.step(), world.step()] == [Take(1), Think()]
    says(world, "read_file")
    assert world.post(TaskEdited(by=LEAD, at=0, task=1, description="more"))
    assert isinstance(world.step(), Act)
    assert [world.step(), world.step()] == [Reread(1), Think()]
    # Its own edit is no news, and nothing is told twice.
    assert world.post(TaskEdited(by="alice", at=0, task=1, active_form="Parsing"))
    assert isinstance(world.step(), Nudge)
    assert [world.step(), world.step()] == [Think(), Report(1)]
    assert world.post(TaskEdited(by=USER, at=0, task=1, verify="make"))
    assert [world.step(), world.step(), world.step()] == [Reread(1), Think(), Rest()]


@pytest.mark.behaviour("release")
def test_who_was_parked_is_told_that_its_task_was_released_before_it_answers() -> None:
    world = idle()
    add_task(world)
    assert [world.step(), world.step()] == [Take(1), Think()]
    world.record(AgentParked(reason="money"))
    assert world.post(Released(by="alice", at=0, task=1, epoch=1))
    world.mail(USER, Plain(content="go on"))
    assert [world.step(), world.step(), world.step()] == [Notice((1,)), Think(), Take(1)]


def test_other_words_of_the_runtime_do_not_keep_back_the_news_of_the_team() -> None:
    world = idle(LEAD)
    world.note(roster_records.MemberIdle(name="bob", at=0))
    world.record(Noticed(text="a reminder"))
    assert [world.step(), world.step()] == [Notice(), Think()]
