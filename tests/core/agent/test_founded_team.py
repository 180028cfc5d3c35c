"""A lead in a team it founded, and back at home: what it is told, what it forgets, what it keeps."""

from dataclasses import replace

import pytest

from deskmate.core.agent.actions import Notice, Rest
from deskmate.core.agent.entries import (
    Did,
    Heard,
    Noticed,
    Nudged,
    Opened,
    PermissionAsked,
    Reported,
    Said,
    Started,
    Took,
)
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.notices import moved_text
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.view import View
from deskmate.core.log.names import box
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Record
from deskmate.core.prompt.prompts import Usage
from deskmate.core.team.handshakes import OpenRequest, Shake
from deskmate.core.team.members import EMPTY as NOBODY
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Envelope, Plain, ShutdownRequest
from deskmate.core.team.roster_fold import fold
from deskmate.core.team.roster_records import Joined, TeamFounded
from deskmate.core.team.spending import Spending, Sum, together
from deskmate.core.team.tasks import EMPTY as NO_TASKS

pytestmark = pytest.mark.behaviour("team-create")


def roster(team: str, home: str | None = None) -> RosterState:
    events = (TeamFounded(team=team, home=home, at=1.0), Joined(name="bob", at=2.0))
    return fold(NOBODY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


HOME, WEB = roster("main"), roster("web", home="main")


def after(*entries: object, memory: Memory = EMPTY) -> Memory:
    for entry in entries:
        memory = remember(memory, memory.number + 1, entry)  # type: ignore[arg-type]
    return memory


def letter(id_: str, sender: str, at: str) -> Heard:
    envelope = Envelope(id_, sender, "lead", 1.0, Plain(content="hi"))
    return Heard(box=at, after=0, upto=1, mail=(envelope.body(),))


# -- being told -------------------------------------------------------------------------------------


def view(of: RosterState, memory: Memory, name: str = "lead") -> View:
    return View(me=of.members[name], memory=memory, board=NO_TASKS, roster=of)


def test_a_lead_takes_in_that_it_works_in_another_team_before_anything_else_and_once() -> None:
    fresh = after(Started(name="lead", prompt="go"), Said(calls=()))
    assert decide(view(WEB, fresh)) == Notice(away="web")
    there = after(Noticed(text="", away="web"), memory=fresh)
    assert decide(view(WEB, there)) == Rest()
    assert decide(view(HOME, there)) == Notice(away="")
    assert decide(view(HOME, after(Noticed(text="", away=""), memory=there))) == Rest()


def test_a_lead_that_never_left_home_and_a_teammate_in_a_named_team_are_told_nothing_of_it() -> None:
    assert decide(view(HOME, after(Started(name="lead")))) == Rest()
    assert decide(view(WEB, after(Started(name="bob")), "bob")) == Rest()


def test_being_told_wakes_nobody_and_takes_no_answer_away() -> None:
    for owed in (False, True):
        memory = after(Noticed(text="", away="web"), memory=replace(EMPTY, owed=owed))
        assert memory.owed is owed


def test_the_words_name_the_team() -> None:
    assert moved_text(WEB) == (
        "You lead team 'web' now. Task, SendMessage and the task tools act on this team until you close it with "
        "TeamDelete."
    )
    assert moved_text(HOME) == "You are back in team 'main', your own team."


# -- what is known of the old team ------------------------------------------------------------------


def test_what_was_known_of_board_members_and_mail_of_the_old_team_is_forgotten_and_the_rest_kept() -> None:
    before = after(
        Started(name="lead", prompt="go"),
        letter("user:1", "user", "mail/lead"),
        Took(task=1, epoch=1, text=""),
        Nudged(task=1, epoch=1),
        Reported(task=1, epoch=1),
        Said(calls=()),
        Did(call="lead:6.0", text="", opened=Opened(request_id="lead:6.0", shake=Shake.SHUTDOWN, asked="bob")),
        PermissionAsked(call="lead:6.1", request_id="lead:6.1"),
        Noticed(text="", roster=40, board=9),
    )
    there = after(Noticed(text="", away="web", roster=3, board=0), memory=before)
    assert there == replace(
        before,
        number=before.number + 1,
        away="web",
        noticed=(3, 0),
        ids=Seen(),
        requests={"lead:6.1": OpenRequest("lead:6.1", Shake.PERMISSION, "user")},
        leaving=frozenset(),
        tasks={},
        nudged=frozenset(),
        reported=frozenset(),
        read=frozenset(),
        informed=False,
        home=before.without_own(),
    )
    back = after(Noticed(text="", away=""), memory=there)
    assert back == replace(before, number=back.number)


def test_each_of_its_two_mailboxes_has_a_cursor_and_that_of_a_closed_team_ends_with_it() -> None:
    there = after(
        letter("user:1", "user", "mail/lead"), Noticed(text="", away="web"), letter("bob:4.0", "bob", "mail/lead@web")
    )
    assert there.cursors == {"mail/lead": 1, "mail/lead@web": 1}
    back = after(Noticed(text="", away=""), memory=there)
    assert back.cursors == {"mail/lead": 1}


def test_another_bob_may_use_the_ids_of_the_first_one() -> None:
    heard = letter("bob:4.0", "bob", "mail/lead@web")
    memory = after(Noticed(text="", away="web"), heard, Said(calls=()), Noticed(text="", away=""))
    again = after(Noticed(text="", away="web"), heard, memory=memory)
    assert (memory.owed, again.owed) == (False, True)


def test_what_was_heard_before_the_lead_was_told_of_the_move_is_not_heard_again() -> None:
    memory = after(letter("bob:4.0", "bob", "mail/lead@web"), Noticed(text="", away="web"))
    assert memory.cursors == {"mail/lead@web": 1}


@pytest.mark.parametrize(
    ("member", "away", "expected"),
    [("lead", "", "mail/lead"), ("lead", "web", "mail/lead@web"), ("bob", "web", "mail/bob")],
)
def test_only_a_lead_away_from_home_has_a_mailbox_of_another_name(member: str, away: str, expected: str) -> None:
    assert box(member, away) == expected


# -- what cannot be refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "force", "expected"), [("lead", True, {"r1"}), ("lead", None, ()), ("eve", True, ())]
)
def test_a_demand_is_forced_only_where_who_is_in_charge_says_so(
    sender: str, force: bool | None, expected: set[str]
) -> None:
    envelope = Envelope("x", sender, "bob", 1.0, ShutdownRequest(request_id="r1", force=force))
    memory = after(Heard(box="mail/bob", after=0, upto=1, mail=(envelope.body(),)))
    assert memory.forced == frozenset(expected)


# -- what was spent ---------------------------------------------------------------------------------


def test_what_was_spent_elsewhere_counts_for_team_and_lead_and_for_no_other_member() -> None:
    one = Sum(1, Usage(10, 1, 2, 3), 0.5, 1)
    here = Spending(one, {"lead": one, "bob": one}, number=7)
    elsewhere = Spending(one, {"lead": one, "lead:3.0": one, "bob": one}, number=99)
    two = Sum(2, Usage(20, 2, 4, 6), 1.0, 2)
    assert together(here, elsewhere) == Spending(two, {"lead": two, "bob": one, "lead:3.0": one}, number=7)
    assert together(here, Spending()) == here
