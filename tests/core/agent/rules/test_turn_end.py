"""A turn of a session is over when nobody will do anything by itself any more."""

from dataclasses import replace

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Said
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.rules.quiet import turn_is_over
from deskmate.core.log.facts import Fact
from deskmate.core.log.names import LEAD
from deskmate.core.team import roster_records
from tests.core.simulated_team import SimulatedTeam, add_task

TEAM = ("alice", "bob", "carol")


def lead_at_rest() -> SimulatedTeam:
    """Return a lead that was told of its quiet team and has come to rest."""
    world = SimulatedTeam(LEAD)
    world.record(Said())
    for name in TEAM:
        world.note(roster_records.MemberIdle(name=name, at=0))
    for _ in range(2):
        world.step()
    assert decide(world.view) == Rest()
    return world


def test_it_is_over_when_the_whole_team_is_idle_and_the_lead_knows_it() -> None:
    assert turn_is_over(lead_at_rest().view)


def test_it_is_over_for_a_lead_whose_teammates_have_left() -> None:
    world = lead_at_rest()
    for name in TEAM:
        world.note(roster_records.MemberLeft(name=name, reason="done", agreed=True, at=0))
    assert turn_is_over(world.view)


@pytest.mark.parametrize(
    ("event", "over"),
    [
        (roster_records.MemberParked(name="bob", reason="money", at=0), True),
        (roster_records.MemberWaiting(name="bob", on="permission", at=0), True),
        (roster_records.MemberWaiting(name="bob", on="plan", at=0), True),
        (roster_records.MemberWaiting(name="bob", on="background", at=0), False),
        (roster_records.MemberWorking(name="bob", at=0), False),
    ],
)
def test_who_waits_for_a_person_does_not_hold_it_up_and_who_works_does(event: Fact, over: bool) -> None:
    world = lead_at_rest()
    world.note(event)
    assert turn_is_over(world.view) is over


@pytest.mark.parametrize("asks", [False, True])
def test_it_is_not_over_while_a_teammate_starts_or_has_mail(asks: bool) -> None:
    world = lead_at_rest()
    if asks:
        world.note(roster_records.MemberWaiting(name="bob", on="permission", at=0))
    bob = frozenset({"bob"})
    assert not turn_is_over(replace(world.view, unheard=bob))
    assert not turn_is_over(replace(world.view, starting=bob))


def test_it_is_not_over_while_a_teammate_can_take_a_task() -> None:
    world = lead_at_rest()
    add_task(world)
    assert not turn_is_over(world.view)


def test_it_is_not_over_before_the_lead_was_told_what_a_teammate_said() -> None:
    world = lead_at_rest()
    world.note(roster_records.MemberWorking(name="bob", at=0))
    world.note(roster_records.MemberIdle(name="bob", words="The tests pass.", only_words=True, at=0))
    world.note(roster_records.MemberWaiting(name="alice", on="permission", at=0))
    assert not turn_is_over(world.view)
