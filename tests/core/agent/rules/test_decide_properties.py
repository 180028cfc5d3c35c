"""Whatever happened before: once the outside is silent an agent comes to rest, and a restart changes nothing."""

import os
import random

import pytest

from deskmate.core.agent.actions import Act, Action, Rest, Stop, Take, Think
from deskmate.core.agent.rules.decide import decide
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Effect
from deskmate.core.policy.tool_table import TOOLS, AgentKind, tools_of
from deskmate.core.policy.verdicts import verdict_on
from deskmate.core.team import roster_records
from deskmate.core.team.status import Idle, Left, Parked, Status, Waiting
from tests.core.simulated_team import SimulatedTeam

pytestmark = pytest.mark.slow
LIVES = 20_000 if os.environ.get("DESKMATE_SOAK") else 500


def lives(count: int = LIVES) -> list[int]:
    return list(range(count))


def live(seed: int) -> tuple[SimulatedTeam, random.Random]:
    """Return a world somewhere in the middle of an eventful life."""
    rng = random.Random(seed)
    world = SimulatedTeam(rng.choice(("alice", "alice", LEAD)), planning=rng.random() < 0.2)
    for _ in range(rng.randint(0, 40)):
        if world.stopped:
            break
        if rng.random() < 0.45:
            world.disturb(rng)
        else:
            world.step(rng)
    return world, rng


def test_in_silence_every_agent_comes_to_rest_within_twenty_actions_and_its_open_calls() -> None:
    endings: set[Status] = set()
    for seed in lives():
        world, _ = live(seed)
        bound = 20 + len(world.memory.calls)
        actions: list[Action] = []
        while not actions or not isinstance(actions[-1], Rest | Stop):
            assert len(actions) <= bound, f"life {seed} did not come to rest: {actions[-12:]}"
            actions.append(world.step())
        endings.add(actions[-1].status if isinstance(actions[-1], Rest) else Left())
        assert decide(world.view) == actions[-1] or isinstance(actions[-1], Stop), f"life {seed} does not stay at rest"
    waits = {Waiting("permission"), Waiting("plan"), Waiting("background")}
    assert {Left(), Idle(), Parked("money"), *waits} <= endings


def test_a_restart_at_any_point_of_a_life_decides_the_same() -> None:
    for seed in lives(LIVES // 4):
        rng = random.Random(seed)
        world = SimulatedTeam(rng.choice(("alice", LEAD)), planning=rng.random() < 0.2)
        for step in range(30):
            if world.stopped:
                break
            world.waited.clear()
            before, memory = decide(world.view), world.memory
            world.reload()
            assert (decide(world.view), world.memory) == (before, memory), f"life {seed} at step {step}"
            world.disturb(rng) if rng.random() < 0.45 else world.step(rng)


def test_a_shutdown_request_past_its_deadline_always_ends_the_agent() -> None:
    ended = 0
    for seed in lives():
        world, _ = live(seed)
        if world.stopped or not world.memory.demands:
            continue
        world.waited.update(dict.fromkeys(world.memory.demands, 30.0))
        assert isinstance(decide(world.view), Stop), f"life {seed}"
        ended += 1
    assert ended > LIVES // 50


def test_no_call_with_effects_ever_runs_while_planning() -> None:
    refused = 0
    for seed in lives():
        rng = random.Random(seed)
        world = SimulatedTeam("alice", planning=True)
        for _ in range(40):
            if world.stopped:
                break
            action = decide(world.view)
            if world.memory.owes_plan and isinstance(action, Act):
                for id_ in action.calls:
                    tool = world.memory.calls[id_].tool
                    assert tool in tools_of(AgentKind.TEAMMATE, "general-purpose", planning=True), (
                        f"life {seed}: {tool}"
                    )
                    assert not TOOLS[tool].edits, f"life {seed}: {tool}"
                    assert not TOOLS[tool].runs, f"life {seed}: {tool}"
            refused += world.memory.owes_plan and any(call.tool == "bash" for call in world.memory.calls.values())
            world.disturb(rng) if rng.random() < 0.3 else world.step(rng)
    assert refused > LIVES // 10


def test_an_interrupted_agent_neither_thinks_nor_takes_nor_runs() -> None:
    interrupted = 0
    for seed in lives():
        world, _ = live(seed)
        if world.stopped or not world.memory.interrupted:
            continue
        interrupted += 1
        assert not isinstance(decide(world.view), Think | Take), f"life {seed}"
    assert interrupted > LIVES // 50


def overlap(first: str, second: str) -> bool:
    return all(tool in TOOLS and TOOLS[tool].overlaps for tool in (first, second))


def test_a_call_begins_only_after_every_call_before_it_that_it_must_not_overlap() -> None:
    waited = held = 0
    for seed in lives():
        rng = random.Random(seed)
        world = SimulatedTeam(rng.choice(("alice", LEAD)))
        world.note(roster_records.PolicySet(by=USER, at=0, attended=True))
        for _ in range(60):
            if world.stopped:
                break
            before = world.memory.calls
            action = decide(world.view)
            if isinstance(action, Act):
                tools = [call.tool for call in before.values()]
                for index in (list(before).index(id_) for id_ in action.calls):
                    assert all(overlap(tool, tools[index]) for tool in tools[:index]), f"life {seed}: {tools}"
            if action == Rest(Waiting("permission")):
                waited += 1
                held += any(call.request is None for call in before.values())
                unasked = [call for call in before.values() if call.request is None]
                assert all(verdict_on(world.view, call).effect is not Effect.ASK for call in unasked), f"life {seed}"
            world.disturb(rng) if rng.random() < 0.45 else world.step(rng)
    assert (waited > LIVES // 10, held > LIVES // 20) == (True, True)
