"""What holds of every roster, whatever was written to its stream and whatever was lost from it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import RESERVED
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import COLOURS
from deskmate.core.team.members import EMPTY, Member, RosterState, refusal
from deskmate.core.team.roster_fold import fold
from deskmate.core.team.roster_records import (
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
    read_event,
)

names = st.sampled_from(["alice", "bob", "carol", "user", "lead", "all"])
numbers = st.integers(0, 30)
early_numbers = st.integers(1, 8)
times = st.just(1.0)
rules = st.lists(st.sampled_from(["allow bash", "deny bash", "ask write_file(src/**)"]), max_size=2).map(tuple)
causes = st.none() | st.sampled_from(["lead:1.0", "lead:2.0", "lead:3.1"])
modes = st.none() | st.sampled_from(Mode)

events: st.SearchStrategy[Event] = st.one_of(
    st.builds(TeamFounded, team=st.sampled_from(["demo", "other"]), at=times),
    st.builds(Joined, name=names, at=times, mode=modes, cause=causes),
    st.builds(MemberWorking, name=names, at=times),
    st.builds(MemberIdle, name=names, words=st.sampled_from(["", "done"]), heard=numbers, at=times),
    st.builds(MemberWaiting, name=names, on=st.sampled_from(["permission", "plan"]), heard=numbers, at=times),
    st.builds(MemberParked, name=names, reason=st.just("budget"), heard=numbers, at=times),
    st.builds(MemberLeft, name=names, agreed=st.booleans(), heard=numbers, at=times),
    st.builds(
        PolicySet,
        by=names,
        member=st.none() | names,
        mode=modes,
        add_rules=rules,
        remove_rules=rules,
        attended=st.none() | st.booleans(),
        at=times,
    ),
    st.builds(RosterLossAccepted, by=names, number=early_numbers, at=times),
)
bodies: st.SearchStrategy[dict[str, Any]] = st.one_of(
    events.map(lambda event: event.body()),
    st.just({"type": "member_promoted", "name": "bob"}),
    st.just({"type": "member_joined", "name": "Not A Name", "at": 1.0}),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Item]:
    """Items with growing numbers, some of them damage; the first may be the founding, or be lost."""
    items: list[Item] = []
    number = 0
    rest = draw(st.lists(bodies | st.sampled_from(["torn", "lost"]), min_size=3, max_size=25))
    for body in [draw(st.just(TeamFounded(team="demo", at=1.0).body()) | st.just("lost")), *rest]:
        number += draw(st.sampled_from([1, 1, 1, 2]))
        if isinstance(body, dict):
            items.append(Record(number, body))
        else:
            items.append(Damaged(number, "torn" if body == "torn" else "lost", f"roster.jsonl:{number}", "no record"))
    return items


def steps(items: list[Item]) -> list[tuple[RosterState, Item, RosterState]]:
    """Return each item with the roster before and after it."""
    found, before = [], EMPTY
    for item in items:
        after = fold(before, [item])
        found.append((before, item, after))
        before = after
    return found


def silent(roster: RosterState) -> RosterState:
    """Return a roster without what every item changes: how far it has come and what it noted."""
    return replace(roster, number=0, skipped=())


@given(histories())
def test_a_part_folded_first_and_the_rest_after_it_make_the_same_roster(items: list[Item]) -> None:
    whole = fold(EMPTY, items)
    for cut in range(len(items) + 1):
        assert fold(fold(EMPTY, items[:cut]), items[cut:]) == whole


@given(histories())
def test_what_is_refused_changes_nothing_but_is_noted(items: list[Item]) -> None:
    for before, item, after in steps(items):
        assert after.number == item.number
        if isinstance(item, Record):
            event = read_event(item.body)
            if isinstance(event, Foreign) or refusal(before, event):
                assert silent(after) == silent(before)
                assert after.skipped[-1].startswith(f"record {item.number}: ")


@given(histories())
def test_a_name_once_on_the_roster_stays_and_is_never_given_to_another(items: list[Item]) -> None:
    first: dict[str, Joined | None] = {}
    for _, _, after in steps(items):
        assert first.keys() <= after.members.keys()
        for name, member in after.members.items():
            assert first.setdefault(name, member.joined) == member.joined
        assert RESERVED & after.members.keys() <= {"lead"}


@given(histories())
def test_one_who_left_stays_exactly_as_it_left(items: list[Item]) -> None:
    gone: dict[str, Member] = {}
    for _, _, after in steps(items):
        for name, member in after.members.items():
            if not member.here:
                assert gone.setdefault(name, member) == member
        assert not any(after.members[name].here for name in gone)


@pytest.mark.behaviour("colours")
@given(histories())
def test_colours_follow_the_order_of_joining(items: list[Item]) -> None:
    colours = [member.colour for member in fold(EMPTY, items).teammates]
    assert colours == [COLOURS[index % len(COLOURS)] for index in range(len(colours))]


@given(histories())
def test_damage_is_what_was_lost_and_no_person_accepted(items: list[Item]) -> None:
    open_: set[int] = set()
    for _, item, after in steps(items):
        if isinstance(item, Damaged):
            open_ |= {item.number} if item.kind == "lost" else set()
        elif item.body.get("type") == "accepted" and item.body.get("by") == "user":
            open_.discard(int(str(item.body["number"])))
        assert after.damaged == open_


@pytest.mark.behaviour("permission")
@given(histories())
def test_what_is_permitted_changes_only_by_lead_user_or_joining(items: list[Item]) -> None:
    for before, item, after in steps(items):
        if (after.mode, after.rules, after.attended, after.modes) != (
            before.mode,
            before.rules,
            before.attended,
            before.modes,
        ):
            assert isinstance(item, Record)
            event = read_event(item.body)
            assert isinstance(event, Joined | PolicySet)
            assert isinstance(event, Joined) or event.by in ("lead", "user")


@given(events)
def test_every_event_comes_back_whole_from_its_record(event: Event) -> None:
    assert read_event(event.body()) == event
