"""The purse: what was spent, by whom, across processes; and the caps it is held against before each call."""

from dataclasses import replace

import anyio
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.prompts import Prompt, Reply, Usage
from deskmate.core.team.caps import Caps, CapsSet
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Parked
from deskmate.errors import ModelError, Refused
from deskmate.models.scripted import Step
from deskmate.ports import Store
from deskmate.runtime.agent import Agent
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock, Say, ScriptedModel, Use
from tests.runtime.agent_harness import DOLLAR, PRICED, AgentHarness, is_subagent, lead_and_subagent, turns, uses
from tests.runtime.conftest import Open
from tests.runtime.team_process import SOON

pytestmark = pytest.mark.anyio

ONE = Reply((), usage=Usage(10, 5, 3, 2), model="m", cost=0.25)
UNPRICED = Reply((), usage=Usage(1), model="m")


def budget(store: Store, caps: Caps | None = None) -> Budget:
    return Budget(LogWriter(store, FakeClock()), caps or Caps())


def priced(*steps: Step) -> ScriptedModel:
    return ScriptedModel(steps, name=PRICED)


@pytest.mark.behaviour("budget", "S2")
async def test_what_two_processes_spend_is_one_sum_and_one_for_each_member(open_store: Open) -> None:
    ours, theirs = budget(open_store()), budget(open_store())
    await ours.spend("alice", ONE)
    await theirs.spend("bob", ONE)
    await theirs.spend("alice:4.0", UNPRICED)
    for one in (ours, theirs):
        spending = await one.refresh()
        assert spending.team == Sum(3, Usage(21, 10, 6, 4), 0.5, 1)
        assert spending.members == {
            "alice": Sum(1, ONE.usage, 0.25),
            "bob": Sum(1, ONE.usage, 0.25),
            "alice:4.0": Sum(1, UNPRICED.usage, 0.0, 1),
        }


@pytest.mark.behaviour("S2")
async def test_one_process_stops_at_what_another_has_spent(open_store: Open) -> None:
    ours, theirs = budget(open_store(), Caps(cost=0.5)), budget(open_store())
    await theirs.spend("bob", ONE)
    await ours.refresh()
    assert ours.over("alice", 0) is None
    await theirs.spend("bob", ONE)
    await ours.refresh()
    assert ours.over("alice", 0) is not None


@pytest.mark.behaviour("budget", "S2")
async def test_a_member_stops_at_what_its_subagents_have_spent_elsewhere_and_nobody_else_does(open_store: Open) -> None:
    ours, theirs = budget(open_store(), Caps(member_cost=0.5)), budget(open_store())
    await theirs.spend("bob", ONE)
    await theirs.spend("bob:7.0", ONE)
    await theirs.spend("alice", ONE)
    await ours.refresh()
    assert [name for name in ("alice", "bob", "bob:7.0", "bob:9.1") if ours.over(name, 0)] == [
        "bob",
        "bob:7.0",
        "bob:9.1",
    ]


@pytest.mark.behaviour("budget")
async def test_time_is_counted_from_the_start_of_the_run_whichever_process_of_it_counts() -> None:
    clock = FakeClock()
    clock.advance(1000.0)
    lead = Budget(LogWriter(MemoryStore(), clock), Caps(seconds=60.0))
    clock.advance(59.0)
    teammate = Budget(LogWriter(MemoryStore(), clock), Caps(seconds=60.0), seconds=lead.seconds)
    resumed = Budget(LogWriter(MemoryStore(), clock), Caps(seconds=60.0))
    assert [budget.seconds for budget in (lead, teammate, resumed)] == [59.0, 59.0, 0.0]
    assert (lead.over("alice", 0), teammate.over("alice", 0)) == (None, None)
    clock.advance(1.0)
    over = [budget.over("alice", 0) is not None for budget in (lead, teammate, resumed)]
    assert over == [True, True, False]


@pytest.mark.behaviour("budget")
async def test_what_was_paid_for_is_counted_though_its_asker_is_cut(open_store: Open) -> None:
    ours = budget(open_store())
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ours.spend("alice", ONE)
    assert (await ours.refresh()).team.cost == 0.25


# -- by the agent -----------------------------------------------------------------------------------


@pytest.mark.behaviour("budget", "S2")
async def test_the_cap_on_money_parks_before_the_next_call_and_a_higher_one_lets_it_go_on() -> None:
    steps = [Say("", [Use("glob", {"pattern": "*"})], usage=DOLLAR) for _ in range(3)]
    harness = await AgentHarness.opened(priced(*steps), caps=Caps(cost=2.0))
    end = await harness.turn("go")
    assert end == Rest(Parked(harness.team_state.budget.over(LEAD, 0) or ""))
    assert len(harness.scripted.prompts) == 2
    same = harness.restarted(priced(*steps))
    assert await same.turn() == end
    assert same.scripted.prompts == []
    raised = harness.restarted(priced("Done."), caps=Caps(cost=3.0))
    assert await raised.turn() == Rest()
    assert await raised.statuses() == ["working", "parked", "working", "idle"]


@pytest.mark.behaviour("budget")
async def test_the_cap_on_steps_parks_and_a_word_of_the_user_begins_a_new_count() -> None:
    steps = [uses("glob", pattern=f"{number}") for number in range(4)]
    harness = await AgentHarness.opened([*steps, "Done."], caps=Caps(steps=3))
    end = await harness.turn("go")
    assert end == Rest(Parked(harness.team_state.budget.over(LEAD, 3) or ""))
    assert len(harness.scripted.prompts) == 3
    assert await harness.turn("go on") == Rest()
    assert len(harness.scripted.prompts) == 5


@pytest.mark.behaviour("budget", "S2")
async def test_what_subagents_spend_is_counted_under_their_call_and_stops_the_team() -> None:
    look = Say("", [Use("glob", {"pattern": "*"})], usage=DOLLAR)
    script = lead_and_subagent([Say("", [Use("Task", {"prompt": "look"})], usage=DOLLAR)], [look, look, look])
    harness = await AgentHarness.opened(ScriptedModel(script, name=PRICED), caps=Caps(cost=3.0))
    end = await harness.turn("go")
    assert end == Rest(Parked(reason := harness.team_state.budget.over(LEAD, 0) or ""))
    assert await harness.results() == [("lead:3.0", False, f"The subagent could not continue: {reason}")]
    spending = await harness.team_state.budget.refresh()
    assert {name: total.cost for name, total in spending.members.items()} == {LEAD: 1.0, "lead:3.0": 2.0}


@pytest.mark.behaviour("budget")
async def test_the_cap_on_tokens_counts_those_of_the_cache() -> None:
    steps = [Say("", [Use("glob", {"pattern": "*"})], usage=Usage(1, 2, 3, 4)) for _ in range(3)]
    harness = await AgentHarness.opened(steps, caps=Caps(tokens=20))
    assert await harness.turn("go") == Rest(Parked("budget: 20 of 20 tokens are used (--max-tokens)"))
    assert len(harness.scripted.prompts) == 2


@pytest.mark.behaviour("budget")
async def test_the_cap_on_time_parks_before_the_next_call_and_the_next_process_has_its_own() -> None:
    async def slowly(prompt: Prompt) -> Step:
        harness.clock.advance(40.0)
        return Say("", [Use("glob", {"pattern": "*"})])

    harness = await AgentHarness.opened(slowly, caps=Caps(seconds=60.0))
    end = await harness.turn("go")
    assert end == Rest(Parked("budget: the time limit of 60 s is reached (--max-time)"))
    assert len(harness.scripted.prompts) == 2
    again = harness.restarted(["Done."])
    assert await again.turn("go on") == Rest()


@pytest.mark.behaviour("budget")
async def test_the_cap_of_a_member_counts_its_subagents_and_parks_both() -> None:
    look = Say("", [Use("glob", {"pattern": "*"})], usage=DOLLAR)
    script = lead_and_subagent([Say("", [Use("Task", {"prompt": "look"})], usage=DOLLAR)], [look, look, look])
    harness = await AgentHarness.opened(ScriptedModel(script, name=PRICED), caps=Caps(member_cost=3.0))
    reason = "budget: 'lead' has spent $3.00 of its $3.00 (max_member_cost)"
    assert await harness.turn("go") == Rest(Parked(reason))
    assert await harness.results() == [("lead:3.0", False, f"The subagent could not continue: {reason}")]


@pytest.mark.behaviour("budget")
async def test_a_teammate_that_reaches_its_own_cap_is_parked_and_the_others_are_not() -> None:
    look = Say("", [Use("glob", {"pattern": "*"})], usage=DOLLAR)
    harness = await AgentHarness.opened(priced(look, look, look), caps=Caps(member_cost=2.0))
    alice = await harness.team_state.roster.join(Joined(name="alice", prompt="look", at=0.0))
    parts, started = harness.team_parts.teammate(alice)
    agent = await Agent.seat(harness.team_state, started, replace(parts, workspace=harness.workspace))
    with anyio.fail_after(SOON):
        end = await agent.play(until_rest=True)
    reason = "budget: 'alice' has spent $2.00 of its $2.00 (max_member_cost)"
    assert end == Rest(Parked(reason))
    assert harness.team_state.budget.over(LEAD, 0) is None


@pytest.mark.behaviour("budget", "spawn")
async def test_a_teammate_too_many_is_refused_in_words_and_the_lead_goes_on() -> None:
    names = ("alice", "bob", "carol")
    spawn = Say("", [Use("Task", {"prompt": "help", "name": name}) for name in names])
    harness = await AgentHarness.opened([spawn, "Two are enough."], caps=Caps(members=2))
    async with harness.playing("go"):
        await harness.until_status("idle")
    results = await harness.results()
    assert [ok for _, ok, _ in results] == [True, True, False]
    assert results[-1][2].startswith("budget: 2 teammates are here, and --max-members allows no more. Give the work")
    assert [member.name for member in harness.team_state.roster.state.teammates] == ["alice", "bob"]


@pytest.mark.behaviour("budget")
async def test_who_left_makes_room_and_a_spawn_that_is_run_again_needs_none(open_store: Open) -> None:
    roster, caps = Roster(LogWriter(open_store(), FakeClock())), Caps(members=1)
    await roster.found("team")
    alice = Joined(name="alice", at=0.0, cause="lead:1.0")
    assert await roster.join(alice, caps) == await roster.join(alice, caps)
    with pytest.raises(Refused, match="1 teammate is here"):
        await roster.join(Joined(name="bob", at=0.0, cause="lead:1.1"), caps)
    await roster.leave("alice", "done", heard=0)
    assert (await roster.join(Joined(name="bob", at=0.0, cause="lead:1.1"), caps)).name == "bob"


# -- calls at once ----------------------------------------------------------------------------------


class Busy:
    """A script for a lead that sends three subagents together, which knows how many are asked at once."""

    def __init__(self) -> None:
        self.now, self.most, self.asked = 0, 0, 0

    async def __call__(self, prompt: Prompt) -> Step:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await turns()
        self.now -= 1
        if is_subagent(prompt) or "said:" in str(prompt.passages[-1]):
            return Say("I said: seen.", usage=DOLLAR)
        return Say("", [Use("Task", {"prompt": f"look at {number}"}) for number in range(3)], usage=DOLLAR)


@pytest.mark.behaviour("budget")
@pytest.mark.parametrize(("calls", "most"), [(None, 3), (2, 2), (1, 1)])
async def test_no_more_calls_are_under_way_than_may_be_and_all_get_their_turn(calls: int | None, most: int) -> None:
    busy = Busy()
    harness = await AgentHarness.opened(ScriptedModel(busy, name=PRICED), caps=Caps(calls=calls))
    assert await harness.turn("go") == Rest()
    assert (busy.asked, busy.most) == (5, most)


@pytest.mark.behaviour("budget", "S2")
async def test_who_stood_in_line_while_the_money_ran_out_is_parked_without_a_call() -> None:
    busy = Busy()
    harness = await AgentHarness.opened(ScriptedModel(busy, name=PRICED), caps=Caps(calls=1, cost=2.0))
    reason = "budget: $2.00 of $2.00 is spent (--max-cost)"
    assert await harness.turn("go") == Rest(Parked(reason))
    assert busy.asked == 2
    assert sorted(text for _, _, text in await harness.results()) == [
        "I said: seen.",
        *[f"The subagent could not continue: {reason}"] * 2,
    ]


@pytest.mark.behaviour("budget", "S2")
async def test_who_stood_in_line_stops_at_what_another_process_spent_meanwhile(open_store: Open) -> None:
    ours, theirs = (budget(open_store(), Caps(calls=1, cost=0.25)) for _ in range(2))
    refused: list[str] = []

    async def stand() -> None:
        try:
            async with ours.slot("alice"):
                raise AssertionError("all is spent")
        except ModelError as error:
            refused.append(str(error))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks, theirs.slot("bob"):
            tasks.start_soon(stand)
            await turns()
            await theirs.spend("bob", ONE)
    assert refused == ["budget: $0.25 of $0.25 is spent (--max-cost)"]


@pytest.mark.behaviour("budget")
async def test_an_interrupt_takes_effect_in_the_line_too() -> None:
    harness = await AgentHarness.opened(["Never said."], caps=Caps(calls=1))
    async with harness.store.hold("calls/0", "another process"), harness.playing("go") as lead:
        await harness.until_status("working")
        await harness.interrupt()
        await harness.until_status("idle")
        assert (lead.transcript.memory.interrupted, harness.scripted.prompts) == (True, [])


@pytest.mark.behaviour("budget")
async def test_calls_without_a_known_price_are_said_to_be_so() -> None:
    harness = await AgentHarness.opened([Say("Hello.", usage=Usage(7, 3))])
    await harness.turn("hello")
    assert (await harness.team_state.budget.refresh()).team == Sum(1, Usage(7, 3), 0.0, 1)


@pytest.mark.behaviour("budget", "S2")
async def test_a_cap_that_the_user_sets_counts_in_every_process_until_the_next_opening(open_store: Open) -> None:
    def process() -> tuple[Roster, Budget]:
        writer = LogWriter(open_store(), FakeClock())
        roster = Roster(writer)
        return roster, Budget(writer, Caps(cost=1.0, steps=5), roster=roster)

    (ours, first), (theirs, second) = process(), process()
    await ours.found("team")
    for set_ in (CapsSet(cost=2.0), CapsSet(tokens=9), CapsSet(cost=3.0)):
        await ours.permit(PolicySet(by=USER, caps=set_, at=0.0))
    await theirs.refresh()
    assert first.caps == second.caps == Caps(cost=3.0, tokens=9, steps=5)
    await ours.permit(PolicySet(by=LEAD, attended=True, at=0.0))
    await theirs.refresh()
    assert first.caps == second.caps == Caps(cost=1.0, steps=5)
