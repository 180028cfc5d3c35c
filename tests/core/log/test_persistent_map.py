"""A map that only grows: what it keeps, that older ones stay as they were, and what adding costs."""

from collections.abc import Iterable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.log.persistent_map import Seen

NONE_SEEN: Seen[int] = Seen()

pairs = st.lists(st.tuples(st.sampled_from([*"abcdefghij"]) | st.text(), st.integers()))


def seen_of(met: Iterable[tuple[str, int]]) -> Seen[int]:
    seen: Seen[int] = Seen()
    for key, value in met:
        seen = seen.put(key, value)
    return seen


def first_values(met: Iterable[tuple[str, int]]) -> dict[str, int]:
    kept: dict[str, int] = {}
    for key, value in met:
        kept.setdefault(key, value)
    return kept


@given(pairs)
def test_it_keeps_what_a_dictionary_of_first_values_keeps(met: list[tuple[str, int]]) -> None:
    seen, kept = seen_of(met), first_values(met)
    assert {key: seen.get(key) for key, _ in met} == kept
    assert len(seen) == len(kept)
    assert all(key in seen for key in kept)


@given(pairs, st.text())
def test_a_key_never_met_stands_for_nothing(met: list[tuple[str, int]], key: str) -> None:
    seen = seen_of(met)
    if key not in first_values(met):
        assert key not in seen
        assert seen.get(key) is None


@given(pairs)
def test_older_versions_stay_as_they_were(met: list[tuple[str, int]]) -> None:
    versions = [seen_of(met[:cut]) for cut in range(len(met) + 1)]
    grown: Seen[int] = Seen()
    chain = [grown]
    for key, value in met:
        grown = grown.put(key, value)
        chain.append(grown)
    assert chain == versions
    assert [len(seen) for seen in chain] == [len(first_values(met[:cut])) for cut in range(len(met) + 1)]


@given(pairs)
def test_two_branches_of_one_version_do_not_touch_each_other(met: list[tuple[str, int]]) -> None:
    trunk = seen_of(met)
    left, right = trunk.put("left-branch", 1), trunk.put("right-branch", 2)
    assert ("left-branch" in right, "right-branch" in left) == (False, False)
    assert (left.get("left-branch"), right.get("right-branch")) == (1, 2)


@given(pairs, st.randoms())
def test_equality_is_about_what_was_met_not_about_when(met: list[tuple[str, int]], random: Random) -> None:
    kept = list(first_values(met).items())
    shuffled = kept.copy()
    random.shuffle(shuffled)
    assert seen_of(shuffled) == seen_of(kept)
    assert hash(seen_of(shuffled)) == hash(seen_of(kept))
    assert seen_of(kept) != seen_of([*kept, ("one\x00more", 1)])


def test_another_value_for_a_key_makes_another_map_and_a_dictionary_is_none() -> None:
    assert NONE_SEEN.put("a", 1) != NONE_SEEN.put("a", 2)
    assert NONE_SEEN.put("a", 1) != {"a": 1}
    assert Seen() == Seen()


def test_putting_a_key_again_returns_the_same_map() -> None:
    seen = seen_of([("a", 1), ("b", 2)])
    assert seen.put("a", 3) is seen


def test_a_hundred_thousand_keys_are_kept_in_few_levels_and_moved_few_times() -> None:
    seen: Seen[int] = Seen()
    copied = 0
    for value in range(100_000):
        before = {id(level) for level in seen.levels}
        seen = seen.put(f"id-{value}", value)
        copied += sum(len(level) for level in seen.levels if id(level) not in before)
        assert len(seen.levels) <= 18
    assert len(seen) == 100_000
    # Each key moves once whenever the level it stands in doubles: 17 times here, plus its first writing.
    assert copied <= 18 * 100_000
