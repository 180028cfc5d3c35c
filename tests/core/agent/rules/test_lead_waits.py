"""A lead that waits for a teammate at rest waits for something, and one that does not wait misses nothing.

If it waited for nothing, a run without a person would never end. If it did not wait for something, the run would end
with that undone.
"""

import os
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

import pytest

from deskmate.core.agent import inbox
from deskmate.core.agent.actions import Nudge, Park, Report, Rest, Stop, Take, Think
from deskmate.core.agent.memory import EMPTY
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.rules.quiet import quiet
from deskmate.core.agent.view import View
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.team import members, roster_records
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    Message,
    PermissionResponse,
    Plain,
    PlanResponse,
    ShutdownRequest,
)
from deskmate.core.team.status import Idle, Parked, Resting, Waiting
from deskmate.core.team.tasks import in_progress_of
from tests.core.simulated_team import SimulatedTeam, add_task, idle

Letter: TypeAlias = tuple[str, Message]
LIVES = 20_000 if os.environ.get("DESKMATE_SOAK") else 400


def show(world: SimulatedTeam, rest: Rest) -> None:
    """Show on the roster that the teammate rests, as the runtime does."""
    match rest.status:
        case Idle():
            unfinished = tuple((task.id, task.epoch) for task in in_progress_of(world.board, world.me))
            held = world.memory.interrupted or None
            heard = world.letters
            plans = world.memory.owes_plan or None
            world.note(
                roster_records.MemberIdle(
                    name=world.me, rests_on=unfinished or None, held=held, plans=plans, heard=heard, at=0
                )
            )
        case Parked(reason=reason):
            world.note(roster_records.MemberParked(name=world.me, reason=reason, heard=world.letters, at=0))
        case Waiting(on=on):
            world.note(roster_records.MemberWaiting(name=world.me, on=on, heard=world.letters, at=0))
        case unreachable:
            assert_never(unreachable)


def settled(world: SimulatedTeam, letters: Sequence[Letter] = (), *, starting: bool = False) -> bool:
    """Tell whether the lead holds the teammate for settled, all others being out of its way."""
    lead = View(
        me=world.roster.members[LEAD],
        memory=EMPTY,
        board=world.board,
        roster=world.roster,
        starting=frozenset({world.me} if starting else ()),
        unheard=frozenset({world.me} if waits_for(world.roster.members[world.me], letters) else ()),
    )
    others = [one for one in world.roster.teammates if one.name != world.me and one.here]
    parked = {one.name: replace(one, status=Parked("")) for one in others}
    return quiet(replace(lead, roster=replace(world.roster, members={**world.roster.members, **parked})))


def waits_for(member: members.Member, letters: Sequence[Letter]) -> bool:
    """Tell whether a member has a letter to act upon, these being the first in its mailbox that it has not heard."""
    envelopes = [Envelope(f"m{n}", sender, member.name, 0.0, message) for n, (sender, message) in enumerate(letters)]
    records = [Record(number, envelope.body()) for number, envelope in enumerate(envelopes, member.heard + 1)]
    return inbox.has_unheard(member, inbox.fold(inbox.EMPTY, records))


def at_rest(seed: int, *kinds: type[Resting]) -> tuple[SimulatedTeam, random.Random] | None:
    """Return a world in the middle of a life in which the teammate was seen to come to one of these rests."""
    rng = random.Random(seed)
    world = SimulatedTeam("alice", planning=rng.random() < 0.2)
    for _ in range(rng.randint(0, 40)):
        if world.stopped:
            return None
        world.disturb(rng) if rng.random() < 0.45 else world.step(rng)
    while not isinstance(action := world.step(), Rest):
        if isinstance(action, Stop):
            return None
    show(world, action)
    return (world, rng) if isinstance(action.status, kinds) else None


@pytest.mark.behaviour("headless", "P2")
def test_an_idle_teammate_that_the_lead_waits_for_has_something_to_do() -> None:
    waited = rested = 0
    for found in filter(None, (at_rest(seed, Idle) for seed in range(LIVES))):
        world, rng = found
        for _ in range(6):
            # What may come between two looks of hers at the board: nobody writes to her, she is not killed.
            rng.choice((world._work, world._work, world._limits))(rng)
            action = decide(world.view)
            assert settled(world) or not isinstance(action, Rest), f"{world.board} {world.roster.members[world.me]}"
            waited += not settled(world)
            rested += isinstance(action, Rest)
    assert (waited > LIVES // 10, rested > LIVES // 10) == (True, True)


@pytest.mark.parametrize("over", [None, "money"])
def test_who_is_free_to_take_a_task_is_waited_for_until_it_has_or_was_parked(over: str | None) -> None:
    world = idle()
    show(world, Rest())
    assert settled(world)
    add_task(world)
    world.over = over
    assert not settled(world)
    assert world.step() == (Park(over) if over else Take(1))
    if over:
        show(world, Rest(Parked(over)))
    assert settled(world) is bool(over)


def test_a_planner_without_a_plan_is_not_waited_for() -> None:
    world = idle(planning=True)
    add_task(world)
    assert [world.step() for _ in range(4)] == [Nudge(0), Think(), Report(0), Rest()]
    show(world, Rest())
    assert settled(world)


def test_a_member_whose_mode_is_plan_is_not_waited_for_to_take_a_task() -> None:
    world = idle()
    show(world, Rest())
    add_task(world)
    assert not settled(world)
    world.note(roster_records.PolicySet(by=USER, member="alice", mode=Mode.PLAN, at=0))
    assert settled(world)


def test_whom_the_user_interrupted_is_not_waited_for_and_whom_the_lead_then_wrote_to_is() -> None:
    world = idle()
    world.mail(USER, Interrupt())
    add_task(world)
    world.mail("bob", Plain(content="are you there?"))
    rest = decide(world.view)
    assert rest == Rest()
    show(world, rest)
    assert settled(world)
    world.mail(LEAD, Plain(content="go on"))
    world.step()
    show(world, Rest())
    assert not settled(world)
    assert decide(world.view) == Take(1)


# -- mail and starting ------------------------------------------------------------------------------

WORD, STOP = Plain(content="go on"), ShutdownRequest(request_id="r")
IDLE = roster_records.MemberIdle(name="alice", heard=1, at=0)
HELD = roster_records.MemberIdle(name="alice", heard=1, held=True, at=0)
PLAN = roster_records.MemberWaiting(name="alice", on="plan", heard=1, at=0)
ASKS = roster_records.MemberWaiting(name="alice", on="permission", heard=1, at=0)
PARKED = roster_records.MemberParked(name="alice", reason="rejected", heard=1, at=0)
DEAD = roster_records.MemberParked(name="alice", reason="failed", heard=1, known=2, at=0)
CUT = roster_records.MemberParked(name="alice", reason="cut", heard=1, known=2, only_user=True, at=0)


@pytest.mark.behaviour("headless")
@pytest.mark.parametrize(
    ("status", "letters", "is_settled"),
    [
        (IDLE, [], True),
        (IDLE, [("bob", WORD)], False),
        (IDLE, [(LEAD, Broadcast(content="all"))], False),
        (IDLE, [(USER, Interrupt())], True),
        (IDLE, [(LEAD, STOP)], False),
        (HELD, [], True),
        (HELD, [(USER, WORD)], False),
        (PLAN, [], True),
        (PLAN, [(LEAD, PlanResponse(request_id="p", approve=True))], False),
        (ASKS, [], False),
        (roster_records.MemberWorking(name="alice", at=0), [], False),
        # Parked by itself: any new word of those in charge lets it go on, and no other.
        (PARKED, [], True),
        (PARKED, [("bob", WORD)], True),
        (PARKED, [(LEAD, WORD)], False),
        (PARKED, [(USER, WORD)], False),
        (PARKED, [("bob", WORD), (LEAD, Broadcast(content="all"))], False),
        (PARKED, [(LEAD, STOP)], False),
        (PARKED, [(USER, PermissionResponse(request_id="c", approve=True))], True),
        # Parked because nobody could play it: only a word that came later counts.
        (DEAD, [(LEAD, WORD)], True),
        (DEAD, [(LEAD, WORD), ("bob", WORD)], True),
        (DEAD, [("bob", WORD), (LEAD, WORD)], False),
        # Parked because its records were cut: only a later word of the user counts.
        (CUT, [(USER, WORD)], True),
        (CUT, [(LEAD, WORD), (LEAD, WORD)], True),
        (CUT, [(LEAD, WORD), (USER, WORD)], False),
    ],
)
def test_whom_mail_will_move_is_waited_for(
    status: roster_records.Event, letters: list[Letter], is_settled: bool
) -> None:
    world = idle()
    world.note(status)
    assert settled(world, letters) is is_settled
    # Whatever the roster shows: this was said by who played it before.
    assert not settled(world, letters, starting=True)


def letter(rng: random.Random) -> Letter:
    answer = PlanResponse(request_id="p", approve=rng.random() < 0.5)
    return rng.choice((USER, LEAD, "bob")), rng.choice((WORD, WORD, Interrupt(), STOP, answer))


@pytest.mark.behaviour("headless", "P2")
def test_a_teammate_at_rest_that_the_lead_does_not_wait_for_does_nothing_about_its_mail() -> None:
    missed = waited = 0
    for found in filter(None, (at_rest(seed, Idle, Parked, Waiting) for seed in range(LIVES))):
        world, rng = found
        letters = [letter(rng) for _ in range(rng.randint(0, 3))]
        was_settled = settled(world, letters)
        before = world.board.number
        for sender, message in letters:
            world.mail(sender, message)
        action = decide(world.view)
        assert not was_settled or isinstance(action, Rest), f"{action} {letters} {world.roster.members[world.me]}"
        if isinstance(action, Rest):
            # It has heard all and rests: nobody waits for its mail any more.
            show(world, action)
            assert settled(world) or action.status in (Waiting("permission"), Waiting("background"), Waiting("retry"))
        missed += was_settled
        waited += not was_settled and bool(letters)
        assert world.board.number == before
    assert (missed > LIVES // 20, waited > LIVES // 20) == (True, True)
