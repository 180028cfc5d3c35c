"""Facts: what a record's body says, one frozen class per kind.

Mail, board events, roster events and transcript entries are facts. Unknown fields are kept; a kind that this version
does not know, or one that does not have its shape, is kept as `Foreign` and skipped by every fold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from deskmate.core.records import Json
from deskmate.errors import BadInput, BadName


class Fact(BaseModel):
    """Something that was said or done. `type` names the kind on disk.

    Made with fields that are not of its shape it raises BadInput, for a name BadName.
    """

    # Built when a kind is first used: a process meets few of them, and building takes a millisecond each.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    type: str

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _flaw(type(self), error) from error

    def body(self) -> dict[str, Any]:
        """Return the fact as the body of a record, without what is not set; unknown fields stay, empty ones too."""
        unknown = {key: None for key, value in (self.model_extra or {}).items() if value is None}
        return self.model_dump(mode="json", exclude_none=True) | unknown


@dataclass(frozen=True, slots=True)
class Foreign:
    """A record of a kind unknown here, as it stands on disk, and why it was not understood."""

    raw: Json
    reason: str


F = TypeVar("F", bound=Fact)


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
    """Return what is to be raised for a fact that has not its shape."""
    first = error.errors(include_input=False, include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, BadName):
        return cause
    return BadInput(f"a malformed {kind.__name__}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
