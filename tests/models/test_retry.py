"""Retrying: what is asked again, when, of whom, and what remains of it if nobody answers."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import anyio
import pytest

from deskmate.core.prompt.prompts import Prompt, RetryDelta, TextDelta
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, PromptTooLong, Unreachable
from deskmate.models.retry import LEAST_SECONDS, Retrying
from deskmate.models.scripted import RehearsedModel
from deskmate.ports import Model, ModelLimits
from deskmate.testing import FakeClock
from tests.models.failing_model import MAIN, OTHER, PROMPT, SILENCE, Attempt, Listener, Part, Playing, good
from tests.passing_clock import PassingClock

pytestmark = pytest.mark.anyio


def always(error: Exception, name: str = MAIN) -> RehearsedModel:
    return RehearsedModel(lambda prompt: error, name=name)


async def parts_of(model: Model) -> list[Part]:
    with anyio.fail_after(30):
        return [part async for part in model.stream(PROMPT)]


# -- back-off -------------------------------------------------------------------------------------


@pytest.mark.behaviour("retry")
@pytest.mark.parametrize(
    ("chance", "asked", "pauses"),
    [
        (1.0, [None] * 6, [1, 2, 4, 8, 8, 8]),
        (0.5, [None] * 6, [0.5, 1, 2, 4, 4, 4]),
        (0.0, [None] * 2, [LEAST_SECONDS] * 2),
        (1.0, [0.5, 0.5, 30], [1, 2, 30]),
        (0.5, [3, None, 3], [3, 1, 3]),
    ],
)
async def test_pauses_double_up_to_a_bound_and_are_never_shorter_than_asked_for(
    chance: float, asked: Sequence[float | None], pauses: Sequence[float]
) -> None:
    clock = PassingClock()
    model = RehearsedModel([*(ModelTrouble("overloaded", after) for after in asked), "x"], name=MAIN)
    retrying = Retrying(model, clock, most_seconds=8, silence_seconds=SILENCE, random=lambda: chance)
    deltas = [RetryDelta(seconds, "overloaded", MAIN) for seconds in pauses]
    assert await parts_of(retrying) == [*deltas, TextDelta("x"), good("x")]
    assert clock.pauses == pauses


async def test_a_try_is_announced_before_it_is_waited_for() -> None:
    clock = PassingClock()
    async with aclosing(Retrying(always(ModelTrouble("lost")), clock, silence_seconds=SILENCE).stream(PROMPT)) as parts:
        assert isinstance(await anext(parts), RetryDelta)
        assert clock.pauses == []


@pytest.mark.behaviour("retry")
async def test_waiting_ends_with_the_budget_and_the_error_says_what_was_tried() -> None:
    clock = PassingClock()
    model = always(ModelTrouble("overloaded"))
    retrying = Retrying(model, clock, budget_seconds=10, silence_seconds=SILENCE, random=lambda: 1.0)
    with pytest.raises(ModelTrouble) as given_up:
        await parts_of(retrying)
    assert clock.pauses == [1, 2, 4, 3]
    assert str(given_up.value) == (
        "scripted:main gave no answer: overloaded (tries: 5, waited: 10 s). Try again later."
    )


@pytest.mark.behaviour("retry")
async def test_a_server_that_was_never_reached_is_given_up_soon() -> None:
    clock = PassingClock()
    trouble = Unreachable("Cannot connect", hint="Check the address.")
    retrying = Retrying(always(trouble), clock, silence_seconds=SILENCE, random=lambda: 1.0)
    with pytest.raises(Unreachable) as given_up:
        await parts_of(retrying)
    assert sum(clock.pauses) == 15
    told = "Cannot connect (tries: 5, waited: 15 s). Check the address."
    assert str(given_up.value) == told


async def test_a_server_that_was_reached_before_is_waited_for() -> None:
    clock = PassingClock()
    model = RehearsedModel(["a", *[Unreachable("Cannot connect")] * 12, "b"], name=MAIN)
    retrying = Retrying(model, clock, silence_seconds=SILENCE, random=lambda: 1.0)
    assert [(await parts_of(retrying))[-1] for _ in range(2)] == [good("a"), good("b")]
    assert sum(clock.pauses) > 15


async def test_the_name_of_a_model_is_told_once() -> None:
    retrying = Retrying(always(ModelTrouble(f"{MAIN} failed (500): oops")), PassingClock(), budget_seconds=1)
    with pytest.raises(ModelTrouble) as given_up:
        await parts_of(retrying)
    assert str(given_up.value).count(MAIN) == 1


async def test_each_prompt_has_a_budget_of_its_own() -> None:
    clock = PassingClock()
    model = RehearsedModel([ModelTrouble("lost"), "a", ModelTrouble("lost"), "b"], name=MAIN)
    retrying = Retrying(model, clock, budget_seconds=1, silence_seconds=SILENCE, random=lambda: 1.0)
    assert [(await parts_of(retrying))[-1] for _ in range(2)] == [good("a"), good("b")]


@pytest.mark.behaviour("retry")
async def test_a_provider_that_asks_for_more_patience_than_is_left_is_not_waited_for() -> None:
    clock = PassingClock()
    model = RehearsedModel([ModelTrouble("lost"), ModelTrouble("limit reached", 10.0), "never"], name=MAIN)
    retrying = Retrying(model, clock, budget_seconds=10, silence_seconds=SILENCE, random=lambda: 1.0)
    with pytest.raises(ModelTrouble, match=r"limit reached. It asks to wait 10 s \(tries: 2, waited: 1 s\)"):
        await parts_of(retrying)
    assert clock.pauses == [1]


async def test_a_provider_may_ask_for_all_the_patience_that_is_left() -> None:
    clock = PassingClock()
    model = RehearsedModel([ModelTrouble("limit reached", 10.0), "x"], name=MAIN)
    retrying = Retrying(model, clock, budget_seconds=10, silence_seconds=SILENCE, random=lambda: 1.0)
    assert (await parts_of(retrying))[-1] == good("x")
    assert clock.pauses == [10]


# -- what counts as trouble -----------------------------------------------------------------------


@pytest.mark.behaviour("retry")
@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        (["half an ", ModelTrouble("connection lost")], "connection lost"),
        (["half an "], "The answer stopped before its end"),
        ([], "The answer stopped before its end"),
    ],
)
async def test_an_answer_that_breaks_off_is_void_and_asked_for_again(attempt: Attempt, reason: str) -> None:
    model = Playing([attempt, ["whole", good("whole")]])
    retrying = Retrying(model, PassingClock(), silence_seconds=SILENCE, random=lambda: 1.0)
    said = [TextDelta(word) for word in attempt if isinstance(word, str)]
    assert await parts_of(retrying) == [*said, RetryDelta(1.0, reason, MAIN), TextDelta("whole"), good("whole")]
    assert model.closed == 2


async def test_what_a_model_says_after_its_reply_is_not_listened_to() -> None:
    model = Playing([[good("x"), "more", ModelTrouble("lost")]])
    assert await parts_of(Retrying(model, PassingClock(), silence_seconds=SILENCE)) == [good("x")]
    assert model.closed == 1


async def test_a_reply_is_given_once_even_if_letting_go_of_the_model_fails() -> None:
    class Clinging(Playing):
        async def stream(self, prompt: Prompt) -> AsyncGenerator[Part, None]:
            self.closed += 1
            try:
                yield good(f"try {self.closed}")
            finally:
                if self.closed == 1:
                    raise ModelTrouble("lost while closing")

    retrying = Retrying(Clinging([]), PassingClock(), silence_seconds=SILENCE, random=lambda: 1.0)
    assert await parts_of(retrying) == [RetryDelta(1.0, "lost while closing", MAIN), good("try 2")]


@pytest.mark.parametrize("error", [ValueError("a defect"), ExceptionGroup("defects", [ValueError()]), OSError()])
async def test_a_defect_comes_through_as_it_was_raised(error: Exception) -> None:
    retrying = Retrying(always(error), PassingClock(), silence_seconds=SILENCE, fallback=RehearsedModel(["x"]))
    with pytest.raises(type(error)) as raised:
        await parts_of(retrying)
    assert raised.value is error


async def test_the_last_trouble_and_its_own_cause_are_kept_as_the_cause() -> None:
    trouble = ModelTrouble("connection lost")
    trouble.__cause__ = OSError("reset by peer")
    with pytest.raises(ModelTrouble) as given_up:
        await parts_of(Retrying(always(trouble), PassingClock(), budget_seconds=0, silence_seconds=SILENCE))
    causes = [given_up.value.__cause__]
    while causes[-1] is not None:
        causes.append(causes[-1].__cause__)
    assert causes[-3:] == [trouble, trouble.__cause__, None]


# -- the fallback ---------------------------------------------------------------------------------


@pytest.mark.behaviour("retry")
async def test_once_the_budget_is_spent_the_fallback_gets_the_same() -> None:
    clock = PassingClock()
    other = RehearsedModel([ModelTrouble("busy"), ModelTrouble("busy"), "x"], name=OTHER)
    retrying = Retrying(
        always(ModelTrouble("overloaded")),
        clock,
        budget_seconds=3,
        silence_seconds=SILENCE,
        fallback=other,
        random=lambda: 1.0,
    )
    assert await parts_of(retrying) == [
        RetryDelta(1.0, "overloaded", MAIN),
        RetryDelta(2.0, "overloaded", MAIN),
        RetryDelta(0.0, "scripted:main gave no answer: overloaded (tries: 3, waited: 3 s)", OTHER),
        RetryDelta(1.0, "busy", OTHER),
        RetryDelta(2.0, "busy", OTHER),
        TextDelta("x"),
        good("x", OTHER),
    ]
    assert clock.pauses == [1, 2, 1, 2]


@pytest.mark.behaviour("retry")
async def test_a_rejected_prompt_goes_to_the_fallback_at_once() -> None:
    clock = PassingClock()
    main = Playing([["half", ModelRejected("no such model")]])
    retrying = Retrying(main, clock, silence_seconds=SILENCE, fallback=RehearsedModel(["x"], name=OTHER))
    switch = RetryDelta(0.0, "no such model", OTHER)
    assert await parts_of(retrying) == [TextDelta("half"), switch, TextDelta("x"), good("x", OTHER)]
    assert clock.pauses == []


TROUBLE, REJECTED, TOO_LONG = ModelTrouble("busy"), ModelRejected("wrong key"), PromptTooLong("210,000 tokens")
GAVE_UP = "gave no answer: busy (tries: 1, waited: 0 s)"


@pytest.mark.behaviour("retry")
@pytest.mark.parametrize(
    ("main", "other", "error", "text"),
    [
        (TROUBLE, None, ModelTrouble, f"{MAIN} {GAVE_UP}. Try again later."),
        (
            TROUBLE,
            TROUBLE,
            ModelTrouble,
            f"{MAIN} {GAVE_UP}. The fallback failed too: {OTHER} {GAVE_UP}. Try again later.",
        ),
        (TROUBLE, REJECTED, ModelTrouble, f"{MAIN} {GAVE_UP}. The fallback failed too: wrong key. Try again later."),
        (TROUBLE, TOO_LONG, PromptTooLong, "210,000 tokens"),
        (REJECTED, None, ModelRejected, "wrong key"),
        (REJECTED, TROUBLE, ModelTrouble, f"wrong key. The fallback failed too: {OTHER} {GAVE_UP}. Try again later."),
        (REJECTED, REJECTED, ModelRejected, "wrong key. The fallback failed too: wrong key"),
        (TOO_LONG, None, PromptTooLong, "210,000 tokens"),
        (TOO_LONG, REJECTED, PromptTooLong, "210,000 tokens"),
    ],
)
async def test_if_nobody_answers_the_error_says_whether_asking_again_may_help(
    main: ModelError, other: ModelError | None, error: type[ModelError], text: str
) -> None:
    fallback = None if other is None else always(other, OTHER)
    retrying = Retrying(always(main), PassingClock(), budget_seconds=0, silence_seconds=SILENCE, fallback=fallback)
    with pytest.raises(error) as raised:
        await parts_of(retrying)
    assert (type(raised.value), str(raised.value)) == (error, text)


async def test_a_prompt_that_is_too_long_is_asked_of_nobody_else() -> None:
    main, other = always(TOO_LONG), RehearsedModel(["x"])
    with pytest.raises(PromptTooLong):
        await parts_of(Retrying(main, PassingClock(), silence_seconds=SILENCE, fallback=other))
    assert (main.prompts, other.prompts) == ([PROMPT], [])


@pytest.mark.parametrize(
    ("main", "other", "limits"),
    [
        (ModelLimits(200, 32), None, ModelLimits(200, 32)),
        (ModelLimits(200, 32), ModelLimits(100, 8), ModelLimits(100, 8)),
        (ModelLimits(200, 32), ModelLimits(400, 8), ModelLimits(200, 32)),
    ],
)
def test_it_goes_by_the_name_of_the_main_model_and_the_smaller_window(
    main: ModelLimits, other: ModelLimits | None, limits: ModelLimits
) -> None:
    fallback = None if other is None else RehearsedModel([], name=OTHER, limits=other)
    retrying = Retrying(RehearsedModel([], name=MAIN, limits=main), FakeClock(), fallback=fallback)
    assert (retrying.name, retrying.limits) == (MAIN, limits)


# -- silence, closing, cancelling -----------------------------------------------------------------


async def pass_seconds(clock: FakeClock, *steps: float) -> None:
    for seconds in steps:
        await anyio.wait_all_tasks_blocked()
        clock.advance(seconds)
    await anyio.wait_all_tasks_blocked()


@pytest.mark.behaviour("retry")
@pytest.mark.parametrize("attempt", [[anyio.sleep_forever], ["half", anyio.sleep_forever]])
async def test_a_stream_that_falls_silent_is_cut_and_asked_for_again(attempt: Attempt) -> None:
    clock = FakeClock()
    model = Playing([attempt, [good("x")]])
    listener = Listener(clock)
    said = [(0.0, TextDelta(word)) for word in attempt if isinstance(word, str)]
    async with anyio.create_task_group() as group:
        group.start_soon(listener.listen, Retrying(model, clock, random=lambda: 1.0))
        await pass_seconds(clock, 179.5)
        assert (listener.heard, model.closed) == (said, 0)
        await pass_seconds(clock, 0.5)
        assert listener.heard == [*said, (180.0, RetryDelta(1.0, "No data for 180 s", MAIN))]
        assert model.closed == 1
        clock.advance(1)
    assert listener.heard[-1] == (181.0, good("x"))


async def test_every_word_breaks_the_silence() -> None:
    clock = FakeClock()
    first, second = anyio.Event(), anyio.Event()
    model = Playing([["a", first.wait, "b", second.wait, good("ab")]])
    listener = Listener(clock)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.listen, Retrying(model, clock))
        await pass_seconds(clock, 179)
        first.set()
        await pass_seconds(clock, 179)
        second.set()
    assert listener.heard == [(0.0, TextDelta("a")), (179.0, TextDelta("b")), (358.0, good("ab"))]


async def test_a_word_that_comes_with_the_last_second_is_heard() -> None:
    clock, word = FakeClock(), anyio.Event()
    listener = Listener(clock)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.listen, Retrying(Playing([[word.wait, good("x")]]), clock))
        await anyio.wait_all_tasks_blocked()
        word.set()
        clock.advance(180)
    assert listener.heard == [(180.0, good("x"))]


async def test_a_listener_who_is_slow_is_no_silence() -> None:
    clock = FakeClock()
    async with aclosing(Retrying(Playing([["a", good("a")]]), clock).stream(PROMPT)) as parts:
        assert await anext(parts) == TextDelta("a")
        clock.advance(1_000)
        assert await anext(parts) == good("a")


@pytest.mark.behaviour("retry")
async def test_silence_is_waiting_too_and_counts_against_the_budget() -> None:
    clock = FakeClock()
    model = Playing([[anyio.sleep_forever]] * 3)
    with pytest.RaisesGroup(pytest.RaisesExc(ModelTrouble, match=r"No data for 180 s \(tries: 2, waited: 361 s\)")):
        async with anyio.create_task_group() as group:
            group.start_soon(parts_of, Retrying(model, clock, budget_seconds=300, random=lambda: 1.0))
            await pass_seconds(clock, 180, 1, 180)
    assert (len(model.played), model.closed) == (2, 2)


async def test_closing_it_closes_the_model() -> None:
    model = Playing([["a", "b", good("ab")]])
    async with aclosing(Retrying(model, FakeClock()).stream(PROMPT)) as parts:
        assert await anext(parts) == TextDelta("a")
        assert model.closed == 0
    assert model.closed == 1


@pytest.mark.parametrize("attempt", [["a", anyio.sleep_forever], [anyio.sleep_forever], ["a", ModelTrouble("busy")]])
async def test_cancelling_it_closes_the_model_and_asks_nobody_else(attempt: Attempt) -> None:
    clock = FakeClock()
    model, other = Playing([attempt]), RehearsedModel(["x"])
    listener = Listener(clock)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.listen, Retrying(model, clock, fallback=other))
        await anyio.wait_all_tasks_blocked()
        listener.scope.cancel()
    assert listener.scope.cancelled_caught
    assert (model.closed, other.prompts) == (1, [])


async def test_the_time_that_failed_tries_took_is_waited_too() -> None:
    clock, tries = PassingClock(), 0

    async def slow_to_fail(prompt: Prompt) -> ModelTrouble:
        nonlocal tries
        tries += 1
        clock.advance(120)
        return ModelTrouble("kept silent too long")

    model = Retrying(
        RehearsedModel(slow_to_fail), clock, budget_seconds=600, silence_seconds=SILENCE, random=lambda: 0.0
    )
    with pytest.raises(ModelTrouble):
        await parts_of(model)
    assert tries == 5
