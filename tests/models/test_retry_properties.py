"""Retrying under whatever troubles: the first whole reply or an error, within the budget, and nothing left open."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.prompt.prompts import Reply, RetryDelta, TextDelta
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, PromptTooLong
from deskmate.models.retry import Retrying
from tests.models.failing_model import MAIN, OTHER, SILENCE, Attempt, Listener, Part, Playing, good
from tests.passing_clock import PassingClock

pytestmark = pytest.mark.anyio

words = st.text("abc", max_size=3)
troubles = st.builds(ModelTrouble, st.just("busy"), st.none() | st.floats(0, 30))
failures = st.tuples(troubles | troubles | st.sampled_from([ModelRejected("wrong key"), PromptTooLong("much")]))
bad = st.tuples(st.lists(words, max_size=3), failures | st.just(())).map(lambda told: [*told[0], *told[1]])
whole = st.lists(words, max_size=3).map(lambda said: [*said, good("".join(said))])
scripts = st.lists(bad | bad | whole, max_size=8)


def then_busy(script: list[Attempt], name: str) -> Playing:
    return Playing(itertools.chain(script, itertools.repeat([ModelTrouble("busy")])), name)


def is_whole(attempt: Attempt) -> bool:
    return any(isinstance(moment, Reply) for moment in attempt)


def pauses_of(model: Playing, heard: list[Part]) -> list[float]:
    return [part.seconds for part in heard if isinstance(part, RetryDelta) and part.model == model.name]


def valid(heard: list[Part]) -> list[Part]:
    """Return what came after the last retry."""
    return list(itertools.takewhile(lambda part: not isinstance(part, RetryDelta), reversed(heard)))[::-1]


@pytest.mark.behaviour("retry")
@given(
    main=scripts,
    other=st.none() | scripts,
    chances=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    budget=st.sampled_from([0.0, 1.0, 20.0]),
)
async def test_whatever_the_troubles_it_ends_with_the_first_whole_reply_or_an_error_within_its_budget(
    main: list[Attempt], other: list[Attempt] | None, chances: list[float], budget: float
) -> None:
    clock, chance = PassingClock(), itertools.cycle(chances)
    model, fallback = then_busy(main, MAIN), None if other is None else then_busy(other, OTHER)
    listener = Listener(clock)
    try:
        await listener.listen(
            Retrying(
                model,
                clock,
                budget_seconds=budget,
                silence_seconds=SILENCE,
                fallback=fallback,
                random=lambda: next(chance),
            )
        )
        answered = True
    except ModelError:
        answered = False
    heard = [part for _, part in listener.heard]

    models = [model] if fallback is None else [model, fallback]
    played = [attempt for each in models for attempt in each.played]
    assert [is_whole(attempt) for attempt in played] == [False] * (len(played) - 1) + [answered]
    assert sum(each.closed for each in models) == len(played)

    pauses = [pauses_of(each, heard) for each in models]
    assert max(map(sum, pauses)) <= budget + 1e-6
    assert clock.pauses == [seconds for seconds in itertools.chain(*pauses) if seconds > 0]

    replies = [part for part in heard if isinstance(part, Reply)]
    if answered:
        said = [part.text for part in valid(heard) if isinstance(part, TextDelta)]
        assert [*map(TextDelta, said), *replies] == valid(heard)
        assert [reply.text for reply in replies] == ["".join(said)]
    else:
        assert replies == []
