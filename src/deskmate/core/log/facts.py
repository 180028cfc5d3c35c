"""The base of every record body, one frozen class per kind.

Mail, board events, roster events and transcript entries are facts. Unknown fields are kept. A body of unknown kind or
wrong shape is kept as `Foreign`, and every fold skips it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from deskmate.core.log.records import Json
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadName

F = TypeVar("F", bound="Fact")
M = TypeVar("M", bound=BaseModel)


class Fact(BaseModel):
    """Something that was said or done. `type` names the kind on disk.

    The constructor raises BadInput for fields of the wrong shape, and BadName for a bad name.
    """

    # Built when a kind is first used: a process uses few of them, and building takes a millisecond each.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    type: str

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _flaw(type(self), error) from error

    def body(self) -> dict[str, Any]:
        """Return the fact as the body of a record, without unset fields. Unknown fields stay, even empty ones."""
        unknown = {key: None for key, value in (self.model_extra or {}).items() if value is None}
        return self.model_dump(mode="json", exclude_none=True) | unknown


# Shared by all slimmed facts. A fact is never changed, so neither is this.
_NOTHING: dict[str, Any] = {}
# Most values are of these types. To ask whether one is a model takes longer than everything else.
_PLAIN = frozenset({str, int, bool, float, type(None)})
_FIELD_SETS: dict[frozenset[str], set[str]] = {}


def slimmed(fact: M) -> M:
    """Return an equal fact that takes about a third of the memory, for facts that are kept by the thousand.

    Pydantic gives every instance its own hash table of fields, a set of their names and a dict for unknown ones. That
    is more than the size of most records. If they are set one by one, instances of a kind share the names of fields.
    """
    slim = object.__new__(type(fact))
    for name, value in fact.__dict__.items():
        object.__setattr__(slim, name, value if type(value) in _PLAIN else _slim_value(value))
    names = frozenset(fact.model_fields_set)
    object.__setattr__(slim, "__pydantic_fields_set__", _FIELD_SETS.setdefault(names, set(names)))
    object.__setattr__(slim, "__pydantic_extra__", fact.model_extra or _NOTHING)
    object.__setattr__(slim, "__pydantic_private__", None)
    return slim


def _slim_value(value: object) -> object:
    match value:
        case tuple():
            return tuple(map(_slim_value, value))
        case dict():
            return value or _NOTHING
        case BaseModel():
            return slimmed(value)
        case _:
            return value


@frozen
class Foreign:
    """A record of a kind unknown here, as it is on disk, and why it was not understood."""

    raw: Json
    reason: str


def reader(*kinds: type[F]) -> Callable[[Json], F | Foreign]:
    """Return the function that turns a record's body into one of these kinds of fact, or Foreign."""
    by_type = {kind.model_fields["type"].default: kind for kind in kinds}

    def read(body: Json) -> F | Foreign:
        named = body.get("type")
        kind = by_type.get(named) if isinstance(named, str) else None
        if kind is None:
            return Foreign(body, f"unknown kind {str(named)[:40]!r}")
        try:
            return kind(**body)
        except BadName as error:
            return Foreign(body, f"a malformed {kind.__name__}: {error}")
        except BadInput as error:
            return Foreign(body, str(error))

    return read


def _flaw(kind: type[Fact], error: ValidationError) -> BadInput:
    """Return the error to raise for a fact of the wrong shape."""
    first = error.errors(include_input=False, include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, BadName):
        return cause
    return BadInput(f"a malformed {kind.__name__}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
