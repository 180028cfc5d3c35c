"""What an engine can do: list, open, archive and remove teams.

`Store` is one team as its members use it, and `TeamLook` is one team as a person sees it, damaged or not. Every
function blocks, so call it in a thread if the event loop must not wait.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

from deskmate.core.checks import Check
from deskmate.core.log.records import Item, Json
from deskmate.core.team.members import RosterState
from deskmate.core.team.roster_records import TeamFounded
from deskmate.core.team.spending import Spending
from deskmate.core.team.tasks import BoardState
from deskmate.core.values import frozen
from deskmate.ports import Store


@frozen
class Damage:
    """Something that cannot be read, in a sentence.

    `kind`: `torn` for a last line that was never confirmed, `short` for a file that ends too early, `more` for the
    count of records that are not named one by one.
    """

    words: str
    kind: Literal["other", "torn", "short", "more"] = "other"


class DamageNote(Protocol):
    """Is told what cannot be read."""

    def __call__(self, words: str, kind: Literal["other", "torn", "short", "more"] = "other") -> None: ...


class CopyWriter(Protocol):
    """Writes readable copies of a team for people, if its engine has any."""

    def write(self, roster: RosterState, board: BoardState) -> None:
        """Bring the copies up to date. Blocks, so call it in a thread."""


class TeamStore(Store, Protocol):
    """The store of one open team."""

    def projections(self) -> CopyWriter:
        """Return the writer of this team's readable copies, for the process that holds the lead's seat."""

    def settle(self) -> None:
        """Sync what was written without a sync."""

    def close(self) -> None:
        """Wait for running calls, sync what waits for it and release everything."""


class TeamLook(Protocol):
    """One team as a person sees it, whether it runs or not. What cannot be read is noted and left out."""

    def items(self, stream: str) -> list[Item]:
        """Return what can be read of a stream, nothing if it does not exist."""

    def place(self, stream: str) -> str:
        """Return where a stream is, for messages."""

    def has_streams_of(self, member: str) -> bool:
        """Return whether there is a mailbox or a transcript of a member."""

    def member_streams(self) -> list[str]:
        """Return the streams of members and subagents, and those with chunks of code."""

    def seats(self) -> list[str]:
        """Return the members whose seat is or was held."""

    def holder(self, member: str) -> str | None:
        """Return the note of the process that holds a member's seat, or None if it is free.

        Raises OSError or StoreError if that cannot be found out.
        """

    def ends_before(self, stream: str) -> int:
        """Return the number of a record that was written but is missing at the end of a stream, 0 if none is known.

        Raises OSError or StoreError if the stream cannot be read.
        """


class Engine(Protocol):
    """Keeps the teams of a workspace. Raises StoreError if it cannot be reached or read.

    `shared`: whether others can work on its teams from elsewhere. Everybody who can write to a
    shared engine is trusted, so its teams have no signature.
    """

    @property
    def shared(self) -> bool: ...

    def teams(self) -> list[str]:
        """Return the names of the open teams in alphabetical order. A team without a record does not count."""

    def strays(self) -> list[str]:
        """Return what has the name of a team but is none."""

    def is_unused(self, team: str) -> bool:
        """Return whether a name is free: nothing was ever recorded under it."""

    def has_begun(self, team: str) -> bool:
        """Return whether anything was ever said in a team or put on its board, or whether it was made from another."""

    def written(self, team: str) -> float:
        """Return when a record was last added to a team, 0 for never."""

    def founding(self, team: str) -> TeamFounded | None:
        """Return the first record of a team's roster, or None if there is none."""

    def first_records(self, team: str, stream: str, most: int) -> Iterator[Json]:
        """Yield the first records of a stream, at most so many. Skips what cannot be read."""

    def open(self, team: str, *, create: bool = False) -> TeamStore:
        """Open a team's streams. With `create`, create the team if it is not there."""

    def look(self, team: str, note: DamageNote) -> TeamLook:
        """Return a team for a person. `note` is told what cannot be read."""

    def hosts(self, *, create: bool = False) -> TeamStore | None:
        """Return the store with the hosts of all teams here. None if there are none, and without `create` never were.

        Also None if other machines cannot reach the teams.
        """

    def host_seats(self) -> dict[str, str | None]:
        """Return the seats of hosts that are or were held, with the holder's note or None."""

    def archive(self, team: str, at: float) -> str:
        """Put a team away and return its place. The next call continues one that was cut off."""

    def finish_archiving(self) -> None:
        """Finish what a killed process began."""

    def archived_from(self, home: str) -> list[str]:
        """Return the archived teams that the lead of `home` created and closed."""

    def spent_in_archive(self, home: str) -> Spending:
        """Return what the archived teams that were created from `home` have spent."""

    def remove(self, team: str, archived: tuple[str, ...] = ()) -> None:
        """Delete a team and these archived teams. A kill leaves nothing that counts as half a team."""

    def checks(self) -> list[Check]:
        """Check the server that keeps the teams, and return what was found. Return nothing without a server."""

    def close(self) -> None:
        """Release what is shared by all its stores, which cannot be used after this."""


def teams_from(engine: Engine, home: str) -> list[str]:
    """Return the open teams whose own records say that a lead created them from its first team `home`."""
    return [team for team in engine.teams() if (begun := engine.founding(team)) and begun.home == home]


class EngineMaker(Protocol):
    """Makes an engine. It does not connect yet."""

    def __call__(self, url: str, workspace: Path) -> Engine: ...
