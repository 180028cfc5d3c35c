"""The streams of a team, damaged or not.

Live or dead, whole or damaged: what can be read is, and what cannot is put into words. `looking` and `listening` above
make views of it; `cuts` beside finds files that end too early, below are those of `stores`.
"""

import os
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path

from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND, USER, is_call, log, mail, split_stream
from deskmate.core.log.records import RECORD_CAP, Damaged, Item, Record, decode
from deskmate.core.team.members import EMPTY, RosterState
from deskmate.core.team.messages import Broadcast, Plain, read_envelope
from deskmate.core.team.roster_fold import fold
from deskmate.core.team.team_titles import title_of
from deskmate.errors import BadName, BadRecord, StoreError, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder, try_lock
from deskmate.queries.truncation import Evidence, cut_of, evidence_of, missing_end
from deskmate.stores.archive import founding, teams_in
from deskmate.stores.jsonl_store import SUFFIX, TASKS, TEAMS
from deskmate.stores.line_format import unseal
from deskmate.stores.stream_file import StreamFile
from deskmate.trust.folders import known_team, latest_team, workspace_of

CUT = "its last line is cut off and left out"
MORE = "more records of it cannot be read"
# The user's first message is among the first of the lead's mailbox.
_MOST_LINES = 50
# At most this many damaged records of each stream are reported one by one.
MOST_TOLD = 20
_SEAT, _NOTE_CAP, _SUBAGENTS = ".seat", 4096, "subagents"


@contextmanager
def telling(workspace: Path) -> Iterator[None]:
    """Let what the disk refuses be an error that says where, and what to do."""
    try:
        yield
    except OSError as error:
        where = error.filename or workspace
        raise StoreUnavailable(f"{where}: {error.strerror or error}; fix that, then try again") from error


def workspace_at(folder: Path | None) -> Path:
    """Return the workspace: the folder given, else the one that the current folder belongs to; raise StoreError."""
    place = workspace_of(folder)
    with telling(place):
        # Listed by name: a folder that may not be read is not one without teams.
        if os.path.lexists(place / TEAMS):
            os.listdir(place / TEAMS)
    return place


def teams_at(folder: Path | None) -> list[str]:
    """Return the names of the teams of a workspace, in the order of the alphabet; raise StoreError."""
    place = workspace_at(folder)
    with telling(place):
        return teams_in(place)


def team_at(workspace: Path, name: str | None) -> str:
    """Return the team that is meant: the one named, else the one last written to; raise Refused."""
    with telling(workspace):
        return latest_team(workspace) if name is None else known_team(workspace, name)


def reading_of(folder: Path | None, team: str | None) -> "Reading":
    """Return the team that is meant, ready to be read; raise Refused or StoreError."""
    place = workspace_at(folder)
    return Reading(place, team_at(place, team))


def colours_of(roster: RosterState) -> dict[str, str]:
    """Return the colour that each member has on every screen."""
    return {member.name: member.colour for member in roster.members.values() if member.colour}


def title_at(workspace: Path, team: str) -> str:
    """Return the title of a team: what it was founded for, or the user's first words; nothing if neither is known."""
    try:
        begun = founding(workspace, team)
        if begun and begun.description:
            return title_of(begun.description)
        with (
            closing(PrivateFolder.of(workspace, (TEAMS, team), Files(), create=False)) as folder,
            open(folder.open(f"{LEAD}{SUFFIX['mail']}", os.O_RDONLY), "rb") as file,
        ):
            lines = iter(lambda: file.readline(RECORD_CAP + 1024), b"")
            return next(filter(None, map(_title_in, islice(lines, _MOST_LINES))), "")
    except (OSError, StoreError):
        # Whatever is wrong there, who reads the streams themselves tells it.
        return ""


def _title_in(line: bytes) -> str:
    """Return the title that a record of mail makes; nothing if it is not the user's words."""
    line = line.rstrip(b"\n")
    try:
        envelope = read_envelope(decode(line)) if unseal(line) else None
    except BadRecord:
        return ""
    if envelope is None or isinstance(envelope, Foreign) or envelope.sender != USER:
        return ""
    return title_of(envelope.message.content) if isinstance(envelope.message, Plain | Broadcast) else ""


class Reading:
    """One team as it stands on disk."""

    def __init__(self, workspace: Path, team: str) -> None:
        self.workspace, self.team = workspace, team
        self._notes: dict[str, None] = {}

    @property
    def damage(self) -> tuple[str, ...]:
        """What could not be read so far, a sentence each; of many damaged records of a stream, the number."""
        return tuple(self._notes)

    def items(self, stream: str) -> list[Item]:
        """Return what can be read of a stream, nothing where there is none; note the rest as damage."""
        try:
            return self._noted(self._read(stream))
        except StoreError as error:
            self.note(str(error))
        except FileNotFoundError:
            self.note(f"{self._folder(stream)} is missing; put it back from a copy, if there is one")
        except OSError as error:
            self.note(f"{self._folder(stream)}: {error.strerror or error}; fix that, then look again")
        return []

    def roster(self) -> RosterState:
        """Return who is on the team, as far as that can be told."""
        roster = fold(EMPTY, self.items(ROSTER))
        if not roster.team and not self.damage:
            self.note(f"{self._folder(ROSTER) / 'roster.jsonl'} is empty or missing; who is on the team is not known")
        return roster

    def where(self, stream: str, roster: RosterState) -> "Reading":
        """Return where a stream of this team lies: what is the lead's own, and the user's mail, are at its home."""
        if not roster.home or stream not in (log(LEAD), mail(USER)):
            return self
        home = Reading(self.workspace, roster.home)
        # What is damaged there is told with what is here.
        home._notes = self._notes
        return home

    def has_files_of(self, member: str) -> bool:
        """Tell whether a member left a mailbox or a transcript here."""
        folder = self.workspace / TEAMS / self.team
        return any((folder / f"{member}{suffix}").is_file() for suffix in SUFFIX.values())

    def streams(self) -> list[str]:
        """Return the streams of the team: those that each has, and those of members and subagents that left files."""
        # A call is written with `-` there for its `:`.
        calls = (":".join(name.rsplit("-", 1)) for name in self._listed(_SUBAGENTS))
        found = (stream for name in (*self._listed(), *calls) for stream in _streams_of(name))
        return [ROSTER, BOARD, SPEND, *found]

    def seats(self) -> list[str]:
        """Return the members that somebody sits or sat for."""
        files = (unicodedata.normalize("NFC", name) for name in self._listed())
        return [name.removesuffix(_SEAT) for name in files if name.endswith(_SEAT)]

    def holder(self, member: str = LEAD) -> str | None:
        """Return who sits in a member's seat, in the words it left there; None where nobody does.

        Raises OSError or StoreError where that cannot be told.
        """
        with closing(PrivateFolder.of(self.workspace, (TEAMS, self.team), Files(), create=False)) as folder:
            if not os.path.lexists(folder.path / f"{member}{_SEAT}"):
                return None
            # Who sits down does so under this lock, and must not find the seat taken by who only looks.
            with folder.locked(), open(folder.open(f"{member}{_SEAT}", os.O_RDWR), "rb") as seat:
                return None if try_lock(seat.fileno()) else seat.read(_NOTE_CAP).decode(errors="replace")

    def _listed(self, *below: str) -> list[str]:
        """Return the names in a folder of the team, nothing where it is missing; note one that cannot be read."""
        folder = self.workspace.joinpath(TEAMS, self.team, *below)
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            self.note(f"{folder}: {error.strerror}; fix that, then look again")
            return []

    def ends_before(self, stream: str) -> int:
        """Return the number of a record that was written and that a stream now ends before, 0 if none is known.

        Raises StoreError if the stream cannot be read.
        """
        with telling(self.workspace), self._opened(stream) as (folder, name):
            evidence, file = evidence_of(stream, folder, name), StreamFile(stream, folder, name)
            file.last()
            return missing_end(evidence, file)

    @contextmanager
    def _opened(self, stream: str) -> Iterator[tuple[PrivateFolder, str]]:
        """Lend the folder of a stream, and the name of its file there."""
        kind, owner = split_stream(stream)
        name = f"{kind}.jsonl" if not owner else owner.replace(":", "-") + SUFFIX[kind]
        parts = self._folder(stream).relative_to(self.workspace).parts
        with closing(PrivateFolder.of(self.workspace, parts, Files(), create=False)) as folder:
            yield folder, name

    def _read(self, stream: str) -> list[Item]:
        with self._opened(stream) as (folder, name):
            evidence, file = self._evidence(stream, folder, name), StreamFile(stream, folder, name)
            items = file.read(0, sync=False)
            if words := cut_of(evidence, file, items) or (CUT if _is_cut(folder, name) else None):
                self.note(f"{folder.path / name}: {words}")
            return items

    def _evidence(self, stream: str, folder: PrivateFolder, name: str) -> Evidence:
        try:
            return evidence_of(stream, folder, name)
        except StoreError as error:
            self.note(str(error))
        except OSError as error:
            self.note(f"{folder.path}: {error.strerror or error}; fix that, then look again")
        return Evidence()

    def _folder(self, stream: str) -> Path:
        below = (_SUBAGENTS,) if is_call(split_stream(stream)[1]) else ()
        return self.workspace.joinpath(TASKS if stream == BOARD else TEAMS, self.team, *below)

    def _noted(self, items: list[Item]) -> list[Item]:
        # A torn line with another after it was an append that was never confirmed.
        accepted = {item.body["number"] for item in items if isinstance(item, Record) and _accepts(item)}
        found = [item for item in items if isinstance(item, Damaged) and item.kind == "lost"]
        lost = [item for item in found if item.number not in accepted]
        for item in lost[:MOST_TOLD]:
            self.note(f"{item.where}: {item.reason}")
        if len(lost) > MOST_TOLD:
            self.note(f"{lost[0].where.rpartition(':')[0]}: {len(lost) - MOST_TOLD:,} {MORE}")
        return items

    def note(self, words: str) -> None:
        """Add a sentence on what cannot be read, once."""
        self._notes[words] = None


def _accepts(item: Record) -> bool:
    """Tell whether a record of roster or board says that the user accepted a loss. No other stream has such records."""
    return item.body.get("type") == "accepted" and isinstance(item.body.get("number"), int)


def _streams_of(name: str) -> Iterator[str]:
    """Yield the stream that a file of this name keeps for a member or a subagent, if any."""
    for kind, suffix in SUFFIX.items():
        # Some file systems list names in another form than they were given in.
        owner = unicodedata.normalize("NFC", name.removesuffix(suffix))
        if name.endswith(suffix):
            with suppress(BadName):
                split_stream(f"{kind}/{owner}")
                yield f"{kind}/{owner}"


def _is_cut(folder: PrivateFolder, name: str) -> bool:
    """Tell whether a file ends within a line."""
    try:
        with open(folder.open(name, os.O_RDONLY), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
    except FileNotFoundError:
        return False
