"""Copies of frozen values are what `dataclasses.replace` would make."""

import dataclasses
from dataclasses import dataclass

import pytest

from deskmate.core.agent.memory import Memory
from deskmate.core.log.value_copies import replace


@dataclass(frozen=True, slots=True)
class Slotted:
    """A value with slots."""

    left: int
    right: int = 0


@dataclass(frozen=True)
class Plain:
    """A value without slots."""

    left: int
    right: int = 0


@pytest.mark.parametrize("value", [Slotted(1, 2), Plain(1, 2)])
def test_a_copy_has_the_new_fields_and_the_value_keeps_its_own(value: Slotted | Plain) -> None:
    before = dataclasses.replace(value)
    assert replace(value, right=3) == dataclasses.replace(value, right=3)
    assert value == before


@pytest.mark.parametrize("value", [Slotted(1), Plain(1)])
def test_a_field_that_does_not_exist_is_refused(value: Slotted | Plain) -> None:
    changes = {"middle": 3}
    with pytest.raises(TypeError):
        replace(value, **changes)


def test_a_copy_of_memory_is_frozen_too() -> None:
    copy = replace(Memory(), number=3)
    assert copy == Memory(number=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.number = 4  # type: ignore[misc]
