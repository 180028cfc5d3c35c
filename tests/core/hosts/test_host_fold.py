"""What the records of hosts and placements come to."""

import pytest

from deskmate.core.hosts import host_fold
from deskmate.core.hosts.host_records import (
    HostCame,
    HostDraining,
    HostEvent,
    HostFreed,
    HostLeft,
    HostTook,
    TeamCalled,
    TeamDropped,
    limits_of,
    parse_labels,
)
from deskmate.core.hosts.host_texts import no_host_text, with_hosts
from deskmate.core.hosts.placement import SeenHost, Wish, is_active, seen_hosts
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.core.team import members, roster_fold
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import RosterState, refusal
from deskmate.core.team.roster_records import (
    Event,
    Joined,
    MemberLeft,
    MemberPlaced,
    MemberRecalled,
    MemberReturned,
    TeamFounded,
)
from deskmate.errors import BadInput, BadName

GPU1 = HostCame(name="gpu1", labels=("gpu",), slots=2, machine="node", at=0)
CALLED = TeamCalled(team="demo", at=0)


def hosts_of(*events: HostEvent) -> host_fold.HostsState:
    return host_fold.fold(host_fold.EMPTY, [Record(number, one.body()) for number, one in enumerate(events, 1)])


def roster_of(*events: Event) -> RosterState:
    first: list[Event] = [TeamFounded(team="demo", at=0), Joined(name="bob", launcher="host", first_host="gpu1", at=0)]
    return roster_fold.fold(
        members.EMPTY, [Record(number, one.body()) for number, one in enumerate([*first, *events], 1)]
    )


def took(member: str) -> HostTook:
    return HostTook(name="gpu1", member=member, at=0)


# -- hosts ----------------------------------------------------------------------------------------


def test_a_host_runs_what_it_took_and_has_not_freed() -> None:
    state = hosts_of(GPU1, took("bob@demo"), took("eve@demo"), HostFreed(name="gpu1", member="eve@demo", at=0))
    assert seen_hosts(state, {"gpu1"}) == [
        SeenHost("gpu1", frozenset({"gpu"}), 2, "up", frozenset({"bob@demo"}), None, "node")
    ]


def test_a_host_that_came_again_runs_nothing() -> None:
    assert hosts_of(GPU1, took("bob@demo"), HostDraining(name="gpu1", at=0), GPU1).hosts["gpu1"].members == set()


def test_a_host_is_up_draining_or_lost_until_it_left() -> None:
    draining = hosts_of(GPU1, HostDraining(name="gpu1", at=0))
    found = [seen_hosts(hosts_of(GPU1), {"gpu1"}), seen_hosts(draining, {"gpu1"}), seen_hosts(draining, set())]
    assert [one.state for (one,) in found] == ["up", "draining", "lost"]
    assert seen_hosts(hosts_of(GPU1, HostLeft(name="gpu1", at=0)), {"gpu1"}) == []


def test_records_of_a_host_that_is_not_there_and_damage_have_no_effect() -> None:
    state = host_fold.fold(hosts_of(took("bob@demo")), [Damaged(2, "lost", "x", "y"), Record(3, {"type": "unknown"})])
    assert (state.hosts, state.number) == ({}, 3)


def test_a_team_is_called_until_a_host_drops_it() -> None:
    dropped = TeamDropped(name="gpu1", team="demo", at=0)
    assert [*hosts_of(CALLED).calls] == ["demo"]
    assert [*hosts_of(CALLED, dropped).calls] == []
    assert hosts_of(CALLED, dropped, CALLED).calls["demo"].number == 3


# -- placements -----------------------------------------------------------------------------------


def test_who_is_placed_on_a_host_uses_a_slot_before_it_runs() -> None:
    state = hosts_of(GPU1)
    for roster in (roster_of(), roster_of(MemberPlaced(name="bob", host="gpu1", at=0))):
        (host,) = seen_hosts(state, {"gpu1"}, [roster])
        assert (host.members, host.free) == ({"bob@demo"}, 1)


def test_who_was_returned_recalled_and_ended_or_has_left_uses_none() -> None:
    placed = MemberPlaced(name="bob", host="gpu1", at=0)
    for ended in (MemberReturned(name="bob", placed=3, at=0), MemberLeft(name="bob", at=0)):
        roster = roster_of(placed, ended)
        assert not is_active(roster.members["bob"])
        assert seen_hosts(hosts_of(GPU1), {"gpu1"}, [roster])[0].free == 2


def test_a_host_that_was_cut_off_cannot_return_who_was_placed_elsewhere() -> None:
    there, elsewhere = MemberPlaced(name="bob", host="gpu1", at=0), MemberPlaced(name="bob", host="gpu2", at=0)
    late = MemberReturned(name="bob", placed=3, error="cut off", at=0)
    roster = roster_of(there, elsewhere)
    assert refusal(roster, late)
    assert refusal(roster_of(there, late), late)
    assert roster_of(there, elsewhere, late).members["bob"] == roster.members["bob"]


def test_a_recalled_teammate_is_returned_and_placed_again() -> None:
    recalled = roster_of(MemberPlaced(name="bob", host="gpu1", at=0), MemberRecalled(name="bob", at=0))
    assert not is_active(recalled.members["bob"])
    returned = MemberReturned(name="bob", placed=3, at=0)
    assert refusal(recalled, returned) is None
    again = roster_fold.fold(
        recalled, [Record(5, returned.body()), Record(6, MemberPlaced(name="bob", host="gpu1", at=0).body())]
    )
    assert is_active(again.members["bob"])


@pytest.mark.parametrize("late", [MemberPlaced(name="bob", host="gpu1", at=0), MemberRecalled(name="bob", at=0)])
def test_nobody_is_placed_after_leaving(late: Event) -> None:
    assert refusal(roster_of(MemberLeft(name="bob", at=0)), late)


# -- words ----------------------------------------------------------------------------------------


def test_a_model_is_told_which_hosts_there_are_if_none_fits() -> None:
    seen = seen_hosts(hosts_of(GPU1, took("bob@demo")), {"gpu1"})
    text = no_host_text(seen, Wish("", frozenset({"tpu"})))
    assert "labels tpu" in text
    assert "gpu1 (gpu; 1 of 2 slots free)" in text
    assert "Hosts: none" in no_host_text([], Wish("gpu1"))


def test_only_the_schema_of_the_tool_says_where_teammates_can_run() -> None:
    spec = ToolSpec("Task", "Start.", {"type": "object", "properties": {"prompt": {"type": "string"}}})
    told = with_hosts(spec, seen_hosts(hosts_of(GPU1), {"gpu1"}))
    assert [*told.schema["properties"]] == ["prompt", "host", "labels"]
    assert "gpu1 (gpu)" in told.schema["properties"]["host"]["description"]


def test_labels_are_names_once_each() -> None:
    assert parse_labels(" gpu, linux,,gpu ") == ("gpu", "linux")
    with pytest.raises(BadName):
        parse_labels("a b")
    with pytest.raises(BadInput):
        parse_labels(",".join(f"l{number}" for number in range(21)))


def test_the_limits_of_a_lead_have_the_names_of_settings() -> None:
    assert limits_of(Caps(cost=2.5, seconds=60, members=3)) == {"max_cost": 2.5, "max_time": 60, "max_steps": 200}


def test_reading_in_parts_comes_to_the_same() -> None:
    items: list[Item] = [Record(number, one.body()) for number, one in enumerate([GPU1, took("a@t"), took("b@t")], 1)]
    whole = host_fold.fold(host_fold.EMPTY, items)
    for cut in range(len(items) + 1):
        assert host_fold.fold(host_fold.fold(host_fold.EMPTY, items[:cut]), items[cut:]) == whole
