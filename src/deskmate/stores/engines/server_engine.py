"""An engine whose teams are on a server.

What belongs to a machine stays in the workspace: blobs, which only their member reads, checkpoints and copies of the
repository.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

from deskmate.core.checks import Check
from deskmate.core.log.names import BOARD, ROSTER, SPEND, known_name, mail
from deskmate.core.log.records import Json, Record
from deskmate.core.team import spending
from deskmate.core.team.roster_records import TeamFounded, read_event
from deskmate.core.team.spending import EMPTY, Spending
from deskmate.errors import StoreUnavailable, UnsafeFolder
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores import removal
from deskmate.stores.engines.engine import DamageNote
from deskmate.stores.engines.loop_thread import LoopThread
from deskmate.stores.engines.server_backend import Backend, ServerTeam
from deskmate.stores.engines.server_look import ServerLook
from deskmate.stores.engines.server_store import ServerStore
from deskmate.stores.jsonl_store import TEAMS, keep_out_of_git

# The hosts of a space are kept like a team. No team can have this name.
HOSTS_TEAM = ".hosts"


class ServerEngine:
    """The teams of one space of a server. It connects when it is used. `place`: its address as people may see it."""

    shared = True

    def __init__(self, backend: Backend, place: str, workspace: Path) -> None:
        self._backend, self._place, self._workspace = backend, place, workspace
        self._thread = LoopThread(backend.close)

    def teams(self) -> list[str]:
        """Return the names of the open teams in alphabetical order."""
        return sorted(team.name for team in self._all() if not team.archived)

    def strays(self) -> list[str]:
        """Return nothing: there are only teams on a server."""
        return []

    def is_unused(self, team: str) -> bool:
        """Return whether no open team of this name has a record."""
        return team not in self.teams()

    def has_begun(self, team: str) -> bool:
        """Return whether anything was ever said in a team or put on its board, or whether it was made from another."""
        if (there := self._find(team)) is None:
            return False
        if any(stream in (BOARD, SPEND) or stream.startswith(mail("")) for stream in self._ends(there)):
            return True
        begun = self.founding(team)
        return begun is None or begun.home is not None or begun.fork_of is not None

    def written(self, team: str) -> float:
        """Return when a record was last added to a team, 0 for never."""
        there = self._find(team)
        return max((end for end in self._ends(there).values()), default=0.0) if there else 0.0

    def founding(self, team: str) -> TeamFounded | None:
        """Return the first record of a team's roster, or None if there is none."""
        there = self._find(team)
        return self._founding(there) if there else None

    def _founding(self, team: ServerTeam) -> TeamFounded | None:
        first = next(self._first(team, ROSTER, 1), None)
        event = None if first is None else read_event(first)
        return event if isinstance(event, TeamFounded) else None

    def first_records(self, team: str, stream: str, most: int) -> Iterator[Json]:
        """Yield the first records of a stream, at most so many. Skips what cannot be read."""
        if there := self._find(team):
            yield from self._first(there, stream, most)

    def _first(self, team: ServerTeam, stream: str, most: int) -> Iterator[Json]:
        items = self._thread.call(self._backend.read(team, stream, 0, most=most, sync=False))
        return (item.body for item in items if isinstance(item, Record))

    def open(self, team: str, *, create: bool = False) -> ServerStore:
        """Open a team's streams. With `create`, create the team if it is not there. Raises UnsafeFolder for none."""
        known_name(team, "team")
        there = self._thread.call(self._backend.create(team) if create else self._backend.team(team))
        if there is None:
            raise UnsafeFolder(f"There is no team '{team}' in {self._place}", 'To start one, run: deskmate run "GOAL"')
        return ServerStore(self._thread, self._backend, there, self._hide_from_git)

    def hosts(self, *, create: bool = False) -> ServerStore | None:
        """Return the store with the hosts of this space. None if there never were any, unless it is to be created."""
        backend = self._backend
        there = self._thread.call(backend.create(HOSTS_TEAM) if create else backend.team(HOSTS_TEAM))
        return ServerStore(self._thread, backend, there, lambda: None) if there else None

    def host_seats(self) -> dict[str, str | None]:
        """Return the seats of hosts that are or were held, with the holder's note or None."""
        there = self._find(HOSTS_TEAM)
        return self._thread.call(self._backend.holders(there)) if there else {}

    def _hide_from_git(self) -> None:
        """Keep what members leave in the workspace, such as blobs, out of commits."""
        try:
            with closing(PrivateFolder.of(self._workspace, (TEAMS,), Files(), create=True)) as folder:
                keep_out_of_git(folder)
        except OSError as error:
            raise StoreUnavailable.of(self._workspace / TEAMS, error) from error

    def look(self, team: str, note: DamageNote) -> ServerLook:
        """Return a team for a person."""
        return ServerLook(self._thread, self._backend, self._find(team), f"{self._place}, team '{team}'", note)

    def archive(self, team: str, at: float) -> str:
        """Rename a team, and return its new name."""
        there, taken = self._find(team), {one.name for one in self._all()}
        base = f"{team}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(at))}"
        names = (base if number == 1 else f"{base}.{number}" for number in count(1))
        place = next(name for name in names if name not in taken)
        if there is None:
            raise UnsafeFolder(f"There is no team '{team}' in {self._place}")
        self._thread.call(self._backend.archive(there, place))
        return place

    def finish_archiving(self) -> None:
        """Do nothing: a team is archived in one step."""

    def archived_from(self, home: str) -> list[str]:
        """Return the archived teams that the lead of `home` created and closed."""
        return [team.name for team in self._archived(home)]

    def _archived(self, home: str) -> Iterator[ServerTeam]:
        for team in self._all():
            if team.archived and (begun := self._founding(team)) and begun.home == home:
                yield team

    def spent_in_archive(self, home: str) -> Spending:
        """Return what the archived teams that were created from `home` have spent."""
        found = EMPTY
        for team in self._archived(home):
            items = self._thread.call(self._backend.read(team, SPEND, 0, sync=False))
            found = spending.together(found, spending.fold(EMPTY, items))
        return found

    def remove(self, team: str, archived: tuple[str, ...] = ()) -> None:
        """Delete a team and these archived teams, and what is in the workspace of them."""
        for one in [*(one for one in self._all() if one.archived and one.name in archived), self._find(team)]:
            if one is not None:
                self._thread.call(self._backend.remove(one))
        if (self._workspace / TEAMS).exists():
            removal.remove_team(self._workspace, team)

    def checks(self) -> list[Check]:
        """Check the server: what it runs, how it keeps records, its clock and its limits."""
        return self._thread.call(self._backend.checks())

    def close(self) -> None:
        """Close the connections. Seats that are held are free after this."""
        self._thread.close()

    def _all(self) -> list[ServerTeam]:
        return [team for team in self._thread.call(self._backend.teams()) if team.name != HOSTS_TEAM]

    def _find(self, team: str) -> ServerTeam | None:
        return self._thread.call(self._backend.team(team))

    def _ends(self, team: ServerTeam) -> dict[str, float]:
        return {stream: end.at for stream, end in self._thread.call(self._backend.ends(team)).items()}
