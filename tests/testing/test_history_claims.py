"""Claims that can be explained pass; every planted violation is named."""

from collections.abc import Iterator, Sequence
from itertools import chain

import pytest

from deskmate.testing.run_history import HistoryEvent, Violation, check_claims
from tests.testing import Call, call


def claimed(at: int, owner: str, epoch: int) -> Call:
    return call((at, at + 5), "claim", owner, ("ok", epoch))


def released(at: int, owner: str, epoch: int) -> Call:
    return call((at, at + 5), "release", [owner, epoch], ("ok", None))


def completed(at: int, owner: str, epoch: int) -> Call:
    return call((at, at + 5), "complete", [owner, epoch], ("ok", None))


def events_of(calls: Sequence[Call]) -> list[HistoryEvent]:
    return sorted(chain.from_iterable(calls), key=lambda event: event.at)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([claimed(0, "alice", 1), completed(10, "alice", 1)], id="claimed and completed"),
        pytest.param(
            [claimed(0, "alice", 1), released(10, "alice", 1), claimed(20, "bob", 3), completed(30, "bob", 3)],
            id="handed on by a release",
        ),
        pytest.param(
            [call((0, 50), "claim", "alice", ("ok", 1)), call((10, 20), "claim", "bob", ("fail", "alice"))],
            id="refused while the winner has not returned yet",
        ),
        pytest.param(
            [
                claimed(0, "alice", 1),
                released(10, "alice", 1),
                claimed(20, "bob", 3),
                call((30, 35), "complete", ["alice", 1], ("fail", "stale")),
            ],
            id="stale epoch refused",
        ),
        pytest.param(
            [
                claimed(0, "alice", 1),
                completed(10, "alice", 1),
                call((20, 25), "claim", "bob", ("fail", None)),
                call((20, 25), "claim", "carol", ("fail", "alice")),
            ],
            id="refused once done",
        ),
        pytest.param(
            [
                call((0, 100), "claim", "bob", ("fail", "alice")),
                claimed(10, "alice", 1),
                released(20, "alice", 1),
                call((30, 90), "claim", "carol", ("ok", 3)),
            ],
            id="refused long before it was told so",
        ),
        pytest.param(
            [call((0, 0), "claim", "alice", None), call((10, 15), "claim", "bob", ("fail", "alice"))],
            id="claim in doubt took effect",
        ),
        pytest.param(
            [call((0, 0), "claim", "alice", None), claimed(10, "bob", 1)], id="claim in doubt never took effect"
        ),
        pytest.param(
            [claimed(0, "alice", 1), call((10, 10), "release", ["alice", 1], None), claimed(900, "bob", 3)],
            id="release in doubt took effect late",
        ),
        pytest.param(
            [
                call((0, 10), "claim", "alice", ("ok", 1)),
                call((10, 20), "release", ["alice", 1], ("ok", None)),
                call((20, 30), "claim", "alice", ("ok", 3)),
            ],
            id="equal stamps count as concurrent",
        ),
    ],
)
def test_a_history_that_can_be_explained_passes(calls: list[Call]) -> None:
    assert check_claims(events_of(calls)) == []


@pytest.mark.parametrize(
    ("calls", "kind", "message"),
    [
        pytest.param(
            [claimed(0, "alice", 1), claimed(2, "bob", 1)],
            "double-claim",
            "task 7: 'alice' and 'bob' both claimed it at epoch 1",
            id="both win at one epoch",
        ),
        pytest.param(
            [claimed(0, "alice", 1), claimed(10, "bob", 2)],
            "double-claim",
            "task 7: 'bob' claimed it at epoch 2 though 'alice' claimed it at epoch 1",
            id="claimed while owned",
        ),
        pytest.param(
            [claimed(0, "alice", 1), completed(10, "alice", 1), claimed(20, "bob", 2)],
            "after-done",
            "task 7: 'bob' claimed it at epoch 2 though 'alice' completed it at epoch 1",
            id="claimed after done",
        ),
        pytest.param(
            [
                claimed(0, "alice", 1),
                released(10, "alice", 1),
                claimed(20, "bob", 3),
                completed(30, "alice", 1),
            ],
            "unfenced",
            "task 7: 'alice' completed it at epoch 1 though 'bob' claimed it at epoch 3",
            id="completed with a stale epoch",
        ),
        pytest.param(
            [claimed(0, "alice", 1), completed(10, "bob", 1)],
            "unfenced",
            "task 7: 'bob' completed it at epoch 1 though 'alice' claimed it at epoch 1",
            id="completed by another",
        ),
        pytest.param(
            [claimed(0, "alice", 1), completed(10, "alice", 1), completed(20, "alice", 1)],
            "unfenced",
            "task 7: 'alice' completed it at epoch 1 though 'alice' completed it at epoch 1",
            id="completed twice",
        ),
        pytest.param(
            [claimed(0, "alice", 1), released(10, "alice", 1), released(20, "alice", 1)],
            "unfenced",
            "task 7: 'alice' released it at epoch 1 though 'alice' released it at epoch 1",
            id="released twice",
        ),
        pytest.param(
            [claimed(0, "alice", 1), released(10, "alice", 1), claimed(20, "bob", 2)],
            "impossible",
            "task 7: 'bob' claimed it at epoch 2 though 'alice' released it at epoch 1",
            id="release that did not count",
        ),
        pytest.param(
            [claimed(0, "alice", 2)],
            "impossible",
            "task 7: 'alice' claimed it at epoch 2, which nothing explains",
            id="epoch skipped",
        ),
        pytest.param(
            [call((0, 5), "claim", "bob", ("fail", "alice"))],
            "wrong-refusal",
            "task 7: 'bob' was refused a claim because 'alice' had it, at no time rightly",
            id="refused for an owner who had not claimed",
        ),
        pytest.param(
            [claimed(0, "alice", 1), call((10, 15), "release", ["alice", 1], ("fail", None))],
            "wrong-refusal",
            "task 7: 'alice' was refused a release, at no time rightly",
            id="owner refused",
        ),
        pytest.param(
            [
                call((0, 0), "claim", "alice", None),
                call((10, 15), "claim", "bob", ("fail", "alice")),
                claimed(20, "bob", 1),
            ],
            "impossible",
            "task 7: 'bob' claimed it at epoch 1, which nothing explains",
            id="claim in doubt seen and then gone",
        ),
        pytest.param(
            [
                call((0, 0), "claim", "alice", None),
                claimed(10, "bob", 1),
                released(20, "bob", 1),
                call((30, 35), "claim", "carol", ("fail", "alice")),
                call((40, 45), "release", ["alice", 3], ("ok", None)),
                call((50, 55), "claim", "carol", ("fail", "alice")),
            ],
            "wrong-refusal",
            "task 7: 'carol' was refused a claim because 'alice' had it, at no time rightly",
            id="claim in doubt took effect twice",
        ),
    ],
)
def test_a_planted_violation_is_named_with_its_prefix(calls: list[Call], kind: str, message: str) -> None:
    later = call((1_000, 1_010), "claim", "dora", ("fail", None))
    elsewhere = call((0, 5), "claim", "alice", ("ok", 1), key="8")
    violation = Violation("7", kind, message, tuple(events_of(calls)))
    assert check_claims([*events_of(calls), *later, *elsewhere]) == [violation]
    assert check_claims(violation.prefix) == [violation]
    assert str(violation).startswith(message)


def test_every_task_has_a_violation_of_its_own() -> None:
    history = [
        event
        for key in ("1", "2", "3")
        for owner in ("alice", "bob")
        for event in call((0, 5), "claim", owner, ("ok", 1 if key != "2" or owner == "alice" else 3), key)
    ]
    assert [(found.key, found.kind) for found in check_claims(history)] == [
        ("1", "double-claim"),
        ("2", "double-claim"),
        ("3", "double-claim"),
    ]


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([], id="no event"),
        pytest.param(call((0, 0), "claim", "alice", None), id="only in doubt"),
        pytest.param(call((0, 5), "send", ["alice", 1, "m1"], ("ok", None)), id="only mail"),
    ],
)
def test_a_history_that_proves_nothing_does_not_pass(history: Sequence[HistoryEvent]) -> None:
    text = "no claim, release or complete has an outcome: nothing was checked"
    assert check_claims(history) == [Violation("", "empty", text)]


def test_a_search_that_meets_its_limit_says_undecided_instead_of_passing() -> None:
    owners = [f"a{number}" for number in range(14)]
    doubts = [
        event
        for owner in owners
        for event in (
            *call((0, 0), "claim", owner, None),
            *chain.from_iterable(call((0, 0), "release", [owner, epoch], None) for epoch in range(1, 29, 2)),
        )
    ]
    last = call((10, 20), "claim", "bob", ("ok", 99))
    assert [(found.key, found.kind) for found in check_claims([*doubts, *last])] == [("7", "undecided")]


def test_claims_in_doubt_by_one_owner_stand_for_each_other() -> None:
    doubts = [call((0, 0), "claim", "alice", None) for _ in range(30)]
    used = [
        one
        for epoch in range(1, 31, 2)
        for one in (
            call((epoch * 10, epoch * 10 + 2), "claim", "bob", ("fail", "alice")),
            released(epoch * 10 + 3, "alice", epoch),
        )
    ]
    assert check_claims(events_of([*doubts, *used])) == []


def test_many_claimers_of_many_tasks_are_checked_to_the_end() -> None:
    claimers = [f"a{number}" for number in range(16)]
    history = [
        event
        for task in range(1_000)
        for claimer in claimers
        for event in call(
            (task * 10, task * 10 + 100),
            "claim",
            claimer,
            ("ok", 1) if claimer == claimers[task % 16] else ("fail", claimers[task % 16]),
            key=str(task),
        )
    ]
    assert check_claims(history) == []
    second = call((5_000, 10_100), "claim", "late", ("ok", 1), key="500")
    assert [(found.key, found.kind) for found in check_claims([*history, *second])] == [("500", "double-claim")]


def long_history(rounds: int) -> Iterator[Call]:
    """Yield claims and releases of one task that overlap with their neighbours; some end in doubt."""
    for number in range(rounds):
        owner, epoch, at = f"a{number % 5}", 2 * number + 1, 100 * number
        in_doubt = number % 10 == 3
        yield call((at - 80, at + 80), "claim", owner, ("ok", epoch))
        yield call((at - 60, at + 90), "claim", "hopeful", ("fail", owner))
        yield call((at - 30, at + 130), "release", [owner, epoch], None if in_doubt else ("ok", None))
        if in_doubt:
            yield call((at, at), "claim", "ghost", None)


def test_a_long_history_of_one_task_is_checked_to_the_end() -> None:
    history = list(long_history(500))
    assert check_claims(events_of(history)) == []
    stale = call((49_000, 50_500), "complete", ["a0", 11], ("ok", None))
    assert [found.kind for found in check_claims(events_of([*history, stale]))] == ["unfenced"]
