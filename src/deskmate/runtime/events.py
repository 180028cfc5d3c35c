"""What happens, as it happens, for faces.

It holds no truth: a face that missed something reads the streams. Agents tell it; faces listen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from deskmate.core.agent.entries import Entry
from deskmate.core.prompt.prompts import Delta


@dataclass(frozen=True, slots=True)
class Streamed:
    """A part of what a member's model is saying."""

    member: str
    delta: Delta


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry of a member's transcript, just written."""

    member: str
    number: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Changed:
    """A member's status, in the words of the roster."""

    member: str
    word: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Seated:
    """A teammate is played from now on, in the colour it has on every screen."""

    member: str
    colour: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """Mail came for a member, which has not heard it yet."""

    member: str
    sender: str
    kind: str


@dataclass(frozen=True, slots=True)
class TeamStarted:
    """The team that plays: founded just now, or gone on with."""

    team: str


TeamEvent: TypeAlias = Streamed | Recorded | Changed | Seated | Arrived | TeamStarted
Listener: TypeAlias = Callable[[TeamEvent], None]


class Feed:
    """Tell every listener. A listener must neither wait nor raise: the agent that tells waits for it."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Let a listener hear all that happens from now on."""
        self._listeners.append(listener)

    def tell(self, event: TeamEvent) -> None:
        """Pass on what happened."""
        for listener in self._listeners:
            listener(event)
