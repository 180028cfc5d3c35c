"""The provider's cache: a run that only looks around is read from it again and again, whole, and begins small."""

import json
from itertools import pairwise

import pytest

from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.prompt.prompts import Usage
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.formats.prefix_caches import LEAST, UNIT
from deskmate.testing.scripts import Format
from tests.scenarios.app_harness import FORMATS, AppHarness

pytestmark = pytest.mark.anyio
STEPS = 30
LARGEST_FIRST_OF_LEAD = 15 * 1024
LARGEST_FIRST_OF_TEAMMATE = 10_000
SHARE = 0.99
SKILL = "---\nname: release\ndescription: how a release is made here\n---\nTag it.\n"


def look(step: int) -> Say:
    """Return one look around a tree of eight files: one of them read, or all of them searched."""
    if step % 3:
        return Say(f"Part {step % 8}.", [Use("read_file", {"path": f"parts/{step % 8}.txt"})], thinking=f"Now {step}…")
    return Say(calls=[Use("grep", {"pattern": f"line {step}$"}), Use("glob", {"pattern": "parts/*"})])


async def looked_around(harness: AppHarness, format_: Format) -> FakeProvider:
    """Return the provider of a run of so many steps, all of which went well."""
    (harness.place / "parts").mkdir()
    for part in range(8):
        text = "".join(f"part {part}, line {line}\n" for line in range(40))
        (harness.place / "parts" / f"{part}.txt").write_text(text)
    async with FakeProvider([*map(look, range(STEPS - 1)), Say("That is all.")]) as provider:
        outcome = await harness.run(provider, format_)
    assert (outcome.end, outcome.text, outcome.steps) == ("answered", "That is all.", STEPS)
    assert (len(provider.requests), provider.complaints) == (STEPS, [])
    assert all(step.ok == (True,) * len(step.calls) for step in await harness.steps())
    return provider


@pytest.mark.behaviour("models")
async def test_with_breakpoints_the_whole_of_the_request_before_is_read_from_the_cache(harness: AppHarness) -> None:
    provider = await looked_around(harness, "anthropic")
    ideal = sum(map(provider.ideal_cache_read, range(STEPS)))
    assert ideal > 0
    assert sum(usage.cache_read for usage in provider.usages) >= SHARE * ideal


@pytest.mark.behaviour("models")
async def test_without_breakpoints_every_whole_unit_of_the_request_before_is_read_from_the_cache(
    harness: AppHarness,
) -> None:
    provider = await looked_around(harness, "openai")
    ideal = sum(map(whole_units, provider.usages[:-1]))
    assert ideal > LEAST * STEPS
    assert sum(usage.cache_read for usage in provider.usages) >= SHARE * ideal


def whole_units(usage: Usage) -> int:
    return usage.prompt // UNIT * UNIT if usage.prompt >= LEAST else 0


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("format_", FORMATS)
async def test_every_request_begins_with_the_same_bytes_and_goes_on_where_the_last_one_ended(
    harness: AppHarness, format_: Format
) -> None:
    requests = (await looked_around(harness, format_)).requests
    assert len({json.dumps([asked.body["tools"], asked.body.get("system")]) for asked in requests}) == 1
    for before, after in pairwise(requests):
        passages = before.prompt.passages
        assert (after.system, after.prompt.passages[: len(passages)]) == (before.system, passages)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("format_", FORMATS)
async def test_the_first_requests_are_small_with_all_that_a_lead_and_a_teammate_have(
    harness: AppHarness, format_: Format
) -> None:
    skill = harness.home / ".config" / "deskmate" / "skills" / "release" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    async with FakeProvider(spawn_one) as provider:
        outcome = await harness.run(provider, format_)
    assert (outcome.end, provider.complaints) == ("answered", [])
    lead = provider.requests[0]
    teammate = next(asked for asked in provider.requests if not leads(asked))
    assert set(lead.tools) == set(tools_of(AgentKind.LEAD, AgentType.GENERAL))
    assert set(teammate.tools) == set(tools_of(AgentKind.TEAMMATE, AgentType.GENERAL))
    assert int(lead.headers["content-length"]) <= LARGEST_FIRST_OF_LEAD
    assert int(teammate.headers["content-length"]) <= LARGEST_FIRST_OF_TEAMMATE


def leads(asked: Asked) -> bool:
    return "Task" in asked.tools


def spawn_one(asked: Asked) -> Say:
    """Make one teammate, and have nothing more to say: it is the runtime that asks it to leave."""
    return Say(calls=[Use("Task", {"prompt": "Own it.", "name": "alice"})]) if asked.number == 0 else Say("Well.")
