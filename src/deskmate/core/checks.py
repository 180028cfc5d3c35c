"""What `deskmate doctor` finds."""

from typing import Literal, TypeAlias

from deskmate.core.values import frozen

State: TypeAlias = Literal["ok", "warn", "bad"]


@frozen
class Check:
    """One thing that was checked. `next`: what to do about it, if anything."""

    what: str
    state: State
    words: str
    next: str = ""
