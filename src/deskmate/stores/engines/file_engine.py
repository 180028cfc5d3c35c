"""The default engine: every team has two folders in the workspace."""

from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from deskmate.core.checks import Check
from deskmate.core.log.names import BOARD, SPEND, split_stream
from deskmate.core.log.records import RECORD_CAP, Json, decode
from deskmate.core.team.roster_records import TeamFounded
from deskmate.core.team.spending import Spending
from deskmate.errors import BadRecord, StoreError, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores import archive, removal
from deskmate.stores.engines.engine import DamageNote
from deskmate.stores.jsonl_store import SUFFIX, TASKS, TEAMS, JsonlStore
from deskmate.stores.line_format import unseal
from deskmate.stores.looks.file_look import FileLook


class FileEngine:
    """The teams in the folders `.teams` and `.tasks` of a workspace."""

    shared = False

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def teams(self) -> list[str]:
        """Return the names of the open teams in alphabetical order."""
        return archive.teams_in(self._workspace)

    def strays(self) -> list[str]:
        """Return what has the name of a team but is not a folder."""
        return archive.strays_in(self._workspace)

    def is_unused(self, team: str) -> bool:
        """Return whether the folders of a team, if any, contain only what is made before the first record."""
        return archive.is_unused(self._workspace, team)

    def has_begun(self, team: str) -> bool:
        """Return whether anything was ever said in a team or put on its board, or whether it was made from another."""
        folder = self._workspace / TEAMS / team
        files = [*folder.glob(f"*{SUFFIX['mail']}"), folder / f"{SPEND}.jsonl"]
        for file in (*files, self._workspace / TASKS / team / f"{BOARD}.jsonl"):
            with suppress(OSError):
                if file.lstat().st_size:
                    return True
        begun = self.founding(team)
        # A team that cannot be read may have begun.
        return begun is None or begun.home is not None or begun.fork_of is not None

    def written(self, team: str) -> float:
        """Return when a record was last added to a stream of a team or to its board, 0 for never."""
        folders = (self._workspace / top / team for top in (TEAMS, TASKS))
        try:
            return max((file.lstat().st_mtime for folder in folders for file in folder.glob("*.jsonl")), default=0.0)
        except OSError as error:
            raise StoreUnavailable.of(error.filename, error) from error

    def founding(self, team: str) -> TeamFounded | None:
        """Return the first record of a team's roster, or None if it is not a team folder."""
        return archive.founding(self._workspace, team)

    def first_records(self, team: str, stream: str, most: int) -> Iterator[Json]:
        """Yield the first records of a mailbox or a transcript, at most so many. Skips what cannot be read."""
        kind, owner = split_stream(stream)
        with (
            suppress(OSError, StoreError),
            closing(PrivateFolder.of(self._workspace, (TEAMS, team), Files(), create=False)) as folder,
            folder.reader(f"{owner}{SUFFIX[kind]}") as file,
        ):
            for line in islice(iter(lambda: file.readline(RECORD_CAP + 1024), b""), most):
                with suppress(BadRecord):
                    if unseal(line := line.rstrip(b"\n")):
                        yield decode(line)

    def open(self, team: str, *, create: bool = False) -> JsonlStore:
        """Open a team's streams. With `create`, create its folders."""
        return JsonlStore.open(self._workspace, team, create=create)

    def look(self, team: str, note: DamageNote) -> FileLook:
        """Return a team for a person."""
        return FileLook(self._workspace, team, note)

    def hosts(self, *, create: bool = False) -> None:
        """Return None: other machines cannot reach these teams."""

    def host_seats(self) -> dict[str, str | None]:
        """Return nothing: there are no hosts."""
        return {}

    def archive(self, team: str, at: float) -> str:
        """Move a team's folders to the archive, and return the new folder as seen from the workspace."""
        return str(archive.archive(self._workspace, team, at).relative_to(self._workspace))

    def finish_archiving(self) -> None:
        """Finish the archiving that a killed process began."""
        archive.finish_archiving(self._workspace)

    def archived_from(self, home: str) -> list[str]:
        """Return the archive folders of teams that were created from `home` and closed by its lead."""
        return archive.archived_from(self._workspace, home)

    def spent_in_archive(self, home: str) -> Spending:
        """Return what the archived teams that were created from `home` have spent."""
        return archive.spent_in_archive(self._workspace, home)

    def remove(self, team: str, archived: tuple[str, ...] = ()) -> None:
        """Delete a team's folders and the given archive folders."""
        removal.remove_team(self._workspace, team, archived)

    def checks(self) -> list[Check]:
        """Return nothing: there is no server."""
        return []

    def close(self) -> None:
        """Do nothing: each store has its own files."""
