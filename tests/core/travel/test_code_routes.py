"""Which bundles a receiver needs."""

import random

from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.travel.code_records import BundleSent, Payload
from deskmate.core.travel.code_routes import MOST_STEPS, is_reached, route


def name(number: int) -> str:
    return f"{number:040x}"


def bundle(tip: int, *needs: int, size: int = 1) -> BundleSent:
    payload = Payload(sha256="0" * 64, size=size)
    return BundleSent(tip=name(tip), needs=tuple(map(name, needs)), payload=payload, at=0.0)


FULL, THIN, THIRD = bundle(1, size=100), bundle(2, 1, size=5), bundle(3, 2, size=7)


def test_a_receiver_without_anything_takes_all_from_the_beginning() -> None:
    assert route([FULL, THIN, THIRD], frozenset(), name(3)) == (FULL, THIN, THIRD)


def test_a_receiver_takes_only_what_it_lacks() -> None:
    assert route([FULL, THIN, THIRD], {name(2)}, name(3)) == (THIRD,)
    assert route([FULL, THIN, THIRD], {name(1), name(3)}, name(3)) == ()


def test_without_the_commits_that_a_bundle_needs_there_is_no_way() -> None:
    assert route([THIN, THIRD], {name(9)}, name(3)) is None
    assert route([], frozenset(), name(3)) is None


def test_the_way_with_the_fewest_bytes_is_taken() -> None:
    again = bundle(3, size=50)
    assert route([FULL, THIN, THIRD, again], frozenset(), name(3)) == (again,)
    assert route([FULL, THIN, THIRD, again], {name(1)}, name(3)) == (THIN, THIRD)


def test_bundles_that_need_each_other_in_a_circle_lead_nowhere() -> None:
    assert route([bundle(1, 2), bundle(2, 1), bundle(3, 3)], {name(9)}, name(1)) is None
    assert route([bundle(3, 3)], frozenset(), name(3)) is None


def test_after_very_many_bundles_a_new_one_is_better() -> None:
    bundles = [FULL, *(bundle(number, number - 1) for number in range(2, MOST_STEPS + 3))]
    assert is_reached(bundles, [], name(MOST_STEPS))
    assert not is_reached(bundles, [], name(MOST_STEPS + 1))
    assert is_reached(bundles, [name(2)], name(MOST_STEPS + 2))


@given(st.data(), st.integers(1, 12))
def test_every_way_is_complete_in_order_and_without_what_is_known(data: st.DataObject, count: int) -> None:
    numbers = st.integers(0, count)
    bundles = [
        bundle(data.draw(numbers), *data.draw(st.lists(numbers, max_size=2)), size=data.draw(st.integers(1, 9)))
        for _ in range(count)
    ]
    random.Random(count).shuffle(bundles)
    has = frozenset(map(name, data.draw(st.lists(numbers, max_size=2))))
    reachable = set(has)
    for _ in bundles:
        reachable |= {one.tip for one in bundles if reachable.issuperset(one.needs)}
    for tip in map(name, range(count + 1)):
        found = route(bundles, has, tip)
        assert (found is not None) == (tip in reachable)
        there = set(has)
        for one in found or ():
            assert there.issuperset(one.needs)
            assert one.tip not in there
            there.add(one.tip)
        assert found is None or tip in there
