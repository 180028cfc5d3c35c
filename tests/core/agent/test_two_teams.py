"""A lead that leads a named team while its home goes on: what it knows of each, what wakes it, how its run ends."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from deskmate.core.agent.actions import Dismiss, EndRun, Notice, RemindOfTeam, Rest, SeeOff
from deskmate.core.agent.entries import Answered, Did, Entry, Heard, Noticed, Opened, Said, Started
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.notices import home_digest, moved_text, reminder_text
from deskmate.core.agent.rules.decide import WORDS, decide
from deskmate.core.agent.rules.end_of_run import end_of_run
from deskmate.core.agent.rules.quiet import turn_is_over
from deskmate.core.agent.view import View
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Record
from deskmate.core.prompt.compaction import summary_text
from deskmate.core.prompt.rendering import passages
from deskmate.core.team.handshakes import OpenRequest, Shake
from deskmate.core.team.members import EMPTY as NOBODY
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Envelope, Message, Plain, PlanRequest, ShutdownResponse
from deskmate.core.team.roster_fold import fold
from deskmate.core.team.roster_records import (
    Event,
    Joined,
    MemberIdle,
    MemberLeft,
    MemberParked,
    MemberWorking,
    TeamFounded,
)
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from tests.texts.golden import compare

pytestmark = pytest.mark.behaviour("two-teams")

AWAY = Noticed(text="", away="web", roster=3)
BACK = Noticed(text="", away="", roster=9)


def roster(team: str, *events: Event, home: str | None = None) -> RosterState:
    begun = (TeamFounded(team=team, home=home, at=1.0), Joined(name="alice", role="dev", at=2.0, cause="lead:1.0"))
    return fold(NOBODY, [Record(number, event.body()) for number, event in enumerate((*begun, *events), 1)])


IDLE = MemberIdle(name="alice", at=3.0)
WEB = roster("web", MemberLeft(name="alice", agreed=True, at=3.0), home="main")


def after(*entries: Entry, memory: Memory = EMPTY) -> Memory:
    for entry in entries:
        memory = remember(memory, memory.number + 1, entry)
    return memory


def heard(message: Message, *, team: str | None = None, sender: str = "alice", id_: str = "alice:7.0") -> Heard:
    envelope = Envelope(id_, sender, LEAD, 1.0, message)
    box = "mail/lead@web" if team is None else "mail/lead"
    return Heard(box=box, after=0, upto=1, mail=(envelope.body(),), team=team)


def away(*entries: Entry) -> Memory:
    """Return what a lead knows that rests in its named team, after these entries."""
    return after(Started(name=LEAD, prompt="go"), Noticed(text="", roster=2), AWAY, Said(text="I rest."), *entries)


def view(memory: Memory, home: RosterState, web: RosterState = WEB, words: float | None = None) -> View:
    known, waited = memory.in_team("main"), {} if words is None else {WORDS: words}
    at_home = View(me=home.members[LEAD], memory=known, board=NO_TASKS, roster=home, waited=waited)
    return View(me=web.members[LEAD], memory=memory, board=NO_TASKS, roster=web, ends_at_rest=True, home=at_home)


# -- what it knows ------------------------------------------------------------------------------------


def test_the_same_id_in_both_teams_is_two_messages_and_two_plans() -> None:
    plan = PlanRequest(request_id="alice:7.0", content="1. parse")
    memory = away(heard(plan), heard(plan, team="main"), heard(plan, team="main"))
    assert ([*memory.plans], [*memory.in_team("main").plans]) == (["alice"], ["alice"])
    answered = Did(call="lead:5.0", text="", answered=Answered(request_id="alice:7.0", approve=True), team="main")
    memory = after(answered, memory=memory)
    assert ([*memory.plans], [*memory.in_team("main").plans]) == (["alice"], [])
    texts = [
        block.text
        for part in passages([(1, heard(plan)), (2, heard(plan, team="main"))], LEAD)
        for block in part.blocks
    ]
    assert ['sender="alice"' in text for text in texts] == [True, False]
    assert 'recipient="alice@main"' in texts[1]


def test_a_request_to_a_member_of_the_home_stays_open_until_the_home_answers_it_also_after_coming_back() -> None:
    opened = Opened(request_id="lead:5.0", shake=Shake.SHUTDOWN, asked="alice")
    asked = away(Did(call="lead:5.0", text="", opened=opened, team="main"))
    no = ShutdownResponse(request_id="lead:5.0", approve=False, content="busy")
    expected = {"lead:5.0": OpenRequest("lead:5.0", Shake.SHUTDOWN, "alice")}
    assert (asked.requests, asked.in_team("main").requests) == ({}, expected)
    # A namesake in the named team cannot answer it.
    assert after(heard(no), memory=asked).in_team("main").requests == expected
    refused = after(heard(no, team="main"), memory=asked)
    assert (refused.in_team("main").requests, refused.owed) == ({}, True)
    assert after(BACK, memory=asked).requests == expected


def test_the_user_s_words_count_for_both_teams() -> None:
    memory = away(Noticed(text="", quiet=True, roster=4, home=5), Noticed(text="", dismissed=("bob", "alice@main")))
    home = memory.in_team("main")
    assert (memory.reminded, home.reminded, memory.dismissed, home.dismissed) == (
        4,
        5,
        frozenset({"bob"}),
        frozenset({"alice"}),
    )
    memory = after(heard(Plain(content="go on"), team="main", sender=USER, id_="user:1"), memory=memory)
    home = memory.in_team("main")
    assert (memory.reminded, home.reminded, memory.dismissed, home.dismissed) == (None, None, frozenset(), frozenset())


# -- what wakes it --------------------------------------------------------------------------------------

WAKES: Mapping[str, tuple[Event, bool]] = {
    "a member of the home is parked": (MemberParked(name="alice", reason="context", at=3.0), True),
    "one left without being asked": (MemberLeft(name="alice", reason="failed", at=3.0), True),
    "the home is quiet": (IDLE, True),
    "one works": (MemberWorking(name="alice", at=3.0), False),
}


@pytest.mark.behaviour("digest")
@pytest.mark.parametrize("what", WAKES)
def test_the_same_news_wakes_a_lead_in_either_team_and_once(what: str) -> None:
    event, wakes = WAKES[what]
    memory, home = away(), roster("main", event)
    assert decide(view(memory, home)) == (Notice(team="main") if wakes else Rest())
    told = after(Noticed(text="", roster=home.number, team="main"), Said(text="I see."), memory=memory)
    assert decide(view(told, home)) == Rest()


@pytest.mark.behaviour("digest")
def test_words_of_a_member_of_the_home_wake_the_lead_after_a_moment() -> None:
    others = (Joined(name="bob", at=2.5), MemberIdle(name="alice", words="Done.", only_words=True, at=3.0))
    home = roster("main", *others)
    assert decide(view(away(), home)) == Rest()
    assert decide(view(away(), home, words=2.0)) == Notice(team="main")


@pytest.mark.behaviour("digest")
def test_news_of_both_teams_comes_before_the_answer_and_each_once() -> None:
    home, web = roster("main", IDLE), roster("web", Joined(name="bob", at=2.5), IDLE, home="main")
    memory = away(heard(Plain(content="hello")))
    assert decide(view(memory, home, web)) == Notice()
    memory = after(Noticed(text="", roster=web.number), memory=memory)
    assert decide(view(memory, home, web)) == Notice(team="main")
    memory = after(Noticed(text="", roster=home.number, team="main"), memory=memory)
    assert not isinstance(decide(view(memory, home, web)), Notice)


# -- how a run ends -------------------------------------------------------------------------------------


@pytest.mark.behaviour("headless")
def test_a_run_waits_for_both_teams_reminds_of_both_dismisses_both_and_sees_both_off() -> None:
    working, home, web = roster("main"), roster("main", IDLE), roster("web", IDLE, home="main")
    memory = away(Noticed(text="", roster=3), Noticed(text="", roster=3, team="main"), Said(text="I rest."))
    assert end_of_run(view(memory, working, web), Rest(), 1e9) == Rest()
    assert not turn_is_over(view(memory, working, web))
    assert turn_is_over(view(memory, home, web))
    reminder = end_of_run(view(memory, home, web), Rest(), 1e9)
    assert reminder == RemindOfTeam(3, 0, 3)
    memory = after(Noticed(text="", quiet=True, roster=3, home=3), Said(text="Yes."), memory=memory)
    dismissed = Dismiss(("alice", "alice@main"))
    assert end_of_run(view(memory, home, web), Rest(), 1e9) == dismissed
    memory = after(Noticed(text="", dismissed=dismissed.members), memory=memory)
    gone = MemberLeft(name="alice", agreed=True, at=4.0)
    assert decide(view(memory, home, roster("web", IDLE, gone, home="main"))) == SeeOff()
    last = view(
        after(Said(text="Bye."), memory=memory), roster("main", IDLE, gone), roster("web", IDLE, gone, home="main")
    )
    assert end_of_run(last, Rest(), 1e9) == EndRun(Rest().status)


@pytest.mark.behaviour("headless")
def test_a_run_ends_with_its_home_alone_in_the_same_way() -> None:
    home = roster("main", IDLE)
    memory = away(Noticed(text="", roster=3, team="main"), Said(text="I rest."))
    assert end_of_run(view(memory, home), Rest(), 1e9) == RemindOfTeam(3, 0, 3)


# -- the texts ------------------------------------------------------------------------------------------


def test_what_a_lead_reads_of_its_home() -> None:
    home = roster("main", Joined(name="bob", at=2.5), MemberIdle(name="alice", words="Done.", at=3.0))
    plan = PlanRequest(request_id="alice:7.0", content="1. parse\n2. test")
    opened = Opened(request_id="lead:5.0", shake=Shake.SHUTDOWN, asked="bob")
    memory = away(heard(plan, team="main"), Did(call="lead:5.0", text="", opened=opened, team="main"))
    parked = replace(home, members={**home.members, "bob": replace(home.members["bob"], held=True)})
    told = {
        "it leads another team": moved_text(WEB, home),
        "news": home_digest(roster("main", MemberParked(name="alice", reason="context", at=3.0)), NO_TASKS, (2, 0)),
        "both teams are idle": reminder_text(roster("web", home="main"), home),
        "only the home is left": reminder_text(WEB, home),
        "a summary": summary_text("(the model's summary)", memory, [], NO_TASKS, WEB, parked),
    }
    compare("notices/home", "\n\n".join(f"-- {title}\n{words}" for title, words in told.items()))
