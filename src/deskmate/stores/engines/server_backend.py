"""What the client of a server does for an engine. All of it runs in the engine's own event loop.

`ServerEngine`, `ServerStore` and `ServerLook` use it, so they are the same for every kind of server.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from deskmate.core.checks import Check
from deskmate.core.log.records import Item, Make, Stamp
from deskmate.core.values import frozen

T = TypeVar("T")


@frozen
class ServerTeam:
    """A team on a server. The `id` stays when it is archived. Then `name` is its place in the archive."""

    id: str
    name: str
    archived: bool = False


@frozen
class StreamEnd:
    """The number of the last record of a stream, and when it was appended."""

    last: int
    at: float


class Ticket:
    """A seat that somebody in this process takes, holds or has lost.

    `epoch`: above 0 as long as it is held; each new holder has a higher one. `lost`: the note of the process that took
    the seat over after this one was cut off from the server.
    """

    def __init__(self, name: str, note: str) -> None:
        self.name, self.note = name, note
        self.id = ""
        self.epoch = 0
        self.lost: str | None = None
        # Until when it is certain that it is held, in monotonic seconds, for servers where a seat expires.
        self.until = math.inf
        # To drop a ticket, wait until the attempt to take it has ended.
        self.busy = asyncio.Lock()


class Backend(Protocol):
    """The client of one server for one space. Raises StoreError."""

    async def teams(self) -> list[ServerTeam]:
        """Return all teams, archived or not, that have a record."""

    async def team(self, name: str) -> ServerTeam | None:
        """Return the open team of a name, also if it has no record yet."""

    async def create(self, name: str) -> ServerTeam:
        """Return the open team of a name, created if it is not there."""

    async def archive(self, team: ServerTeam, place: str) -> None:
        """Rename a team to its place in the archive, in one step."""

    async def remove(self, team: ServerTeam) -> None:
        """Delete a team with everything in it, in one step."""

    async def ends(self, team: ServerTeam) -> dict[str, StreamEnd]:
        """Return the ends of all streams that have a record."""

    async def read(
        self, team: ServerTeam, stream: str, after: int, *, most: int | None = None, sync: bool = True
    ) -> Sequence[Item]:
        """Return what is after a number, at most so many. `Store.read` has the details."""

    async def append(
        self,
        team: ServerTeam,
        stream: str,
        lines: Mapping[Stamp, bytes],
        expect: int | None,
        guards: Sequence[Ticket],
        *,
        sync: bool,
    ) -> list[int]:
        """Append lines. `Store.append` has the details. Raises SeatLost if one of the guards is lost."""

    async def decide(
        self, team: ServerTeam, stream: str, after: int, make: Make[T], guards: Sequence[Ticket], *, sync: bool
    ) -> tuple[int | None, T]:
        """Append what `make` decides. `Store.decide` has the details. Raises SeatLost like `append`."""

    async def changed(self, team: ServerTeam, since: Mapping[str, int]) -> None:
        """Return once a stream has something above its number. `Store.changed` has the details."""

    async def take(self, team: ServerTeam, ticket: Ticket, *, wait: bool) -> None:
        """Take a seat. Raises Held if another process has it and `wait` is false."""

    async def drop(self, team: ServerTeam, ticket: Ticket) -> None:
        """Free a seat, if the ticket has it."""

    async def holders(self, team: ServerTeam, only: str | None = None) -> dict[str, str | None]:
        """Return the seats that are or were held, with the holder's note or None. `only`: at most this one."""

    async def checks(self) -> list[Check]:
        """Check the server for `deskmate doctor`. Leaves no record."""

    async def close(self) -> None:
        """Close all connections. Seats are free after this."""
