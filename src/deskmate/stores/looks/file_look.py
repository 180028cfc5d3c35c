"""The files of a team, for people who look at it. Everything readable is returned, and each damage is noted."""

import os
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from deskmate.core.log.names import BOARD, CHUNKS, is_call, split_stream
from deskmate.core.log.records import Item
from deskmate.errors import BadName, StoreError, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder, try_lock
from deskmate.stores.engines.engine import DamageNote
from deskmate.stores.jsonl_store import SUFFIX, TASKS, TEAMS
from deskmate.stores.looks.truncation import Evidence, cut_of, evidence_of, missing_end
from deskmate.stores.stream_file import StreamFile

_SEAT, _NOTE_CAP, _SUBAGENTS, _LINES = ".seat", 4096, "subagents", ".jsonl"


class FileLook:
    """The files of one team."""

    def __init__(self, workspace: Path, team: str, note: DamageNote) -> None:
        self._workspace, self._team, self._note = workspace, team, note

    def items(self, stream: str) -> list[Item]:
        """Return what can be read of a stream, nothing if it does not exist. Notes the rest."""
        try:
            return self._read(stream)
        except StoreError as error:
            self._note(str(error))
        except FileNotFoundError:
            self._note(f"{self._folder(stream)} is missing. Restore it from a copy if you have one")
        except OSError as error:
            self._note(str(StoreUnavailable.of(self._folder(stream), error)))
        return []

    def place(self, stream: str) -> str:
        """Return the file of a stream."""
        return str(self._folder(stream) / _file_of(stream))

    def has_streams_of(self, member: str) -> bool:
        """Return whether there is a mailbox or a transcript of a member here."""
        folder = self._workspace / TEAMS / self._team
        return any((folder / f"{member}{suffix}").is_file() for suffix in SUFFIX.values())

    def member_streams(self) -> list[str]:
        """Return the streams of members and subagents, and those with chunks of code, that have files."""
        # The `:` of a call's id is `-` in file names.
        calls = (":".join(name.rsplit("-", 1)) for name in self._listed(_SUBAGENTS))
        own = [stream for name in (*self._listed(), *calls) for stream in _streams_of(name)]
        return own + [stream for name in self._listed(CHUNKS) for stream in _valid(f"{CHUNKS}/{name}", _LINES)]

    def seats(self) -> list[str]:
        """Return the members whose seat is or was held."""
        files = (unicodedata.normalize("NFC", name) for name in self._listed())
        return [name.removesuffix(_SEAT) for name in files if name.endswith(_SEAT)]

    def holder(self, member: str) -> str | None:
        """Return the note of the process that holds a member's seat, or None if it is free."""
        with closing(PrivateFolder.of(self._workspace, (TEAMS, self._team), Files(), create=False)) as folder:
            if not os.path.lexists(folder.path / f"{member}{_SEAT}"):
                return None
            # Seats are taken under this lock. A process that takes one must not find it locked by this check.
            with folder.locked(), open(folder.open(f"{member}{_SEAT}", os.O_RDWR), "rb") as seat:
                return None if try_lock(seat.fileno()) else seat.read(_NOTE_CAP).decode(errors="replace")

    def ends_before(self, stream: str) -> int:
        """Return the number of a record that was written but is missing at the end of a stream, 0 if none is known."""
        with self._opened(stream) as (folder, name):
            evidence, file = evidence_of(stream, folder, name), StreamFile(stream, folder, name)
            file.last()
            return missing_end(evidence, file)

    def _listed(self, *below: str) -> list[str]:
        """Return the names in a folder of the team, none if it is missing. Notes a folder that cannot be read."""
        folder = self._workspace.joinpath(TEAMS, self._team, *below)
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            self._note(str(StoreUnavailable.of(folder, error)))
            return []

    @contextmanager
    def _opened(self, stream: str) -> Iterator[tuple[PrivateFolder, str]]:
        """Open the folder of a stream, and yield it with the name of its file."""
        parts = self._folder(stream).relative_to(self._workspace).parts
        with closing(PrivateFolder.of(self._workspace, parts, Files(), create=False)) as folder:
            yield folder, _file_of(stream)

    def _read(self, stream: str) -> list[Item]:
        with self._opened(stream) as (folder, name):
            evidence, file = self._evidence(stream, folder, name), StreamFile(stream, folder, name)
            items = file.read(0, sync=False)
            if cut := cut_of(evidence, file, items):
                self._note(cut.words, cut.kind)
            elif _is_cut(folder, name):
                self._note(f"{folder.path / name}: its last line is cut off and ignored", "torn")
            return items

    def _evidence(self, stream: str, folder: PrivateFolder, name: str) -> Evidence:
        try:
            return evidence_of(stream, folder, name)
        except StoreError as error:
            self._note(str(error))
        except OSError as error:
            self._note(str(StoreUnavailable.of(folder.path, error)))
        return Evidence()

    def _folder(self, stream: str) -> Path:
        kind, owner = split_stream(stream)
        below = (CHUNKS,) if kind == CHUNKS else (_SUBAGENTS,) if is_call(owner) else ()
        return self._workspace.joinpath(TASKS if stream == BOARD else TEAMS, self._team, *below)


def _file_of(stream: str) -> str:
    kind, owner = split_stream(stream)
    if kind == CHUNKS:
        return f"{owner}{_LINES}"
    return f"{kind}{_LINES}" if not owner else owner.replace(":", "-") + SUFFIX[kind]


def _streams_of(name: str) -> Iterator[str]:
    """Yield the stream of a member or subagent that is in a file of this name, if any."""
    for kind, suffix in SUFFIX.items():
        yield from _valid(f"{kind}/{name}", suffix)


def _valid(path: str, suffix: str) -> Iterator[str]:
    """Yield the stream that a path names with a suffix, if it names one."""
    if path.endswith(suffix):
        # Some file systems list names in another Unicode form than the one they were created with.
        stream = unicodedata.normalize("NFC", path.removesuffix(suffix))
        with suppress(BadName):
            split_stream(stream)
            yield stream


def _is_cut(folder: PrivateFolder, name: str) -> bool:
    """Return whether a file ends in the middle of a line."""
    try:
        with folder.reader(name) as file:
            size = os.fstat(file.fileno()).st_size
            return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
    except FileNotFoundError:
        return False
