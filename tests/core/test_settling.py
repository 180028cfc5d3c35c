"""A lead that waits for a teammate at rest waits for something: whom it holds for unsettled has something to do.

Else the team would never be quiet, and a run without a person would never end.
"""

import os
import random
from dataclasses import replace

import pytest

from deskmate.core import members
from deskmate.core.actions import Park, Rest, Stop, Take
from deskmate.core.decide import View, decide, quiet
from deskmate.core.memory import EMPTY
from deskmate.core.messages import Interrupt, Plain
from deskmate.core.names import LEAD, USER
from deskmate.core.tasks import in_progress_of
from tests.core.worlds import World, add_task, idle

LIVES = 20_000 if os.environ.get("DESKMATE_SOAK") else 1_000


def show(world: World, rest: Rest) -> None:
    """Show on the roster that the teammate rests, as the runtime does."""
    match rest:
        case Rest(word="idle"):
            unfinished = tuple((task.id, task.epoch) for task in in_progress_of(world.board, world.me))
            held = world.memory.interrupted or None
            world.note(members.Idle(name=world.me, rests_on=unfinished or None, held=held, at=0))
        case Rest(word="parked", detail=reason):
            world.note(members.Parked(name=world.me, reason=reason, at=0))
        case Rest(detail=on):
            world.note(members.Waiting.model_validate({"name": world.me, "on": on, "at": 0}))


def settled(world: World) -> bool:
    """Tell whether the lead holds the teammate for settled, all others being out of its way."""
    lead = View(me=world.roster.members[LEAD], memory=EMPTY, board=world.board, roster=world.roster)
    others = [one for one in world.roster.teammates if one.name != world.me and one.here]
    parked = {one.name: replace(one, status=replace(one.status, word="parked")) for one in others}
    return quiet(replace(lead, roster=replace(world.roster, members={**world.roster.members, **parked})))


def at_rest(seed: int) -> tuple[World, random.Random] | None:
    """Return a world in the middle of a life in which the teammate was seen to go idle."""
    rng = random.Random(seed)
    world = World("alice", planning=rng.random() < 0.2)
    for _ in range(rng.randint(0, 40)):
        if world.stopped:
            return None
        world.disturb(rng) if rng.random() < 0.45 else world.step(rng)
    while not isinstance(action := world.step(), Rest):
        if isinstance(action, Stop):
            return None
    show(world, action)
    return (world, rng) if action.word == "idle" else None


@pytest.mark.behaviour("headless", "P2")
def test_an_idle_teammate_that_the_lead_waits_for_has_something_to_do() -> None:
    waited = rested = 0
    for found in filter(None, map(at_rest, range(LIVES))):
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
        show(world, Rest("parked", over))
    assert settled(world) is bool(over)


def test_a_planner_without_a_plan_is_not_waited_for() -> None:
    world = idle(planning=True)
    add_task(world)
    rest = decide(world.view)
    assert rest == Rest("waiting", "plan")
    show(world, rest)
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
