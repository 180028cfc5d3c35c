"""The search for an order agrees with the slow and obvious one, which tries them all on a plain register."""

from collections.abc import Sequence
from itertools import chain, combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.testing.run_history import HistoryEvent, Json, check_claims
from tests.testing import Call, Outcome, call


class Register:
    """One task, one operation at a time."""

    def __init__(self) -> None:
        self.owner: str | None = None
        self.done = False
        self.epoch = 0

    def apply(self, action: str, value: Json) -> tuple[str, Json]:
        if action == "claim":
            return self.claim(str(value))
        if self.done or [self.owner, self.epoch] != value:
            return "fail", None
        if action == "release":
            self.owner, self.epoch = None, self.epoch + 1
        else:
            self.done = True
        return "ok", None

    def claim(self, owner: str) -> tuple[str, Json]:
        if self.owner is not None:
            return "fail", self.owner
        self.owner, self.epoch = owner, self.epoch + 1
        return "ok", self.epoch


def can_be_explained(calls: Sequence[Call]) -> bool:
    """Try every order of every choice of operations in doubt."""
    sure = [one for one in calls if len(one) == 2]
    doubts = [one for one in calls if len(one) == 1]
    return any(
        keeps_time(order) and outcomes_agree(order)
        for size in range(len(doubts) + 1)
        for chosen in combinations(doubts, size)
        for order in permutations([*sure, *chosen])
    )


def keeps_time(order: Sequence[Call]) -> bool:
    return all(
        len(later) == 1 or later[1].at >= earlier[0].at
        for position, later in enumerate(order)
        for earlier in order[:position]
    )


def outcomes_agree(order: Sequence[Call]) -> bool:
    register = Register()
    return all(
        agrees(register.apply(events[0].action, events[0].value), events[1:], events[0].action) for events in order
    )


def agrees(outcome: tuple[str, Json], recorded: Sequence[HistoryEvent], action: str) -> bool:
    if not recorded:
        return True
    kind, result = outcome
    told = recorded[0].value
    return recorded[0].kind == kind and (action != "claim" or told == result or (kind == "fail" and told is None))


owners = st.sampled_from(["alice", "bob"])
actions = st.sampled_from(["claim", "release", "complete"])
lengths = st.integers(0, 250)


@st.composite
def executions(draw: st.DrawFn, most: int) -> list[Call]:
    """Draw what one register answered, each answer at a moment within its operation; alice claims first."""
    register = Register()
    register.apply("claim", "alice")
    calls = [call((500, 500 + draw(lengths)), "claim", "alice", ("ok", 1))]
    for at in range(600, 600 + 100 * draw(st.integers(0, most - 1)), 100):
        action, owner = draw(actions), draw(owners)
        epoch = draw(st.sampled_from([register.epoch, register.epoch, 1]))
        value: Json = owner if action == "claim" else [owner, epoch]
        outcome = register.apply(action, value)
        told = None if outcome[0] == "fail" and draw(st.booleans()) else outcome[1]
        in_doubt = draw(st.integers(0, 4)) == 0
        span = at - draw(lengths), at + draw(lengths)
        calls.append(call(span, action, value, None if in_doubt else (outcome[0], told)))
    return calls


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, 2_000))
    return start, start + draw(lengths)


@st.composite
def anything(draw: st.DrawFn) -> Call:
    """Draw one operation whose outcome nobody worked out."""
    action, owner, epoch = draw(actions), draw(owners), draw(st.integers(0, 4))
    refused: Outcome = ("fail", draw(st.sampled_from(["alice", "bob", None])))
    outcome = draw(st.sampled_from([("ok", epoch), refused, None]))
    return call(draw(spans()), action, owner if action == "claim" else [owner, epoch], outcome)


@given(executions(most=40), st.lists(spans(), max_size=3))
def test_whatever_one_register_answered_is_accepted(calls: list[Call], ghosts: list[tuple[int, int]]) -> None:
    never_happened = [call(span, "claim", "ghost", None) for span in ghosts]
    assert check_claims(chain(*calls, *never_happened)) == []


Operation = tuple[str, Json, Outcome]


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param([("claim", "mallory", ("ok", 1))], id="second claim at an epoch"),
        pytest.param([("claim", "mallory", ("ok", 2))], id="claim at an epoch that belongs to a release"),
        pytest.param([("claim", "alice", ("fail", "mallory"))], id="refused for one who never claimed"),
        pytest.param([("complete", ["mallory", 1], ("ok", None))], id="completed with the epoch of another"),
        pytest.param([("release", ["alice", 1], ("ok", None))] * 2, id="released twice"),
        pytest.param(
            [("complete", ["alice", 1], ("ok", None)), ("claim", "mallory", ("ok", 3))], id="claimed when done"
        ),
    ],
)
@given(calls=executions(most=20), data=st.data())
def test_a_violation_planted_anywhere_is_always_found(
    planted: list[Operation], calls: list[Call], data: st.DataObject
) -> None:
    wrong = [call(data.draw(spans()), *operation) for operation in planted]
    (violation,) = check_claims(chain(*calls, *wrong))
    assert violation.key == "7"
    assert violation.kind not in ("undecided", "empty")


@given(executions(most=4), st.lists(anything(), max_size=2))
def test_the_search_agrees_with_trying_every_order(calls: list[Call], more: list[Call]) -> None:
    calls = [*calls, *more]
    assert (check_claims(chain(*calls)) == []) == can_be_explained(calls)
