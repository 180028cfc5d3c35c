"""Immutable values behave as `dataclass(frozen=True, slots=True)` makes them."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.values import frozen


@frozen
class Place:
    """Fields without and with a default, one made for each, one that is neither compared nor shown, one set later."""

    name: str
    number: int = 1
    notes: list[int] = field(default_factory=list)
    seen: str = field(default="", compare=False, repr=False)
    label: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", f"{self.name}-{self.number}")


@dataclass(frozen=True, slots=True)
class Standard:
    """The same, made by the standard library."""

    name: str
    number: int = 1
    notes: list[int] = field(default_factory=list)
    seen: str = field(default="", compare=False, repr=False)
    label: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", f"{self.name}-{self.number}")


@frozen
class Pair:
    """Two values that can be hashed."""

    first: object
    second: object = None


@frozen
class Farther(Pair):
    """One more field, after those of its base."""

    third: object = None


@frozen
class Empty:
    """No field at all."""


@frozen
class Loose:
    """Its own equality."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose) and self.name.lower() == other.name.lower()

    def __repr__(self) -> str:
        return "loose"


def call(function: Callable[[], Any]) -> object:
    """Return what a function returns, or the class of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error)


WORDS = st.text(max_size=3)
ARGUMENTS = st.tuples(WORDS, st.integers(0, 2), st.lists(st.integers(0, 1), max_size=2), WORDS)


@given(ARGUMENTS, ARGUMENTS)
def test_a_value_is_equal_shown_copied_and_listed_as_by_the_standard_library(one: Any, other: Any) -> None:
    place, standard = Place(*one), Standard(*one)
    assert (place == Place(*other)) == (standard == Standard(*other))
    assert repr(place) == repr(standard).replace("Standard", "Place")
    assert asdict(place) == asdict(standard)
    assert asdict(replace(place, number=7)) == asdict(replace(standard, number=7))
    for again in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert asdict(again) == asdict(place)


@pytest.mark.parametrize("kind", [Place, Standard])
def test_arguments_are_taken_in_order_or_by_name_and_checked(kind: Any) -> None:
    assert asdict(kind("a", seen="b")) == {"name": "a", "number": 1, "notes": [], "seen": "b", "label": "a-1"}
    assert kind("a").notes is not kind("a").notes
    for wrong in (lambda: kind(), lambda: kind("a", 1, [], "b", "c"), lambda: kind("a", other=1)):
        assert call(wrong) is TypeError


def test_a_value_is_hashed_by_what_it_is_compared_by() -> None:
    assert hash(Pair(1, "a")) == hash(Pair(1, "a"))
    assert {Pair(1), Pair(1), Pair(2)} == {Pair(1), Pair(2)}
    assert call(lambda: hash(Pair([]))) is TypeError


def test_values_of_different_classes_are_never_equal() -> None:
    assert Pair(1, 2) != Farther(1, 2)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())


def test_a_value_cannot_be_changed_and_has_no_other_attributes() -> None:
    pair: Any = Pair(1)
    for attempt in (
        lambda: setattr(pair, "first", 2),
        lambda: delattr(pair, "first"),
        lambda: setattr(pair, "other", 2),
    ):
        assert call(attempt) is FrozenInstanceError
    assert (pair, hasattr(pair, "__dict__")) == (Pair(1), False)


def test_a_class_keeps_the_methods_that_it_defines() -> None:
    assert (Loose("A") == Loose("a"), repr(Loose("a"))) == (True, "loose")
    assert hash(Loose("a")) == hash(Loose("a"))


def test_a_derived_value_has_all_fields_in_order_and_matches_by_position() -> None:
    assert [one.name for one in fields(Farther)] == ["first", "second", "third"]
    match Farther(1, 2, 3):
        case Farther(first, second, third):
            assert (first, second, third) == (1, 2, 3)


def test_a_value_that_contains_itself_can_be_shown() -> None:
    inner: list[object] = []
    pair = Pair(inner)
    inner.append(pair)
    assert repr(pair) == "Pair(first=[...], second=None)"


def test_a_class_of_the_standard_library_inherits_from_a_value_if_it_is_frozen_too() -> None:
    @dataclass(frozen=True)
    class Named(Pair):
        name: str = ""

    assert Named(1, 2, "x") == Named(1, 2, "x") != Named(1, 2, "y")
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclass
        class Changing(Pair):  # type: ignore[misc]  # That is what the test is about.
            name: str = ""
