"""How much a team may spend and how long it may take."""

from dataclasses import fields, replace
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from deskmate.core.values import frozen

# Spending is never undone: a negative amount would raise the caps.
Count: TypeAlias = Annotated[int, Field(ge=0)]
Cost: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@frozen
class Caps:
    """Limits; None means no limit. `str` tells two sets of caps apart.

    For the team: dollars, tokens, seconds of one process, teammates that have not left, model calls at once. For one
    member, including its subagents: dollars, tokens. For one turn: steps. Tokens are all that are billed, in and out,
    including those read from a provider's cache or written to it.
    """

    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    members: int | None = None
    calls: int | None = None
    member_cost: float | None = None
    member_tokens: int | None = None
    steps: int = 200

    def __str__(self) -> str:
        values = {cap.name: getattr(self, cap.name) for cap in fields(self)}
        return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


class CapsSet(BaseModel):
    """Caps that the user set in a conversation; None means unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    cost: Cost | None = None
    tokens: Count | None = None
    seconds: float | None = None
    members: Count | None = None
    steps: Count | None = None

    def then(self, later: "CapsSet") -> "CapsSet":
        """Return the caps in force after `later` was set too."""
        return CapsSet.model_validate({**self._given, **later._given})

    def over(self, caps: Caps) -> Caps:
        """Return `caps` with the caps set here replacing theirs."""
        return replace(caps, **self._given)

    @property
    def _given(self) -> dict[str, Any]:
        return self.model_dump(include=set(CapsSet.model_fields), exclude_none=True)
