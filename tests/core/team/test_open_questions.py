"""What waits for a person's word, told from mailboxes and transcripts."""

from typing import Any

from deskmate.core.agent.entries import Began, Did
from deskmate.core.log.facts import Fact
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.team import members, open_questions, roster_fold
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Envelope,
    Message,
    PermissionRequest,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
)
from deskmate.core.team.open_questions import EMPTY, Question, QuestionFold
from deskmate.core.team.roster_records import Joined, MemberLeft, TeamFounded

ASKS = PermissionRequest(
    request_id="bob:7.0", tool="bash", arguments={"command": "ls"}, reason="runs", rule="allow bash"
)
ASKED = Question("bob:7.0", "bob", 5.0, Shake.PERMISSION, "bash", {"command": "ls"}, "runs", rule="allow bash")
PLANS = PlanRequest(request_id="bob:9.0", content="First this.")
PLANNED = Question("bob:9.0", "bob", 5.0, Shake.PLAN, plan="First this.")


def posted(sender: str, recipient: str, message: Message, at: float = 5.0) -> list[Item]:
    return [Record(1, Envelope(f"id-{at}", sender, recipient, at, message).body())]


def noted(*facts: Fact) -> list[Item]:
    return [Record(number, fact.body()) for number, fact in enumerate(facts, 1)]


def roster(*events: Fact) -> members.RosterState:
    first = (TeamFounded(team="main", at=0.0), Joined(name="bob", at=1.0), *events)
    return roster_fold.fold(members.EMPTY, noted(*first))


def asked(*messages: tuple[str, str, Message], **fields: Any) -> QuestionFold:
    state = EMPTY
    for sender, recipient, message in messages:
        state = open_questions.read_mail(state, roster(), posted(sender, recipient, message, **fields))
    return state


def test_what_was_asked_is_open_in_its_order_and_once() -> None:
    state = asked(("bob", USER, ASKS), ("bob", LEAD, PLANS), ("bob", USER, ASKS), ("bob", USER, Plain(content="hi")))
    assert state.open(roster()) == (ASKED, PLANNED)


def test_only_a_word_of_someone_in_charge_closes_it_and_for_a_permission_only_the_users() -> None:
    yes, plan = (
        PermissionResponse(request_id="bob:7.0", approve=True),
        PlanResponse(request_id="bob:9.0", approve=False),
    )
    state = asked(
        ("bob", USER, ASKS), ("bob", LEAD, PLANS), ("eve", "bob", yes), (LEAD, "bob", yes), ("eve", "bob", plan)
    )
    assert state.open(roster()) == (ASKED, PLANNED)
    state = open_questions.read_mail(state, roster(), posted(USER, "bob", yes))
    assert state.open(roster()) == (PLANNED,)
    assert open_questions.read_mail(state, roster(), posted(LEAD, "bob", plan)).open(roster()) == ()


def test_a_call_that_began_or_ended_asks_no_more_and_a_plan_outlives_its_call() -> None:
    state = asked(("bob", USER, ASKS), ("bob", LEAD, PLANS))
    for entry in (Began(calls=("bob:7.0", "bob:9.0")), Did(call="bob:7.0", text="withdrawn", ok=False)):
        after = open_questions.read_log(state, noted(entry, Did(call="bob:9.0", text="submitted", ok=True)))
        assert after.open(roster()) == (PLANNED,)


def test_who_left_asks_nothing_and_one_of_the_same_name_who_came_later_is_another() -> None:
    state = asked(("bob", USER, ASKS))
    assert state.open(roster(MemberLeft(name="bob", at=6.0))) == ()
    assert (
        state.open(roster_fold.fold(members.EMPTY, noted(TeamFounded(team="b", at=6.0), Joined(name="bob", at=7.0))))
        == ()
    )
    assert asked((LEAD, USER, ASKS)).open(roster()) != ()


def test_a_namesake_who_joined_since_asks_anew_under_the_same_id_and_again_after_a_crash_asks_once() -> None:
    now = roster_fold.fold(members.EMPTY, noted(TeamFounded(team="b", at=6.0), Joined(name="bob", at=7.0)))
    other = ASKS.model_copy(update={"arguments": {"command": "rm"}})
    mail = [
        *posted("bob", USER, ASKS),
        *posted("bob", USER, ASKS, 5.5),
        *posted("bob", USER, other, 8.0),
        *posted("bob", USER, other, 9.0),
    ]
    known = open_questions.read_mail(EMPTY, now, mail)
    assert [(one.arguments, one.at) for one in known.open(now)] == [({"command": "rm"}, 8.0)]
    # Read before it was known that somebody of that name had joined.
    early = open_questions.read_mail(EMPTY, roster(MemberLeft(name="bob", at=6.0)), mail[:3])
    assert [one.at for one in early.open(now)] == [8.0]
    assert len({one.key for one in (ASKED, *known.open(now))}) == 2


def test_what_is_over_is_not_kept_and_does_not_come_back() -> None:
    state = asked(("bob", USER, ASKS), ("bob", LEAD, PLANS))
    state = open_questions.read_log(state, noted(Did(call="bob:7.0", text="withdrawn", ok=False)))
    assert list(state.asked) == ["bob:9.0"]
    assert list(open_questions.read_mail(state, roster(), posted("bob", USER, ASKS, 6.0)).asked) == ["bob:9.0"]


def test_a_plan_is_open_also_where_the_end_of_its_call_was_read_first() -> None:
    state = open_questions.read_log(EMPTY, noted(Began(calls=("bob:9.0",)), Did(call="bob:9.0", text="submitted")))
    assert open_questions.read_mail(state, roster(), posted("bob", LEAD, PLANS)).open(roster()) == (PLANNED,)


def test_a_subagents_question_is_over_with_its_errand() -> None:
    ask = PermissionRequest(request_id="lead:5.0:3.1", tool="bash", arguments={}, reason="runs")
    state = asked(("lead:5.0", USER, ask))
    (question,) = state.open(roster())
    assert open_questions.journals(question) == {"log/lead:5.0": 3, "log/lead": 5}
    assert open_questions.read_log(state, noted(Began(calls=("lead:5.0",)))).open(roster()) == (question,)
    assert open_questions.read_log(state, noted(Did(call="lead:5.0", text="cut", ok=False))).open(roster()) == ()


def test_a_question_under_an_id_that_names_no_call_is_followed_from_the_beginning() -> None:
    for id_ in ("bob", "bob:x.1", "bob:²", "else", ""):
        question = Question(id_, "bob", 0.0, Shake.PLAN)
        assert open_questions.journals(question) == {"log/bob": 0}


def test_damage_and_what_is_no_mail_ask_nothing() -> None:
    items: list[Item] = [Damaged(1, "lost", "gone", "file:1"), Record(2, {"type": "odd"}), Record(3, {})]
    state = open_questions.read_mail(EMPTY, roster(), items)
    assert open_questions.read_log(state, items) == EMPTY
