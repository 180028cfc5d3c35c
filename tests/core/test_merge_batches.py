"""Batches of the merge queue: which prefix is checked next, and that a batch accepts what one by one would."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.merge_batches import MAX_BATCH, next_limit, next_prefix

# Whether the check fails on these entries, merged in this order.
Fails = Callable[[Sequence[int]], bool]


@pytest.mark.parametrize(
    ("size", "passed", "failed", "expected"),
    [
        (1, 0, None, 1),
        (8, 0, None, 8),
        (8, 8, None, None),
        (8, 0, 8, 4),
        (8, 0, 4, 2),
        (8, 0, 2, 1),
        (8, 0, 1, None),
        (8, 4, 8, 6),
        (8, 6, 8, 7),
        (8, 7, 8, None),
        (1, 0, 1, None),
    ],
)
def test_the_prefix_to_check_next(size: int, passed: int, failed: int | None, expected: int | None) -> None:
    assert next_prefix(size, passed, failed) == expected


@pytest.mark.parametrize(
    ("limit", "size", "accepted", "failed", "expected"),
    [
        (MAX_BATCH, 8, 8, False, MAX_BATCH),
        (MAX_BATCH, 8, 3, True, MAX_BATCH),
        (MAX_BATCH, 8, 0, True, 1),
        (MAX_BATCH, 1, 0, True, MAX_BATCH),
        (1, 1, 0, True, 1),
        (1, 1, 1, False, 2),
        (2, 2, 2, False, 4),
        (4, 4, 1, True, 4),
    ],
)
def test_how_many_tasks_the_next_batch_may_have(
    limit: int, size: int, accepted: int, failed: bool, expected: int
) -> None:
    assert next_limit(limit, size, accepted, failed=failed) == expected


def in_batches(entries: Sequence[int], fails: Fails) -> tuple[list[int], list[int], int, list[list[int]]]:
    """Return which entries are accepted and which are returned, how often the check ran, and each tip of the branch."""
    branch, returned, runs, limit, tips = list[int](), list[int](), 0, MAX_BATCH, list[list[int]]()
    waiting = [*entries]
    while waiting:
        batch = waiting[:limit]
        passed, failed = 0, None
        while prefix := next_prefix(len(batch), passed, failed):
            runs += 1
            if fails([*branch, *batch[:prefix]]):
                failed = prefix
            else:
                passed = prefix
        limit = next_limit(limit, len(batch), passed, failed=failed is not None)
        if passed:
            branch += batch[:passed]
            tips.append([*branch])
        returned += batch[passed : passed + 1] if failed else []
        waiting = waiting[passed + (1 if failed else 0) :]
    return branch, returned, runs, tips


def one_by_one(entries: Sequence[int], fails: Fails) -> list[int]:
    branch = list[int]()
    for entry in entries:
        if not fails([*branch, entry]):
            branch.append(entry)
    return branch


entries = st.integers(0, 90).map(lambda count: [*range(count)])
# The check fails as soon as all entries of one of these sets are merged. More entries never make it succeed again.
bad_sets = st.lists(st.frozensets(st.integers(0, 90), min_size=1, max_size=3), max_size=6)


@given(entries, bad_sets)
def test_if_failures_stay_a_batch_accepts_exactly_what_one_by_one_would(
    entries: list[int], bad: list[frozenset[int]]
) -> None:
    def fails(merged: Sequence[int]) -> bool:
        return any(group <= {*merged} for group in bad)

    branch, returned, _, _ = in_batches(entries, fails)
    assert branch == one_by_one(entries, fails)
    assert sorted([*branch, *returned]) == entries


@given(entries, st.randoms(use_true_random=False))
def test_whatever_the_check_says_no_tip_is_accepted_on_which_it_failed(entries: list[int], chance: object) -> None:
    results = dict[tuple[int, ...], bool]()

    def fails(merged: Sequence[int]) -> bool:
        return results.setdefault(tuple(merged), chance.random() < 0.5)  # type: ignore[attr-defined]

    branch, returned, _, tips = in_batches(entries, fails)
    assert all(not results[tuple(tip)] for tip in tips)
    assert sorted([*branch, *returned]) == entries


@pytest.mark.parametrize(("bad", "runs"), [(set[int](), 1), ({0}, 7), ({3}, 5), ({7}, 4), ({*range(8)}, 11)], ids=str)
def test_how_often_the_check_runs_for_eight_tasks(bad: set[int], runs: int) -> None:
    assert in_batches(range(8), lambda merged: bool(bad & {*merged}))[2] == runs
