"""Delegating: a lead that leaves the work itself to others has no tools for it, and its model is told."""

import pytest

from deskmate.core.agent.entries import Noticed
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from tests.runtime.desks import Floor, uses

pytestmark = pytest.mark.anyio

RUNS = uses("bash", command="ls")
DELEGATING = tools_of(AgentKind.LEAD, AgentType.GENERAL, delegate=True)


def shown(floor: Floor) -> list[tuple[str, ...]]:
    """Return the tools that each prompt showed the model."""
    return [tuple(spec.name for spec in prompt.tools) for prompt in floor.scripted.prompts]


async def told(floor: Floor) -> list[bool]:
    """Return what the lead was told of delegating, from its first word on."""
    notices = [entry.work_mode for entry in await floor.entries() if isinstance(entry, Noticed)]
    return [notice.delegating for notice in notices if notice]


@pytest.mark.behaviour("tiers")
async def test_a_lead_that_delegates_is_told_and_shown_no_other_tools() -> None:
    floor = await Floor.opened([RUNS, "I cannot."])
    await floor.permit(delegate=True)
    await floor.turn("list the files")
    assert shown(floor) == [DELEGATING, DELEGATING]
    assert await told(floor) == [True]
    ((_, ok, text),) = await floor.results()
    assert not ok
    assert (
        text == "bash does not work while you delegate. Give this work to a teammate, with TaskCreate or SendMessage."
    )


@pytest.mark.behaviour("tiers")
async def test_one_that_no_longer_does_is_told_with_the_next_thing_it_hears_and_has_its_tools_again() -> None:
    floor = await Floor.opened(["Spread out.", RUNS, "Listed."])
    await floor.permit(delegate=True)
    await floor.turn("go")
    await floor.permit(delegate=False)
    await floor.turn("list the files")
    assert shown(floor)[1] == shown(floor)[2] != DELEGATING
    assert "bash" in shown(floor)[1]
    assert await told(floor) == [True, False]
    assert [ok for _, ok, _ in await floor.results()] == [True]


async def test_a_change_of_it_alone_wakes_nobody() -> None:
    floor = await Floor.opened(["Done."])
    await floor.turn("go")
    await floor.permit(delegate=True)
    await floor.turn()
    assert len(floor.scripted.prompts) == 1
