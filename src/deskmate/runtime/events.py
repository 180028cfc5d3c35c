"""What happens, as it happens, for faces.

Agents send events and faces listen. Nothing depends on them: a face that missed one reads the streams.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from deskmate.core.agent.entries import Entry
from deskmate.core.log.names import LEAD, agent_id
from deskmate.core.prompt.prompts import Delta
from deskmate.core.team.status import Status
from deskmate.core.values import frozen


@frozen
class Streamed:
    """A part of what a member's model is saying."""

    member: str
    delta: Delta


@frozen
class Recorded:
    """An entry of a member's transcript, just written."""

    member: str
    number: int
    entry: Entry


@frozen
class Printed:
    """What a command of a member has printed so far: its end, while it runs."""

    member: str
    call: str
    text: str


@frozen
class Changed:
    """A member has another status now."""

    member: str
    status: Status


@frozen
class Seated:
    """A teammate runs from now on. `colour`: its colour on every screen."""

    member: str
    colour: str


@frozen
class Arrived:
    """Mail arrived for a member, which has not heard it yet."""

    member: str
    sender: str
    kind: str


@frozen
class TeamStarted:
    """The team that runs now, just created or resumed."""

    team: str


TeamEvent: TypeAlias = Streamed | Recorded | Printed | Changed | Seated | Arrived | TeamStarted
Listener: TypeAlias = Callable[[TeamEvent], None]


class Feed:
    """Sends events to all listeners. A listener must neither wait nor raise, because the sender waits for it.

    `outer`: a feed whose listeners get these events too. `away_from`: the name of the team of this feed while its lead
    works in another one. The outer listeners get its members as `name@team` then.
    """

    def __init__(self, outer: "Feed | None" = None) -> None:
        self._listeners: list[Listener] = []
        self._outer = outer
        self.away_from = ""

    def of_team(self) -> "Feed":
        """Return the feed of one more team with the same outer listeners."""
        return Feed(self._outer or self)

    def listen(self, listener: Listener) -> None:
        """Send all events from now on to a listener."""
        self._listeners.append(listener)

    def tell(self, event: TeamEvent) -> None:
        """Send an event to every listener."""
        for listener in self._listeners:
            listener(event)
        if self._outer:
            self._outer.tell(self._from_outside(event))

    def _from_outside(self, event: TeamEvent) -> TeamEvent:
        # The lead is the same in both teams.
        if not self.away_from or isinstance(event, TeamStarted) or event.member.partition(":")[0] == LEAD:
            return event
        return replace(event, member=agent_id(event.member, self.away_from))
