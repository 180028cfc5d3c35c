"""The roster: what each event makes of it, what it refuses, and what damage does."""

from dataclasses import replace

import pytest

from deskmate.core.log.facts import Foreign
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.members import (
    EMPTY,
    Member,
    RosterState,
    recipient_refusal,
    refusal,
    who_is_here,
)
from deskmate.core.team.roster_fold import fold
from deskmate.core.team.roster_records import (
    KINDS,
    Event,
    Joined,
    MemberIdle,
    MemberLeft,
    MemberParked,
    MemberWaiting,
    MemberWorking,
    PolicySet,
    RosterLossAccepted,
    TeamFounded,
    parse_rule,
    read_event,
)
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working
from deskmate.errors import BadInput

NONE_SEEN: Seen[int] = Seen()

FOUNDED = TeamFounded(team="demo", description="REST to GraphQL", home="main", at=1.0)
LEAD = Member("lead", AgentKind.LEAD, AgentType.GENERAL, "lead", "", None, Idle(), 1, 1.0)


def records(*events: Event, after: int = 0) -> list[Record]:
    return [Record(number, event.body()) for number, event in enumerate(events, start=after + 1)]


def then(roster: RosterState, *events: Event) -> RosterState:
    """Return the roster after events that must all count."""
    after = fold(roster, records(*events, after=roster.number))
    assert after.skipped == roster.skipped
    return after


def joined(name: str, **fields: object) -> Joined:
    return Joined.model_validate({"name": name, "at": 2.0, **fields})


def lost(number: int) -> Damaged:
    return Damaged(number, "lost", f"roster.jsonl:{number}", "not a record, or its checksum is wrong")


TEAM = then(EMPTY, FOUNDED, joined("alice", role="backend"), joined("bob", agent_type="Explore"))


# -- joining --------------------------------------------------------------------------------------


def test_a_founded_team_has_its_lead_and_nobody_else() -> None:
    assert then(EMPTY, FOUNDED) == RosterState(
        team="demo", description="REST to GraphQL", home="main", founded=1.0, members={"lead": LEAD}, number=1
    )


def test_who_joins_has_all_that_was_said_of_it_and_works() -> None:
    event = joined(
        "alice",
        agent_type="Plan",
        role="backend",
        prompt="write the schema",
        model="scripted:one",
        mode="acceptEdits",
        launcher="process",
        isolation="worktree",
        cause="lead:3.0",
    )
    alice = Member(
        name="alice",
        kind=AgentKind.TEAMMATE,
        agent_type=AgentType.PLAN,
        role="backend",
        colour="cyan",
        joined=event,
        status=Working(),
        status_in=2,
        status_at=2.0,
        since=2,
        worked_in=2,
    )
    founded = then(EMPTY, FOUNDED)
    assert then(founded, event) == replace(
        founded,
        members={"lead": LEAD, "alice": alice},
        modes={"alice": Mode.ACCEPT_EDITS},
        causes=NONE_SEEN.put("lead:3.0", 2),
        number=2,
    )


@pytest.mark.behaviour("colours")
def test_colours_go_round_by_the_order_of_joining_those_who_left_counted() -> None:
    team = then(EMPTY, FOUNDED, *(joined(name) for name in "abcd"))
    team = then(team, MemberLeft(name="b", at=3.0), *(joined(name) for name in "efghijklmn"))
    colours = [member.colour for member in team.teammates]
    assert colours[:5] == ["cyan", "yellow", "magenta", "green", "blue"]
    assert (len(set(colours[:12])), colours[12:]) == (12, colours[:2])


def test_a_repeated_join_adds_nobody() -> None:
    event = joined("alice", cause="lead:3.0")
    once = then(EMPTY, FOUNDED, event)
    again = fold(once, records(joined("alice-2", cause="lead:3.0"), after=2))
    assert again == replace(once, number=3, skipped=("record 3: a repeat of lead:3.0",))


@pytest.mark.parametrize(
    ("team", "name", "words"),
    [
        (TEAM, "lead", "The member name 'lead' is reserved"),
        (TEAM, "user", "The member name 'user' is reserved"),
        (TEAM, "everyone", "The member name 'everyone' is reserved"),
        (TEAM, "alice", "The name 'alice' was used in this team before, and no name is used twice. Try 'alice-2'."),
        (then(TEAM, MemberLeft(name="alice", at=3.0)), "alice", "The name 'alice' was used in this team before"),
        (then(TEAM, joined("alice-2")), "alice", "Try 'alice-3'"),
        (then(TEAM, joined("alice-2")), "alice-2", "Try 'alice-2-2'"),
        (TEAM, "carol", None),
    ],
)
def test_a_name_is_never_used_twice_and_another_is_proposed(team: RosterState, name: str, words: str | None) -> None:
    why = refusal(team, joined(name))
    assert (why is None) if words is None else words in str(why)


@pytest.mark.parametrize("length", [58, 62, 63, 64])
def test_the_name_that_is_proposed_may_be_used(length: int) -> None:
    team = then(TEAM, joined("a" * length))
    for _ in range(12):
        proposed = str(refusal(team, joined("a" * length))).rpartition("Try '")[2].rstrip("'.")
        team = then(team, joined(proposed))
    assert len(team.teammates) == 15


def test_a_second_founding_is_refused_and_drops_nobody() -> None:
    second = TeamFounded(team="other", at=9.0)
    assert refusal(TEAM, second) == "Team 'demo' already exists. Continue with it, or choose another name."
    assert fold(TEAM, records(second, after=3)).members == TEAM.members


def test_whoever_joined_before_a_founding_is_not_dropped_by_it() -> None:
    # The first founding was lost: the stream goes on without it until someone founds the team again.
    team = fold(EMPTY, [lost(1), *records(joined("alice"), FOUNDED, after=1)])
    assert list(team.members) == ["lead", "alice"]
    assert team.members["alice"].here
    assert refusal(team, joined("alice")) is not None


# -- status ---------------------------------------------------------------------------------------

ALICE = TEAM.members["alice"]


@pytest.mark.parametrize(
    ("event", "after"),
    [
        (
            MemberWorking(name="alice", at=4.0),
            replace(ALICE, status=Working(), worked_in=4),
        ),
        (
            MemberIdle(name="alice", words="done", peers=("to bob: hi",), only_words=True, heard=7, at=4.0),
            replace(
                ALICE,
                status=Idle(),
                heard=7,
                words="done",
                peers=("to bob: hi",),
                reports=((4, "done"),),
            ),
        ),
        (
            MemberWaiting(name="alice", on="plan", heard=7, at=4.0),
            replace(ALICE, status=Waiting("plan"), heard=7),
        ),
        (
            MemberParked(name="alice", reason="budget", heard=7, at=4.0),
            replace(ALICE, status=Parked("budget"), heard=7),
        ),
        (
            MemberLeft(name="alice", reason="done", agreed=True, heard=7, at=4.0),
            replace(ALICE, status=Left("done", agreed=True), heard=7),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_status_says_what_since_when_by_which_record_and_how_much_was_heard(event: Event, after: Member) -> None:
    after = replace(after, status_in=4, status_at=4.0)
    assert then(TEAM, event) == replace(TEAM, members={**TEAM.members, "alice": after}, number=4)


def test_beginning_a_turn_keeps_how_much_was_heard() -> None:
    team = then(TEAM, MemberIdle(name="alice", heard=7, at=4.0), MemberWorking(name="alice", at=5.0))
    alice = team.members["alice"]
    assert (alice.status, alice.status_in, alice.status_at, alice.heard) == (Working(), 5, 5.0, 7)


def test_only_a_parked_member_has_a_word_to_wait_for() -> None:
    team = then(TEAM, MemberParked(name="alice", reason="cut", known=3, only_user=True, at=4.0))
    assert (team.members["alice"].known, team.members["alice"].only_user) == (3, True)
    team = then(team, MemberWorking(name="alice", at=5.0))
    assert (team.members["alice"].known, team.members["alice"].only_user) == (0, False)


def test_a_new_turn_keeps_the_last_words_until_there_are_others() -> None:
    team = then(
        TEAM, MemberIdle(name="alice", words="one", only_words=True, at=4.0), MemberWorking(name="alice", at=5.0)
    )
    assert (team.members["alice"].words, team.members["alice"].reports) == ("one", ((4, "one"),))
    team = then(team, MemberIdle(name="alice", at=6.0))
    assert (team.members["alice"].words, team.members["alice"].reports) == ("", ((4, "one"),))


STATUSES: list[Event] = [
    MemberWorking(name="alice", at=9.0),
    MemberIdle(name="alice", words="late", at=9.0),
    MemberWaiting(name="alice", on="retry", at=9.0),
    MemberParked(name="alice", reason="late", at=9.0),
    MemberLeft(name="alice", reason="again", agreed=True, heard=99, at=9.0),
]


@pytest.mark.parametrize("event", STATUSES, ids=lambda event: type(event).__name__)
def test_nothing_more_is_recorded_of_one_who_left(event: Event) -> None:
    gone = then(TEAM, MemberLeft(name="alice", reason="forced", heard=3, at=4.0))
    why = "'alice' has left. Nothing more is recorded about it."
    assert refusal(gone, event) == why
    assert fold(gone, records(event, after=4)) == replace(gone, number=5, skipped=(f"record 5: {why}",))


@pytest.mark.parametrize("event", STATUSES, ids=lambda event: type(event).__name__)
def test_nothing_is_recorded_of_one_who_never_joined(event: Event) -> None:
    stranger = event.model_copy(update={"name": "mallory"})
    assert refusal(TEAM, stranger) == "'mallory' is not on the roster. Only members have a status."


# -- who can be written to ------------------------------------------------------------------------


def test_whoever_is_here_can_be_written_to_and_the_user_always() -> None:
    team = then(TEAM, MemberLeft(name="alice", at=4.0))
    assert who_is_here(team) == "On the team: lead, bob, user."
    assert {name: team.here(name) for name in ("lead", "alice", "bob", "user", "mallory")} == {
        "lead": True,
        "alice": False,
        "bob": True,
        "user": True,
        "mallory": False,
    }
    assert recipient_refusal(team, "bob") is None
    assert recipient_refusal(team, "user") is None
    assert recipient_refusal(team, "alice") == "'alice' has left. On the team: lead, bob, user."
    assert recipient_refusal(team, "mallory") == "'mallory' is not on this team. On the team: lead, bob, user."


# -- policy ---------------------------------------------------------------------------------------


def policy(by: str = "user", **fields: object) -> PolicySet:
    return PolicySet.model_validate({"by": by, "at": 4.0, **fields})


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("by", ["alice", "bob", "mallory", "system"])
def test_only_lead_and_user_change_what_is_permitted(by: str) -> None:
    event = policy(by, mode="bypass", add_rules=["allow bash"], attended=True)
    after = fold(TEAM, records(event, after=3))
    note = f"record 4: '{by}' cannot change permissions. Ask the lead."
    assert after == replace(TEAM, number=4, skipped=(note,))


@pytest.mark.behaviour("permission")
def test_policy_changes_only_what_it_names() -> None:
    team = then(TEAM, policy(mode="acceptEdits", add_rules=["allow bash(ls *)", "deny write_file"], attended=True))
    ls, write = PermissionRule(Effect.ALLOW, "bash", "ls *"), PermissionRule(Effect.DENY, "write_file")
    assert team == replace(TEAM, mode=Mode.ACCEPT_EDITS, rules=(ls, write), attended=True, number=4)
    assert then(team, policy()) == replace(team, number=5)
    assert then(team, policy(attended=False)) == replace(team, attended=False, number=5)
    assert then(team, policy("lead", member="bob", mode="plan")) == replace(
        team, modes={"bob": Mode.PLAN}, before_plan={"bob": Mode.ACCEPT_EDITS}, number=5
    )
    assert then(team, policy(remove_rules=["allow bash(ls *)"])) == replace(team, rules=(write,), number=5)
    assert then(team, policy(add_rules=["deny write_file"])) == replace(team, number=5)
    assert then(team, policy(remove_rules=["deny write_file"], add_rules=["deny write_file"])).rules == (ls, write)


@pytest.mark.behaviour("plan")
def test_plan_mode_can_be_set_with_the_mode_that_follows_it() -> None:
    team = then(TEAM, policy(mode="acceptEdits"), policy(mode="plan", before_plan="default"))
    assert (team.mode, team.before_plan) == (Mode.PLAN, {"": Mode.DEFAULT})


def test_a_mode_of_ones_own_beats_the_mode_of_the_team() -> None:
    team = then(TEAM, policy(mode="dontAsk"), policy(member="bob", mode="plan"))
    assert (team.mode_of("alice"), team.mode_of("bob")) == (Mode.DONT_ASK, Mode.PLAN)
    assert then(TEAM, joined("carol", mode="bypass")).mode_of("carol") is Mode.BYPASS


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("allow bash", PermissionRule(Effect.ALLOW, "bash")),
        ("deny write_file(src/**)", PermissionRule(Effect.DENY, "write_file", "src/**")),
        ("ask bash(git push (now) *)", PermissionRule(Effect.ASK, "bash", "git push (now) *")),
        ("allow mcp__server__*", PermissionRule(Effect.ALLOW, "mcp__server__*")),
    ],
)
def test_a_rule_is_an_effect_and_a_tool(text: str, rule: PermissionRule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(f"{rule.effect} {rule}") == rule


@pytest.mark.parametrize(
    "text",
    [
        "",
        "allow",
        "allow ",
        "bash",
        "permit bash",
        "Allow bash",
        "allow  bash",
        "allow\nbash",
        "allow bash()",
        "deny x(",
    ],
)
def test_a_text_that_is_no_rule_is_refused_and_its_policy_is_kept_as_foreign(text: str) -> None:
    with pytest.raises(BadInput, match="is not a rule"):
        parse_rule(text)
    body = {"type": "policy_set", "by": "user", "at": 4.0, "mode": "bypass", "add_rules": ["allow bash", text]}
    assert isinstance(read_event(body), Foreign)
    after = fold(TEAM, [Record(4, body)])
    assert replace(after, skipped=()) == replace(TEAM, number=4)
    assert len(after.skipped) == 1


# -- what is lost or unknown ----------------------------------------------------------------------


def test_a_lost_record_is_tracked_until_a_person_accepts_it() -> None:
    broken = fold(TEAM, [lost(4), lost(6)])
    assert broken == replace(TEAM, number=6, damaged=frozenset({4, 6}))
    mended = fold(broken, records(RosterLossAccepted(number=4, at=5.0), after=6))
    assert mended == replace(TEAM, number=7, damaged=frozenset({6}))
    assert (
        refusal(mended, RosterLossAccepted(number=4, at=5.0))
        == "Record 4 of the roster is not damaged. There is nothing to accept."
    )


@pytest.mark.parametrize("by", ["lead", "alice", "system"])
def test_only_a_person_accepts_that_a_record_is_lost(by: str) -> None:
    broken = fold(TEAM, [lost(4)])
    event = RosterLossAccepted(by=by, number=4, at=5.0)
    assert refusal(broken, event) == "Only a person can accept the damage at record 4. Ask the user."
    assert fold(broken, records(event, after=4)).damaged == {4}


def test_a_torn_record_was_promised_to_nobody_and_is_no_damage() -> None:
    torn = Damaged(4, "torn", "roster.jsonl:4", "an append that never finished, fenced by the next writer")
    assert fold(TEAM, [torn]) == replace(TEAM, number=4)


@pytest.mark.behaviour("S4")
def test_an_unknown_kind_changes_nothing_and_is_noted() -> None:
    items: list[Item] = [Record(4, {"type": "member_promoted", "name": "bob"}), *records(joined("carol"), after=4)]
    after = fold(TEAM, items)
    expected = then(replace(TEAM, number=4), joined("carol"))
    assert after == replace(expected, skipped=("record 4: unknown kind 'member_promoted'",))


def test_only_the_last_twenty_notes_are_kept() -> None:
    after = fold(TEAM, [Record(number, {"type": "odd"}) for number in range(4, 54)])
    assert after.skipped == tuple(f"record {number}: unknown kind 'odd'" for number in range(34, 54))


@pytest.mark.parametrize("name", ["A lice", "al/ice", "", "../x", "alice\n", 5, None])
def test_a_name_is_checked_again_when_it_is_read_back(name: object) -> None:
    for kind in KINDS:
        if "name" in kind.model_fields:
            body = {"type": kind.model_fields["type"].default, "at": 1.0, "on": "plan", "reason": "", "name": name}
            assert isinstance(read_event(body), Foreign)
