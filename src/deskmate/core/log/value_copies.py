"""Copies of frozen values with other fields.

A fold makes such a copy for every record. `dataclasses.replace` reads each field by its name and runs the constructor,
which takes ten times as long for a value with many fields.
"""

import dataclasses
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, TypeVar

K = TypeVar("K")
V = TypeVar("V")

if TYPE_CHECKING:
    # Type checkers know which fields this function takes.
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """Return a copy of a frozen dataclass with these fields. `__post_init__` is run only if it has slots."""
        if not hasattr(value, "__dict__"):
            return dataclasses.replace(value, **changes)
        if unknown := changes.keys() - value.__dict__.keys():
            raise TypeError(f"{type(value).__name__} has no field {', '.join(sorted(unknown))}")
        copy = object.__new__(type(value))
        copy.__dict__.update(value.__dict__, **changes)
        return copy


def each(values: Mapping[K, V], keys: Container[K], change: Callable[[V], V]) -> dict[K, V]:
    """Return a copy of a mapping in which the values of these keys are changed."""
    return {key: change(value) if key in keys else value for key, value in values.items()}


def without(values: Mapping[K, V], key: K) -> dict[K, V]:
    """Return a copy of a mapping without a key."""
    return {kept: value for kept, value in values.items() if kept != key}
