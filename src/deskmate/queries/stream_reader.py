"""The streams of a team, damaged or not.

Everything readable is returned, whether the team runs or not. Each damage is reported as a sentence. `team_view` and
`member_view` make views of it. `truncation` finds files that end too early.
"""

import os
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Literal

from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND, USER, is_call, log, mail, split_stream
from deskmate.core.log.records import RECORD_CAP, Damaged, Item, Record, decode
from deskmate.core.team.members import EMPTY, RosterState
from deskmate.core.team.messages import Broadcast, Plain, read_envelope
from deskmate.core.team.roster_fold import fold
from deskmate.errors import BadName, BadRecord, StoreError, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder, try_lock
from deskmate.queries.truncation import Damage, Evidence, cut_of, evidence_of, missing_end
from deskmate.stores.archive import founding, teams_in
from deskmate.stores.jsonl_store import SUFFIX, TASKS, TEAMS
from deskmate.stores.line_format import unseal
from deskmate.stores.stream_file import StreamFile
from deskmate.trust.folders import known_team, latest_team, workspace_of

# The user's first message is among the first of the lead's mailbox.
_MOST_LINES = 50
_TITLE_CHARS = 60
# At most this many damaged records of each stream are reported one by one.
MOST_TOLD = 20
_SEAT, _NOTE_CAP, _SUBAGENTS = ".seat", 4096, "subagents"


@contextmanager
def telling(workspace: Path) -> Iterator[None]:
    """Turn an OSError into StoreUnavailable, which says where it happened and what to do."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable.of(error.filename or workspace, error) from error


def workspace_at(folder: Path | None) -> Path:
    """Return the given folder, or the workspace that the current folder belongs to. Raises StoreError."""
    place = workspace_of(folder)
    with telling(place):
        # Try to list it: an unreadable folder must not count as one without teams.
        if os.path.lexists(place / TEAMS):
            os.listdir(place / TEAMS)
    return place


def teams_at(folder: Path | None) -> list[str]:
    """Return the names of the teams of a workspace in alphabetical order. Raises StoreError."""
    place = workspace_at(folder)
    with telling(place):
        return teams_in(place)


def team_at(workspace: Path, name: str | None) -> str:
    """Return the named team, or the one last written to. Raises Refused."""
    with telling(workspace):
        return latest_team(workspace) if name is None else known_team(workspace, name)


def reading_of(folder: Path | None, team: str | None) -> "Reading":
    """Return the team that is meant, ready to be read. Raises Refused or StoreError."""
    place = workspace_at(folder)
    return Reading(place, team_at(place, team))


def colours_of(roster: RosterState) -> dict[str, str]:
    """Return each member's colour, which is the same on every screen."""
    return {member.name: member.colour for member in roster.members.values() if member.colour}


def title_at(workspace: Path, team: str) -> str:
    """Return the title of a team: its description, or the user's first words, or an empty string."""
    try:
        begun = founding(workspace, team)
        if begun and begun.description:
            return _title_of(begun.description)
        with (
            closing(PrivateFolder.of(workspace, (TEAMS, team), Files(), create=False)) as folder,
            folder.reader(f"{LEAD}{SUFFIX['mail']}") as file,
        ):
            lines = iter(lambda: file.readline(RECORD_CAP + 1024), b"")
            return next(filter(None, map(_title_in, islice(lines, _MOST_LINES))), "")
    except (OSError, StoreError):
        # The code that reads the streams themselves reports what is wrong.
        return ""


def _title_in(line: bytes) -> str:
    """Return the title from a record of mail, or an empty string if it has no words of the user."""
    line = line.rstrip(b"\n")
    try:
        envelope = read_envelope(decode(line)) if unseal(line) else None
    except BadRecord:
        return ""
    if envelope is None or isinstance(envelope, Foreign) or envelope.sender != USER:
        return ""
    # Imported here because listing teams needs nothing else of it.
    from deskmate.core.prompt.user_frames import parted

    return _title_of(parted(envelope.message.content)[0]) if isinstance(envelope.message, Plain | Broadcast) else ""


def _title_of(message: str) -> str:
    """Return the first words of a message on one line, at most _TITLE_CHARS characters; empty for a blank one."""
    words = " ".join(message.split())
    if len(words) <= _TITLE_CHARS:
        return words
    cut = words[:_TITLE_CHARS]
    # Cut at the end of a word, if one ends late enough.
    end = cut.rfind(" ")
    return f"{cut[:end] if end > _TITLE_CHARS // 2 else cut[:-1]}…"


class Reading:
    """One team as it is on disk."""

    def __init__(self, workspace: Path, team: str) -> None:
        self.workspace, self.team = workspace, team
        self._notes: dict[Damage, None] = {}

    @property
    def damage(self) -> tuple[str, ...]:
        """What could not be read so far, one sentence each. If a stream has many damaged records, their count."""
        return tuple(damage.words for damage in self._notes)

    @property
    def notes(self) -> tuple[Damage, ...]:
        """The same as `damage`, with the kind of each."""
        return tuple(self._notes)

    def items(self, stream: str) -> list[Item]:
        """Return what can be read of a stream, nothing if it does not exist. Notes the rest as damage."""
        try:
            return self._noted(self._read(stream))
        except StoreError as error:
            self.note(str(error))
        except FileNotFoundError:
            self.note(f"{self._folder(stream)} is missing. Restore it from a copy if you have one")
        except OSError as error:
            self.note(str(StoreUnavailable.of(self._folder(stream), error)))
        return []

    def roster(self) -> RosterState:
        """Return the roster, as far as it can be read."""
        roster = fold(EMPTY, self.items(ROSTER))
        if not roster.team and not self.damage:
            self.note(
                f"{self._folder(ROSTER) / 'roster.jsonl'} is empty or missing, so nobody knows who is on the team"
            )
        return roster

    def where(self, stream: str, roster: RosterState) -> "Reading":
        """Return the team that has a stream. The lead's transcript and the user's mail are in its first team."""
        if not roster.home or stream not in (log(LEAD), mail(USER)):
            return self
        home = Reading(self.workspace, roster.home)
        # Report damage there together with damage here.
        home._notes = self._notes
        return home

    def has_files_of(self, member: str) -> bool:
        """Return whether there is a mailbox or a transcript of a member here."""
        folder = self.workspace / TEAMS / self.team
        return any((folder / f"{member}{suffix}").is_file() for suffix in SUFFIX.values())

    def streams(self) -> list[str]:
        """Return the streams of the team: those of every team, and those of members and subagents that have files."""
        # The `:` of a call's id is `-` in file names.
        calls = (":".join(name.rsplit("-", 1)) for name in self._listed(_SUBAGENTS))
        found = (stream for name in (*self._listed(), *calls) for stream in _streams_of(name))
        return [ROSTER, BOARD, SPEND, *found]

    def seats(self) -> list[str]:
        """Return the members whose seat is or was held."""
        files = (unicodedata.normalize("NFC", name) for name in self._listed())
        return [name.removesuffix(_SEAT) for name in files if name.endswith(_SEAT)]

    def holder(self, member: str = LEAD) -> str | None:
        """Return the note of the process that holds a member's seat, or None if it is free.

        Raises OSError or StoreError if that cannot be found out.
        """
        with closing(PrivateFolder.of(self.workspace, (TEAMS, self.team), Files(), create=False)) as folder:
            if not os.path.lexists(folder.path / f"{member}{_SEAT}"):
                return None
            # Seats are taken under this lock. A process that takes one must not find it locked by this check.
            with folder.locked(), open(folder.open(f"{member}{_SEAT}", os.O_RDWR), "rb") as seat:
                return None if try_lock(seat.fileno()) else seat.read(_NOTE_CAP).decode(errors="replace")

    def _listed(self, *below: str) -> list[str]:
        """Return the names in a folder of the team, none if it is missing. Notes a folder that cannot be read."""
        folder = self.workspace.joinpath(TEAMS, self.team, *below)
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            self.note(str(StoreUnavailable.of(folder, error)))
            return []

    def ends_before(self, stream: str) -> int:
        """Return the number of a record that was written but is missing at the end of a stream, 0 if none is known.

        Raises StoreError if the stream cannot be read.
        """
        with telling(self.workspace), self._opened(stream) as (folder, name):
            evidence, file = evidence_of(stream, folder, name), StreamFile(stream, folder, name)
            file.last()
            return missing_end(evidence, file)

    @contextmanager
    def _opened(self, stream: str) -> Iterator[tuple[PrivateFolder, str]]:
        """Open the folder of a stream, and yield it with the name of its file."""
        kind, owner = split_stream(stream)
        name = f"{kind}.jsonl" if not owner else owner.replace(":", "-") + SUFFIX[kind]
        parts = self._folder(stream).relative_to(self.workspace).parts
        with closing(PrivateFolder.of(self.workspace, parts, Files(), create=False)) as folder:
            yield folder, name

    def _read(self, stream: str) -> list[Item]:
        with self._opened(stream) as (folder, name):
            evidence, file = self._evidence(stream, folder, name), StreamFile(stream, folder, name)
            items = file.read(0, sync=False)
            if cut := cut_of(evidence, file, items):
                self._notes[cut] = None
            elif _is_cut(folder, name):
                self.note(f"{folder.path / name}: its last line is cut off and ignored", "torn")
            return items

    def _evidence(self, stream: str, folder: PrivateFolder, name: str) -> Evidence:
        try:
            return evidence_of(stream, folder, name)
        except StoreError as error:
            self.note(str(error))
        except OSError as error:
            self.note(str(StoreUnavailable.of(folder.path, error)))
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
            file = lost[0].where.rpartition(":")[0]
            self.note(f"{file}: {len(lost) - MOST_TOLD:,} more records of it cannot be read", "more")
        return items

    def note(self, words: str, kind: Literal["other", "torn", "more"] = "other") -> None:
        """Add a sentence about what cannot be read, unless it is there already."""
        self._notes[Damage(words, kind)] = None


def _accepts(item: Record) -> bool:
    """Return whether a record says that the user accepted a loss. Only roster and board have such records."""
    return item.body.get("type") == "accepted" and isinstance(item.body.get("number"), int)


def _streams_of(name: str) -> Iterator[str]:
    """Yield the stream of a member or subagent that is in a file of this name, if any."""
    for kind, suffix in SUFFIX.items():
        # Some file systems list names in another Unicode form than the one they were created with.
        owner = unicodedata.normalize("NFC", name.removesuffix(suffix))
        if name.endswith(suffix):
            with suppress(BadName):
                split_stream(f"{kind}/{owner}")
                yield f"{kind}/{owner}"


def _is_cut(folder: PrivateFolder, name: str) -> bool:
    """Return whether a file ends in the middle of a line."""
    try:
        with folder.reader(name) as file:
            size = os.fstat(file.fileno()).st_size
            return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
    except FileNotFoundError:
        return False
