"""Whatever goes wrong at the provider, at whichever call of the story: the run ends as it should, and in order."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Cleared, Compacted, Said
from deskmate.core.prompt.recorded_replies import REFUSED
from deskmate.core.team.status import Parked
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import (
    Drop,
    DropAfter,
    ErrorEvent,
    ErrorStatus,
    Fault,
    Garbage,
    Plan,
    Slow,
    Stall,
    TooLong,
)
from deskmate.testing.scripts import Format, Script
from deskmate.testing.team_scripts import called
from tests.passing_clock import PassingClock
from tests.scenarios.app_harness import (
    FILES,
    FORMATS,
    MODELS,
    STORY,
    TOLD,
    WORDS,
    AppHarness,
    Called,
    Step,
    tell,
)

pytestmark = pytest.mark.anyio
CALLS = range(len(STORY))

both = pytest.mark.parametrize("format_", FORMATS)


# -- on the way -----------------------------------------------------------------------------------

PASSING: dict[str, Fault] = {
    "429": ErrorStatus(429),
    "429 with retry-after": ErrorStatus(429, retry_after=90.0),
    "500": ErrorStatus(500),
    "529": ErrorStatus(529),
    "overloaded before the first event": ErrorEvent(part=0.0),
    "overloaded in the middle": ErrorEvent(part=0.5),
    "disconnected before any byte": Drop(),
    "disconnected after the head": DropAfter(0),
    "disconnected after a tenth": DropAfter(0.1),
    "disconnected in the middle": DropAfter(0.5),
    "disconnected near the end": DropAfter(0.9),
    "silent from the start": Stall(0),
    "silent from the middle on": Stall(0.5),
    "garbage in the middle": Garbage(),
    "garbage alone": Garbage(part=0.0),
}


@pytest.mark.behaviour("retry", "P6", "models")
@both
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_a_fault_at_every_call_leaves_no_trace_but_the_retries(
    harness: AppHarness, fault: Fault, format_: Format
) -> None:
    clock = PassingClock()
    async with anyio.create_task_group() as silences:

        def silent() -> None:
            if isinstance(fault, Stall):
                silences.start_soon(clock.let_silence_pass)

        async with FakeProvider(tell, faults=first_time(fault, silent)) as provider:
            end = await harness.play(provider, format_, clock)
    assert (end, await harness.words(), harness.files) == (Rest(), WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == (TOLD, [])
    assert (len(provider.requests), len(clock.pauses)) == (2 * len(STORY), len(STORY))
    retried = [("waiting", "retry"), ("working", "")]
    assert await harness.statuses() == [("working", ""), *retried * len(STORY), ("idle", "")]


def first_time(fault: Fault, then: Callable[[], None]) -> Plan:
    """Return a plan in which every request meets the fault once, and its repeat does not."""
    met: set[str] = set()

    def plan(number: int, asked: Asked) -> Fault | None:
        body = json.dumps(asked.body, sort_keys=True)
        if body in met:
            return None
        met.add(body)
        then()
        return fault

    return plan


@pytest.mark.behaviour("retry")
@both
async def test_a_retry_waits_as_long_as_the_provider_asks(harness: AppHarness, format_: Format) -> None:
    clock = PassingClock()
    async with FakeProvider(
        tell, faults={0: ErrorStatus(429, retry_after=7.5), 1: ErrorStatus(529, retry_after=33)}
    ) as provider:
        await harness.play(provider, format_, clock)
    assert (clock.pauses, await harness.words()) == ([7.5, 33.0], WORDS)


@pytest.mark.behaviour("models")
@both
async def test_an_answer_that_comes_in_crumbs_is_the_same_answer(harness: AppHarness, format_: Format) -> None:
    clock = PassingClock()
    async with FakeProvider(tell, faults=lambda number, asked: Slow(pieces=40, pause_seconds=0.001)) as provider:
        end = await harness.play(provider, format_, clock)
    assert (end, await harness.words(), harness.files) == (Rest(), WORDS, FILES)
    assert (await harness.steps(), len(provider.requests), provider.complaints) == (TOLD, len(STORY), [])
    assert clock.pauses == []


# -- in what is said ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Odd:
    """An answer that is not as it should be, and the step that becomes of it."""

    say: Say
    step: Step


# Given at any call; its likes, which differ in the words alone, at one.
ANYWHERE = {"malformed arguments", "an unknown tool", "cut in the middle of a call", "nothing", "a refusal"}


def placed(answers: Mapping[str, Odd]) -> list[Any]:
    """Return each answer with each call at which it is given."""
    return [
        pytest.param(odd, at, id=f"{name}-{at}")
        for name, odd in answers.items()
        for at in (CALLS if name in ANYWHERE else (2,))
    ]


LOOK: Called = ("read_flie", {"path": "check.sh"})
ODD = {
    "malformed arguments": Odd(
        Say("Hm.", [Use("read_file", raw='{"path": check.sh')]), Step("Hm.", (("read_file", {}),), (False,))
    ),
    "arguments that are no object": Odd(Say(calls=[Use("bash", raw='["ls"]')]), Step("", (("bash", {}),), (False,))),
    "arguments of another tool": Odd(
        Say(calls=[Use("bash", {"path": "x"})]), Step("", (("bash", {"path": "x"}),), (False,))
    ),
    "an unknown tool": Odd(Say("Hm.", [Use(*LOOK)]), Step("Hm.", (LOOK,), (False,))),
    "a tool of no possible name": Odd(Say(calls=[Use("read file?")]), Step("", (("read file?", {}),), (False,))),
    "cut in the middle of a call": Odd(
        Say("Hm.", [Use("bash", raw='{"command": "rm -')], end="length"), Step("Hm.\n\n")
    ),
    "cut before anything whole": Odd(Say(calls=[Use("bash", raw='{"comm')], end="length"), Step("")),
    "cut in the middle of words": Odd(Say("I would say th", end="length"), Step("I would say th")),
}


@pytest.mark.behaviour("loop", "models")
@both
@pytest.mark.parametrize(("odd", "at"), placed(ODD))
async def test_the_model_is_told_of_its_odd_answer_and_goes_on_with_the_story(
    harness: AppHarness, odd: Odd, at: int, format_: Format
) -> None:
    async with FakeProvider(with_one(odd.say, at)) as provider:
        outcome = await harness.run(provider, format_)
    # Words that were cut are continued by the next ones.
    words = f"{odd.step.text}{WORDS}" if odd.say.end == "length" and at == CALLS[-1] else WORDS
    assert (outcome.end, outcome.text, harness.files) == ("answered", words, FILES)
    assert (await harness.steps(), provider.complaints) == ([*TOLD[:at], odd.step, *TOLD[at:]], [])


def with_one(odd: Say, at: int) -> Script:
    """Return the story with one answer put in."""
    return lambda asked: odd if asked.number == at else tell(asked)


# What becomes of each step with its calls doubled: what was edited once has nothing left to edit.
DOUBLED = ((True,) * 4, (True, True), (False, False), (True, False), (True, True), (True, True))


@pytest.mark.behaviour("loop", "models")
@both
@pytest.mark.parametrize("at", CALLS)
async def test_calls_that_share_an_id_are_all_run_and_each_gets_its_result(
    harness: AppHarness, at: int, format_: Format
) -> None:
    calls = STORY[at].calls or [Use("glob", {"pattern": "*"})]
    doubled = replace(STORY[at], calls=[replace(use, id="toolu_same") for use in (*calls, *calls)])
    async with FakeProvider(with_one(doubled, at)) as provider:
        outcome = await harness.run(provider, format_)
    assert (outcome.end, outcome.text, harness.files) == ("answered", WORDS, FILES)
    told = [*TOLD[:at], Step(doubled.text, called(doubled), DOUBLED[at]), *TOLD[at + bool(STORY[at].calls) :]]
    assert (await harness.steps(), provider.complaints) == (told, [])


ENDINGS = {
    "nothing": Odd(Say(), Step("")),
    "blanks": Odd(Say(" \n"), Step("")),
    "thoughts alone": Odd(Say(thinking="Hm."), Step("")),
    "a refusal": Odd(Say(end="refused"), Step(REFUSED)),
    "a refusal in the middle of words": Odd(Say("I will n", end="refused"), Step("I will n")),
}


@pytest.mark.behaviour("loop", "models")
@both
@pytest.mark.parametrize(("ending", "at"), placed(ENDINGS))
async def test_an_answer_without_calls_ends_the_turn_and_the_next_word_goes_on_from_there(
    harness: AppHarness, ending: Odd, at: int, format_: Format
) -> None:
    async with FakeProvider(with_one(ending.say, at)) as provider:
        outcome = await harness.run(provider, format_)
        # A turn that ends without a word is answered by the words of its last calls.
        words = ending.step.text or (STORY[at - 1].text if at else "")
        assert (outcome.end, outcome.text, len(provider.requests)) == ("answered", words, at + 1)
        assert (await harness.statuses())[-1] == ("idle", "")
        outcome = await harness.resume(provider, format_, "go on")
    assert (outcome.end, outcome.text, harness.files) == ("answered", WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == ([*TOLD[:at], ending.step, *TOLD[at:]], [])


# -- too long -------------------------------------------------------------------------------------


@pytest.mark.behaviour("retry")
@both
@pytest.mark.parametrize("at", CALLS)
async def test_a_prompt_that_is_too_long_once_is_compacted_once_and_the_story_goes_on(
    harness: AppHarness, at: int, format_: Format
) -> None:
    async with FakeProvider(tell, faults={at: TooLong()}) as provider:
        outcome = await harness.run(provider, format_)
    assert (outcome.end, outcome.text, harness.files) == ("answered", WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == (TOLD, [])
    # The refused request, the one for the summary, and then the story.
    assert len(provider.requests) == len(STORY) + 2
    assert [type(entry) for entry in await harness.entries() if isinstance(entry, Compacted | Cleared)] == [Compacted]


@pytest.mark.behaviour("retry", "P6")
@both
@pytest.mark.parametrize("at", CALLS)
async def test_a_prompt_that_stays_too_long_parks_the_agent_until_it_is_resumed(
    harness: AppHarness, at: int, format_: Format
) -> None:
    async with FakeProvider(tell, faults={at: TooLong(), at + 2: TooLong()}) as provider:
        outcome = await harness.run(provider, format_)
        assert (outcome.end, len(provider.requests)) == ("parked", at + 3)
        assert "context" in outcome.reason
        assert (await harness.statuses())[-1] == ("parked", outcome.reason)
        outcome = await harness.resume(provider, format_)
    assert (outcome.end, outcome.text, harness.files) == ("answered", WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == (TOLD, [])


# -- for good -------------------------------------------------------------------------------------


@pytest.mark.behaviour("retry", "P6")
@both
@pytest.mark.parametrize("at", [0, 3])
async def test_a_provider_that_never_comes_back_parks_the_agent_which_goes_on_when_resumed(
    harness: AppHarness, at: int, format_: Format
) -> None:
    clock = PassingClock()
    down = [True]

    def plan(number: int, asked: Asked) -> Fault | None:
        return ErrorStatus(529, message="come back later") if number >= at and down else None

    async with FakeProvider(tell, faults=plan) as provider:
        end = await harness.play(provider, format_, clock)
        assert isinstance(end, Rest)
        assert isinstance(end.status, Parked)
        tries = len(clock.pauses) + 1
        assert len(provider.requests) == at + tries
        assert sum(clock.pauses) == pytest.approx(600)
        assert "come back later" in end.status.reason
        assert f"tries: {tries}, waited: 600 s" in end.status.reason
        assert await harness.statuses() == [("working", ""), ("waiting", "retry"), ("parked", end.status.reason)]

        down.clear()
        outcome = await harness.resume(provider, format_)
    assert (outcome.end, outcome.text, harness.files) == ("answered", WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == (TOLD, [])


@pytest.mark.behaviour("retry", "P6")
@both
async def test_a_provider_that_says_no_more_for_ten_minutes_parks_the_agent(
    harness: AppHarness, format_: Format
) -> None:
    clock = PassingClock()
    async with anyio.create_task_group() as silences:

        def plan(number: int, asked: Asked) -> Fault | None:
            silences.start_soon(clock.let_silence_pass)
            return Stall(0.5)

        async with FakeProvider(tell, faults=plan) as provider:
            end = await harness.play(provider, format_, clock)
        silences.cancel_scope.cancel()
    assert isinstance(end, Rest)
    # A silence is cut after three minutes; the fourth one is more than all waiting is worth.
    assert isinstance(end.status, Parked)
    assert (len(provider.requests), len(clock.pauses)) == (4, 3)
    assert "No data for 180 s" in end.status.reason
    assert (await harness.statuses())[-1] == ("parked", end.status.reason)


@pytest.mark.behaviour("budget", "S2")
@both
@pytest.mark.parametrize(
    "say",
    [STORY[0], Say("and so on", end="length"), ODD["an unknown tool"].say],
    ids=["calls", "words without end", "an unknown tool"],
)
async def test_a_model_that_says_the_same_for_ever_is_stopped_by_the_cap_on_steps(
    harness: AppHarness, say: Say, format_: Format
) -> None:
    async with FakeProvider(lambda asked: say) as provider:
        outcome = await harness.run(provider, format_, max_steps=8)
    assert (outcome.end, len(provider.requests), provider.complaints) == ("parked", 8, [])
    assert "8 steps in one turn" in outcome.reason


@pytest.mark.behaviour("retry")
@both
@pytest.mark.parametrize("at", [0, 3])
async def test_where_a_fallback_is_set_it_ends_what_the_other_began(
    harness: AppHarness, at: int, format_: Format
) -> None:
    other = next(each for each in FORMATS if each != format_)

    def plan(number: int, asked: Asked) -> Fault | None:
        return ErrorStatus(529) if number >= at and asked.format == format_ else None

    async with FakeProvider(tell, faults=plan) as provider:
        end = await harness.play(provider, format_, PassingClock(), fallback_model=MODELS[other])
    assert (end, await harness.words(), harness.files) == (Rest(), WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == (TOLD, [])
    said = [entry.usage["model"] for entry in await harness.entries() if isinstance(entry, Said)]
    assert said == [MODELS[format_]] * at + [MODELS[other]] * (len(STORY) - at)


@pytest.mark.behaviour("retry", "P6")
@both
@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize(
    "refusal",
    [ErrorStatus(401, message="this key is not known"), ErrorStatus(404, message="no such model")],
    ids=["401", "404"],
)
async def test_a_provider_that_refuses_for_good_is_asked_once_and_its_words_are_the_reason(
    harness: AppHarness, refusal: ErrorStatus, at: int, format_: Format
) -> None:
    async with FakeProvider(tell, faults={at: refusal}) as provider:
        outcome = await harness.run(provider, format_)
        assert (outcome.end, len(provider.requests)) == ("parked", at + 1)
        assert refusal.message in outcome.reason
        assert (MODELS[format_] in outcome.reason, "Check " in outcome.reason) == (True, True)
        # A team that no model ever answered is not kept.
        assert outcome.kept is (at > 0)
        if outcome.kept:
            assert (await harness.statuses())[-1] == ("parked", outcome.reason)
        outcome = await (harness.resume if outcome.kept else harness.run)(provider, format_)
    assert (outcome.end, outcome.text, harness.files) == ("answered", WORDS, FILES)
    assert (await harness.steps(), provider.complaints) == (TOLD, [])
