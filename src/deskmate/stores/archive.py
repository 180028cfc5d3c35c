"""Archiving a team, and which team it belongs to.

An archived team is `.teams/.archive/<team>-<time>/`, with the content of `.teams/<team>` as `team` and the content of
`.tasks/<team>` as `tasks`. Anybody can commit such folders, so one counts only with a mark: the file `closing` in the
team's own folder. Only who knows the signature of the lead's first team (its home) can make that mark. Every function
blocks, so call it in a thread.
"""

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from deskmate.core.log.names import BOARD, LEAD, ROSTER, SPEND, known_name
from deskmate.core.log.records import RECORD_CAP, decode
from deskmate.core.policy.trusted_files import signature
from deskmate.core.team import spending
from deskmate.core.team.roster_records import TeamFounded, read_event
from deskmate.core.team.spending import EMPTY, Spending
from deskmate.errors import BadName, BadRecord, StoreCorrupt, StoreUnavailable, UnsafeFolder
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import LOCK, PrivateFolder
from deskmate.fs.safe_files import small_file
from deskmate.stores.jsonl_store import TASKS, TEAMS
from deskmate.stores.line_format import unseal
from deskmate.stores.stream_file import StreamFile

ARCHIVE, SIGNATURE, CLOSING = ".archive", "signature", "closing"
TEAM_PART, TASKS_PART = "team", "tasks"
# The team's own folder goes last: as long as it is in its place, it shows that there is more to move.
_PARTS = ((TASKS, TASKS_PART), (TEAMS, TEAM_PART))
# The files that are made in a team's folder before its first record, including drafts of a signature.
BARE = re.compile(rf"{re.escape(LOCK)}|{LEAD}\.seat|{SIGNATURE}|\.[0-9a-f]{{16}}")
_NAME = re.compile(r"(?P<team>.+)-[0-9]{8}T[0-9]{6}Z(\.[0-9]+)?")


def teams_in(workspace: Path) -> list[str]:
    """Return the names of the open teams in alphabetical order. Raises StoreUnavailable.

    A folder of a process that was killed before the first record is not a team.
    """
    names = [path.name for path in _listed(workspace / TEAMS) if _is_name(path.name) and os.path.isdir(path)]
    return [name for name in names if not is_unused(workspace, name)]


def strays_in(workspace: Path) -> list[str]:
    """Return what has the name of a team but is not a folder. Raises StoreUnavailable."""
    return [path.name for path in _listed(workspace / TEAMS) if _is_name(path.name) and not os.path.isdir(path)]


def is_unused(workspace: Path, team: str) -> bool:
    """Return whether the folders of a team, if any, contain only what is made before the first record.

    Anything else means that it is used: a link, any other file, or a sign that there was a record.
    """
    return all(_is_bare(workspace / top / team) for top in (TEAMS, TASKS))


def _is_bare(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        # It does not exist, or that is unknown. Then opening it fails with the reason.
        return True
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
    try:
        with os.scandir(folder) as entries:
            return all(map(_is_made_before_records, entries))
    except OSError:
        return False


def _is_made_before_records(entry: os.DirEntry[str]) -> bool:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return False
    # Records, or sync marks in the lock file, make a team.
    empty = entry.name in (LOCK, f"{ROSTER}.jsonl", f"{BOARD}.jsonl")
    return status.st_size == 0 if empty else bool(BARE.fullmatch(entry.name))


def founding(workspace: Path, *parts: str) -> TeamFounded | None:
    """Return the first record of the roster in a folder below `.teams`, or None if it is not a team folder.

    Raises StoreUnavailable if the disk fails.
    """
    try:
        with (
            closing(PrivateFolder.of(workspace, (TEAMS, *parts), Files(), create=False)) as folder,
            folder.reader(f"{ROSTER}.jsonl") as file,
        ):
            line = file.readline(RECORD_CAP + 1024).rstrip(b"\n")
        event = read_event(decode(line)) if unseal(line) else None
    except (FileNotFoundError, BadRecord, UnsafeFolder, StoreCorrupt):
        return None
    except OSError as error:
        raise StoreUnavailable.of(workspace.joinpath(TEAMS, *parts), error) from error
    return event if isinstance(event, TeamFounded) else None


def teams_from(workspace: Path, home: str) -> list[str]:
    """Return the open teams whose own records say that a lead created them from its first team `home`."""
    return [team for team in teams_in(workspace) if (begun := founding(workspace, team)) and begun.home == home]


def archive(workspace: Path, team: str, at: float, files: Files | None = None) -> Path:
    """Move a team's folders to the archive and return the new folder. Finishes a move that was cut off before.

    Raises StoreUnavailable or UnsafeFolder if the disk refuses. Then a part may have been moved, and the next call
    continues.
    """
    files = files or Files()
    try:
        place = _begun(workspace, team) or _begin(workspace, team, at, files)
        _move(workspace, team, place, files)
    except OSError as error:
        raise StoreUnavailable.of(workspace / TEAMS / team, error) from error
    return place


def finish_archiving(workspace: Path, files: Files | None = None) -> None:
    """Finish the archiving that a killed process began. Raises StoreUnavailable or UnsafeFolder."""
    for team in teams_in(workspace):
        if _begun(workspace, team):
            archive(workspace, team, 0.0, files)


def spent_in_archive(workspace: Path, home: str) -> Spending:
    """Return what the archived teams that were created from `home` have spent.

    If `home` has no signature, all of them count: a cap that is reached too early does less harm.
    """
    found = EMPTY
    for name in archived_from(workspace, home):
        found = spending.together(found, spent_in(workspace, ARCHIVE, name, TEAM_PART))
    return found


def archived_from(workspace: Path, home: str) -> list[str]:
    """Return the archive folders of teams that were created from `home` and closed by its lead."""
    key = small_file(workspace / TEAMS / home / SIGNATURE)
    return [place.name for place in _archived(workspace) if _is_from(workspace, place, home, key)]


def _is_from(workspace: Path, place: Path, home: str, key: bytes) -> bool:
    begun = founding(workspace, ARCHIVE, place.name, TEAM_PART)
    ours = not key or small_file(place / TEAM_PART / CLOSING) == _mark(workspace, key, place.name)
    return begun is not None and begun.home == home and ours


def spent_in(workspace: Path, *parts: str) -> Spending:
    """Return what the team in a folder below `.teams` has spent."""
    with closing(PrivateFolder.of(workspace, (TEAMS, *parts), Files(), create=False)) as folder:
        return spending.fold(EMPTY, StreamFile(SPEND, folder, f"{SPEND}.jsonl").read(0, sync=False))


def _archived(workspace: Path) -> Iterator[Path]:
    place = workspace / TEAMS / ARCHIVE
    for path in _listed(place) if place in _listed(workspace / TEAMS) else ():
        if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            yield path


def _listed(folder: Path) -> list[Path]:
    """Return what is in a folder, nothing if it does not exist."""
    try:
        # A folder that can be listed but not entered would not show what is there.
        os.stat(os.path.join(folder, "."))
        return [folder / name for name in sorted(os.listdir(folder))]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable.of(folder, error) from error


def _is_name(text: str) -> bool:
    try:
        known_name(text, "team")
    except BadName:
        return False
    return True


def _mark(workspace: Path, key: bytes, place: str) -> bytes:
    made = signature(key, os.fsencode(os.path.realpath(workspace)), place)
    return b" ".join((place.encode(), made))


def _key(workspace: Path, team: str) -> bytes:
    """Return the key for the mark of an open team: the signature of its lead's first team."""
    begun = founding(workspace, team)
    return small_file(workspace / TEAMS / ((begun and begun.home) or team) / SIGNATURE)


def _begun(workspace: Path, team: str) -> Path | None:
    """Return the archive folder to which this user began to move a team, or None."""
    found = small_file(workspace / TEAMS / team / CLOSING)
    name = _NAME.fullmatch(found.partition(b" ")[0].decode(errors="replace"))
    if not name or name["team"] != team:
        return None
    key = _key(workspace, team)
    return workspace / TEAMS / ARCHIVE / name[0] if key and found == _mark(workspace, key, name[0]) else None


def _begin(workspace: Path, team: str, at: float, files: Files) -> Path:
    """Mark a team as being archived, and return its new archive folder."""
    base = f"{team}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(at))}"
    with closing(PrivateFolder.of(workspace, (TEAMS, ARCHIVE), files, create=True)) as above:
        names = (base if number == 1 else f"{base}.{number}" for number in count(1))
        place = next(above.path / name for name in names if not os.path.lexists(above.path / name))
    # Before the folder is created: after a kill, the mark leads to everything that was left.
    with closing(PrivateFolder.of(workspace, (TEAMS, team), files, create=False)) as folder:
        fd = folder.open(CLOSING, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            files.write(fd, _mark(workspace, _key(workspace, team), place.name))
            files.sync(fd)
        finally:
            os.close(fd)
        folder.sync()
    return place


def _move(workspace: Path, team: str, place: Path, files: Files) -> None:
    with closing(PrivateFolder.of(workspace, (TEAMS, ARCHIVE, place.name), files, create=True)) as into:
        for top, part in _PARTS:
            with closing(PrivateFolder.of(workspace, (top,), files, create=True)) as above:
                # If it is gone, a killed process moved it before, or another process is finishing this right now.
                with suppress(FileNotFoundError):
                    files.move(team, above.fd, part, into.fd)
                into.sync()
                above.sync()
