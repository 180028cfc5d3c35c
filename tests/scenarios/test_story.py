"""The story through the app: read, write, run the checks, fix what fails, end. The same over both wires.

And what stops it on the way: a cap that is reached, and somebody who ends the process in the middle of a call.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from deskmate.app import Feed, Streamed, TeamEvent
from deskmate.core.agent.entries import Did, Entry, Said
from deskmate.core.log.names import SPEND
from deskmate.core.prompt.prompts import CallBlock, Spoke, TextDelta, ThinkingBlock, Usage
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Stall
from deskmate.testing.scripts import Format
from tests.scenarios.app_harness import FILES, FORMATS, MODELS, STORY, TOLD, WORDS, AppHarness, tell

pytestmark = pytest.mark.anyio
SOON = 60


# -- the whole of it ------------------------------------------------------------------------------


@pytest.mark.behaviour("loop", "models")
async def test_the_story_ends_in_the_same_files_and_the_same_transcript_over_both_wires(harness: AppHarness) -> None:
    told = {}
    for format_ in FORMATS:
        async with FakeProvider(tell) as provider:
            outcome = await harness.run(provider, format_)
        assert (outcome.end, outcome.text, outcome.steps) == ("answered", WORDS, len(STORY))
        assert (harness.files, await harness.steps(), provider.complaints) == (FILES, TOLD, [])
        told[format_] = in_order([without_provider(entry) for entry in await harness.entries()])
        shutil.rmtree(harness.place)
        AppHarness.at(harness.place, harness.home)
    assert told["anthropic"] == told["openai"]


def without_provider(entry: Entry) -> dict[str, Any]:
    """Return an entry without what it owes to the provider, to the hour and to chance."""
    body = {key: value for key, value in entry.body().items() if key not in ("usage", "run", "ord", "at")}
    for block in body.get("blocks", ()):
        block.pop("signature", None)
    for mail in body.get("mail", ()):
        del mail["id"], mail["timestamp"]
    return body


def in_order(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries with the results of calls that ran together in the order of the calls."""
    groups = groupby(bodies, key=lambda body: body["type"])
    return [body for _, group in groups for body in sorted(group, key=lambda body: str(body.get("call")))]


@pytest.mark.behaviour("loop")
@pytest.mark.parametrize("format_", FORMATS)
async def test_every_call_gets_its_one_result_in_the_order_asked(harness: AppHarness, format_: Format) -> None:
    async with FakeProvider(tell) as provider:
        await harness.run(provider, format_)
    for asked, say in zip(provider.requests[1:], STORY, strict=False):
        spoke = asked.prompt.passages[-2]
        assert isinstance(spoke, Spoke)
        calls = [block for block in spoke.blocks if isinstance(block, CallBlock)]
        assert [call.tool for call in calls] == [use.tool for use in say.calls]
        assert [result.id for result in asked.results] == [call.id for call in calls]


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("format_", FORMATS)
async def test_what_each_step_used_and_cost_is_recorded_as_the_provider_counted_it(
    harness: AppHarness, format_: Format
) -> None:
    async with FakeProvider(tell) as provider:
        outcome = await harness.run(provider, format_)
    said = [entry.usage for entry in await harness.entries() if isinstance(entry, Said)]
    assert [usage_in(usage) for usage in said] == provider.usages
    assert {usage["model"] for usage in said} == {MODELS[format_]}
    spent = await harness.records(SPEND)
    assert [usage_in(record) for record in spent] == provider.usages
    assert outcome.cost == pytest.approx(sum(record["cost"] for record in spent))
    assert outcome.cost == pytest.approx(sum(usage["cost"] for usage in said))
    assert outcome.cost
    assert outcome.cost > 0


def usage_in(record: Mapping[str, Any]) -> Usage:
    return Usage(*(record[key] for key in ("input", "output", "cache_read", "cache_write")))


@pytest.mark.behaviour("models")
@pytest.mark.parametrize("format_", FORMATS)
async def test_words_are_streamed_to_whoever_watches(harness: AppHarness, format_: Format) -> None:
    heard: list[TeamEvent] = []
    feed = Feed()
    feed.listen(heard.append)
    async with FakeProvider(tell, fragment=5) as provider:
        await harness.run(provider, format_, feed)
    pieces = [each.delta.text for each in heard if isinstance(each, Streamed) and isinstance(each.delta, TextDelta)]
    assert "".join(pieces) == "".join(say.text for say in STORY)
    assert len(pieces) > len(STORY)


@pytest.mark.behaviour("models")
async def test_thoughts_go_back_to_who_signed_them_unchanged(harness: AppHarness) -> None:
    async with FakeProvider(tell) as provider:
        await harness.run(provider, "anthropic")
    given_back = [
        block.text
        for passage in provider.requests[-1].prompt.passages
        for block in passage.blocks
        if isinstance(block, ThinkingBlock)
    ]
    assert (given_back, provider.complaints) == ([say.thinking for say in STORY if say.thinking], [])


# -- caps -----------------------------------------------------------------------------------------


def by_the_call(dollars: float) -> dict[str, Any]:
    """Return settings in which a step of the story costs some dollars: as many as it has tokens to say."""
    prices = {"input": 0.0, "output": 1_000_000.0}
    return {"models": {MODELS["anthropic"]: {"prices": prices}}, "max_cost": dollars}


@pytest.mark.behaviour("budget", "S2")
async def test_a_run_over_its_cost_is_parked_before_the_next_call_and_a_higher_cap_lets_it_finish(
    harness: AppHarness,
) -> None:
    async with FakeProvider(tell) as provider:
        outcome = await harness.run(provider, "anthropic", **by_the_call(20.0))
        costs = [record["cost"] for record in await harness.records(SPEND)]
        assert sum(costs[:-1]) < 20 <= sum(costs)
        assert (outcome.end, outcome.cost, len(provider.requests)) == ("parked", sum(costs), len(costs))
        assert outcome.reason == f"budget: ${sum(costs):.2f} of $20.00 is spent (--max-cost)"
        assert (await harness.statuses())[-1] == ("parked", outcome.reason)

        assert (await harness.resume(provider, "anthropic", **by_the_call(20.0))).end == "parked"
        assert len(provider.requests) == len(costs)

        outcome = await harness.resume(provider, "anthropic", **by_the_call(1000.0))
    assert (outcome.end, outcome.text, outcome.steps) == ("answered", WORDS, len(STORY) - len(costs))
    assert (harness.files, await harness.steps(), provider.complaints) == (FILES, TOLD, [])


@pytest.mark.behaviour("budget", "S2")
@pytest.mark.parametrize("steps", range(1, len(STORY)))
async def test_a_run_over_its_steps_is_parked_before_the_next_call_and_a_higher_cap_lets_it_finish(
    harness: AppHarness, steps: int
) -> None:
    async with FakeProvider(tell) as provider:
        outcome = await harness.run(provider, "anthropic", max_steps=steps)
        assert (outcome.end, outcome.steps, len(provider.requests)) == ("parked", steps, steps)
        assert outcome.reason.startswith(f"budget: {steps} step")
        assert (await harness.statuses())[-1] == ("parked", outcome.reason)

        outcome = await harness.resume(provider, "anthropic")
    assert (outcome.end, outcome.text, outcome.steps) == ("answered", WORDS, len(STORY) - steps)
    assert (harness.files, await harness.steps(), provider.complaints) == (FILES, TOLD, [])


# -- ended in the middle --------------------------------------------------------------------------


def endless(asked: Asked) -> Say:
    """Run a command that goes on and on; once told how it ended, stop."""
    if not asked.results:
        return Say(calls=[Use("bash", {"command": "sleep 600 & touch begun; wait"})])
    return Say(f"I was told: {asked.results[0].text}")


@pytest.mark.behaviour("loop")
@pytest.mark.parametrize("format_", FORMATS)
async def test_a_call_cut_off_with_its_process_is_told_as_interrupted_when_the_team_goes_on(
    harness: AppHarness, format_: Format, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    async with FakeProvider(endless) as provider:
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(harness.run, provider, format_)
                await anyio.to_thread.run_sync(eventually, (harness.place / "begun").exists)
                assert processes_in(harness.place) != []
                tasks.cancel_scope.cancel()
        assert processes_in(harness.place) == []

        outcome = await harness.resume(provider, format_)
    assert (outcome.end, outcome.steps, provider.complaints) == ("answered", 1, [])
    assert "I was told: " in outcome.text
    assert "Interrupted. Its outcome is unknown." in outcome.text
    assert [entry.ok for entry in await harness.entries() if isinstance(entry, Did)] == [False]
    assert processes_in(harness.place) == []


@pytest.mark.behaviour("loop")
@pytest.mark.parametrize("format_", FORMATS)
async def test_an_answer_cut_off_with_its_process_is_asked_for_again_when_the_team_goes_on(
    harness: AppHarness, format_: Format, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    async with FakeProvider(tell, faults={3: Stall(0.7)}) as provider:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(harness.run, provider, format_)
            await anyio.to_thread.run_sync(eventually, lambda: len(provider.requests) == 4)
            tasks.cancel_scope.cancel()
        outcome = await harness.resume(provider, format_)
    assert (outcome.end, outcome.text, outcome.steps) == ("answered", WORDS, len(STORY) - 3)
    assert (harness.files, await harness.steps(), provider.complaints) == (FILES, TOLD, [])


def processes_in(place: Path) -> list[int]:
    """Return the processes that were started by an agent that works in a folder."""
    mark = os.fsencode(f"DESKMATE_ROOT={place}")
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if mark in _environ(path)]


def _environ(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:
        # It has ended meanwhile, or belongs to someone else.
        return []
