"""Immutable values: `frozen` makes what `dataclass(frozen=True, slots=True)` makes, in a quarter of the time.

A start makes about 150 such classes. Before Python 3.13, `dataclass` compiles six functions for each, one by one, which
takes an eighth of the time until the first request. Here only `__init__` is compiled. All classes share the others, and
`dataclass` itself does everything else: fields, slots, inheritance, `replace`, `match`.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")
_PARAMS = "__dataclass_params__"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class an immutable dataclass with slots. Methods that the class defines itself are kept.

    `InitVar` and keyword-only fields are not supported.
    """
    shared = {name: method for name, method in _SHARED.items() if vars(cls).get(name) is None}
    # `dataclass` lets only a frozen class inherit from a frozen one.
    inherits = any(getattr(getattr(base, _PARAMS, None), "frozen", False) for base in cls.__mro__[1:])
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, frozen=inherits)(cls)
    getattr(made, _PARAMS).frozen = True
    for name, method in shared.items():
        setattr(made, name, method)
    made.__init__ = _init(made)
    compared = [one.name for one in fields(made) if one.compare]
    made._compared = staticmethod(attrgetter(*compared) if compared else _nothing)
    finished: type[T] = made
    return finished


def _init(cls: Any) -> Callable[..., None]:
    """Return an `__init__` that sets the fields in order, then calls `__post_init__` if there is one."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    given = [one for one in fields(cls) if one.init]
    head = ", ".join(["self", *(_parameter(one, scope) for one in given)])
    body = [f"_set(self, {one.name!r}, {_argument(one)})" for one in given]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({head}):\n " + "\n ".join(body or ["pass"]), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(one: Field[Any], scope: dict[str, Any]) -> str:
    if one.default_factory is not MISSING:
        scope[f"_new_{one.name}"] = one.default_factory
        return f"{one.name}=_MISSING"
    if one.default is not MISSING:
        scope[f"_default_{one.name}"] = one.default
        return f"{one.name}=_default_{one.name}"
    return one.name


def _argument(one: Field[Any]) -> str:
    made = one.default_factory is not MISSING
    return f"_new_{one.name}() if {one.name} is _MISSING else {one.name}" if made else one.name


def _nothing(_: object) -> tuple[()]:
    return ()


# -- what all values share ------------------------------------------------------------------------


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._compared(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _setattr(self: Any, name: str, _: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for one, found in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, found)


_SHARED: dict[str, Callable[..., Any]] = {
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
