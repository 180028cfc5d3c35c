"""The purse: what was spent, by whom, across processes; and the caps it is held against before each call."""

import anyio
import pytest

from deskmate.core.decide import Rest
from deskmate.core.names import LEAD
from deskmate.core.prompts import Reply, Usage
from deskmate.core.spending import Caps, Sum
from deskmate.models.scripted import ScriptedModel, Speak, Step
from deskmate.ports import Store
from deskmate.runtime.purse import Purse
from deskmate.runtime.streams import Pen
from deskmate.testing import FakeClock
from tests.runtime.conftest import Open
from tests.runtime.desks import DOLLAR, PRICED, Floor, cast, uses

pytestmark = pytest.mark.anyio

ONE = Reply((), usage=Usage(10, 5, 3, 2), model="m", cost=0.25)
UNPRICED = Reply((), usage=Usage(1), model="m")


def purse(store: Store, caps: Caps | None = None) -> Purse:
    return Purse(Pen(store, FakeClock()), caps or Caps())


def priced(*steps: Step) -> ScriptedModel:
    return ScriptedModel(steps, name=PRICED)


@pytest.mark.behaviour("budget", "S2")
async def test_what_two_processes_spend_is_one_sum_and_one_for_each_member(open_store: Open) -> None:
    ours, theirs = purse(open_store()), purse(open_store())
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
    ours, theirs = purse(open_store(), Caps(cost=0.5)), purse(open_store())
    await theirs.spend("bob", ONE)
    await ours.refresh()
    assert ours.over(0) is None
    await theirs.spend("bob", ONE)
    await ours.refresh()
    assert ours.over(0) is not None


@pytest.mark.behaviour("budget")
async def test_what_was_paid_for_is_counted_though_its_asker_is_cut(open_store: Open) -> None:
    ours = purse(open_store())
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ours.spend("alice", ONE)
    assert (await ours.refresh()).team.cost == 0.25


# -- by the agent -----------------------------------------------------------------------------------


@pytest.mark.behaviour("budget", "S2")
async def test_the_cap_on_money_parks_before_the_next_call_and_a_higher_one_lets_it_go_on() -> None:
    steps = [Speak("", [("glob", {"pattern": "*"})], usage=DOLLAR) for _ in range(3)]
    floor = await Floor.opened(priced(*steps), caps=Caps(cost=2.0))
    end = await floor.turn("go")
    assert end == Rest("parked", floor.office.purse.over(0) or "")
    assert len(floor.scripted.prompts) == 2
    same = floor.restarted(priced(*steps))
    assert await same.turn() == end
    assert same.scripted.prompts == []
    raised = floor.restarted(priced("Done."), caps=Caps(cost=3.0))
    assert await raised.turn() == Rest()
    assert await raised.statuses() == ["working", "parked", "working", "idle"]


@pytest.mark.behaviour("budget")
async def test_the_cap_on_steps_parks_and_a_word_of_the_user_begins_a_new_count() -> None:
    steps = [uses("glob", pattern=f"{number}") for number in range(4)]
    floor = await Floor.opened([*steps, "Done."], caps=Caps(steps=3))
    end = await floor.turn("go")
    assert end == Rest("parked", floor.office.purse.over(3) or "")
    assert len(floor.scripted.prompts) == 3
    assert await floor.turn("go on") == Rest()
    assert len(floor.scripted.prompts) == 5


@pytest.mark.behaviour("budget", "S2")
async def test_what_subagents_spend_is_counted_under_their_call_and_stops_the_team() -> None:
    look = Speak("", [("glob", {"pattern": "*"})], usage=DOLLAR)
    script = cast([Speak("", [("Task", {"prompt": "look"})], usage=DOLLAR)], [look, look, look])
    floor = await Floor.opened(ScriptedModel(script, name=PRICED), caps=Caps(cost=3.0))
    end = await floor.turn("go")
    assert end == Rest("parked", reason := floor.office.purse.over(0) or "")
    assert await floor.results() == [("lead:3.0", False, f"the subagent could not go on: {reason}")]
    spending = await floor.office.purse.refresh()
    assert {name: total.cost for name, total in spending.members.items()} == {LEAD: 1.0, "lead:3.0": 2.0}


@pytest.mark.behaviour("budget")
async def test_calls_without_a_known_price_are_said_to_be_so() -> None:
    floor = await Floor.opened([Speak("Hello.", usage=Usage(7, 3))])
    await floor.turn("hello")
    assert (await floor.office.purse.refresh()).team == Sum(1, Usage(7, 3), 0.0, 1)
