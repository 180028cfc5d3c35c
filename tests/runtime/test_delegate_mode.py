"""Delegating: a lead that leaves the work itself to others has no tools for it, and its model is told."""

import pytest

from deskmate.core.agent.entries import Noticed
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from tests.runtime.agent_harness import AgentHarness, uses

pytestmark = pytest.mark.anyio

RUNS = uses("bash", command="ls")
DELEGATING = tools_of(AgentKind.LEAD, AgentType.GENERAL, delegate=True)


def shown(harness: AgentHarness) -> list[tuple[str, ...]]:
    """Return the tools that each prompt showed the model."""
    return [tuple(spec.name for spec in prompt.tools) for prompt in harness.scripted.prompts]


async def told(harness: AgentHarness) -> list[bool]:
    """Return what the lead was told of delegating, from its first word on."""
    notices = [entry.work_mode for entry in await harness.entries() if isinstance(entry, Noticed)]
    return [notice.delegating for notice in notices if notice]


@pytest.mark.behaviour("tiers")
async def test_a_lead_that_delegates_is_told_and_shown_no_other_tools() -> None:
    harness = await AgentHarness.opened([RUNS, "I cannot."])
    await harness.permit(delegate=True)
    await harness.turn("list the files")
    assert shown(harness) == [DELEGATING, DELEGATING]
    assert await told(harness) == [True]
    ((_, ok, text),) = await harness.results()
    assert not ok
    assert (
        text == "bash does not work while you delegate. Give this work to a teammate, with TaskCreate or SendMessage."
    )


@pytest.mark.behaviour("tiers")
async def test_one_that_no_longer_does_is_told_with_the_next_thing_it_hears_and_has_its_tools_again() -> None:
    harness = await AgentHarness.opened(["Spread out.", RUNS, "Listed."])
    await harness.permit(delegate=True)
    await harness.turn("go")
    await harness.permit(delegate=False)
    await harness.turn("list the files")
    assert shown(harness)[1] == shown(harness)[2] != DELEGATING
    assert "bash" in shown(harness)[1]
    assert await told(harness) == [True, False]
    assert [ok for _, ok, _ in await harness.results()] == [True]


async def test_a_change_of_it_alone_wakes_nobody() -> None:
    harness = await AgentHarness.opened(["Done."])
    await harness.turn("go")
    await harness.permit(delegate=True)
    await harness.turn()
    assert len(harness.scripted.prompts) == 1
