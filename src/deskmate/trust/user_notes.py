"""Notes that outlive a team: of the user, of the project, and of the teams of one workspace.

Notes of the project are a file of the workspace, and `approvals` decides whether it counts. The others are in folders
of the user, outside the workspace: only the user and Deskmate write them.
"""

import os
from enum import StrEnum
from hashlib import sha256
from pathlib import Path, PurePosixPath

from deskmate.config import Settings
from deskmate.core.policy.trusted_files import NOTES, Approval, Definition
from deskmate.core.prompt.system_prompt import KEPT_NOTES_CAP, NOTES_CAP
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.fs.safe_files import append_file, open_folder, read_regular, replace_file
from deskmate.trust.approvals import Consent, Survey, Trust, survey
from deskmate.trust.folders import workspace_of

_FOLDER = "notes"
# Nobody writes more by hand. More of a file is not looked at.
_MOST_READ = 256_000


class NotesScope(StrEnum):
    """Whose notes they are: the user's, of this project, or of the teams of this workspace."""

    USER = "user"
    PROJECT = "project"
    TEAM = "team"


@frozen
class NoteAdded:
    """Where a note was added. `trusted`: the file counts with it. Otherwise the user is asked at the next start."""

    path: str
    trusted: bool


@frozen
class KeptNotes:
    """The notes of one scope. `file`: where they are, whether or not it exists. `standing`: what counts of them.

    `most`: how many bytes are given to a new team.
    """

    scope: NotesScope
    file: Path
    text: str = ""
    standing: str = ""

    @property
    def most(self) -> int:
        """How many bytes of them a new team gets."""
        return NOTES_CAP if self.scope is NotesScope.PROJECT else KEPT_NOTES_CAP

    @property
    def size(self) -> int:
        """How many bytes they have."""
        return len(self.text.encode(errors="replace"))


def user_notes(settings: Settings, workspace: Path) -> KeptNotes:
    """Return the notes of the user: the first file that there is, or the one to create.

    A file in the workspace does not count, because agents could write it.
    """
    folders = [(settings.file.parent, NOTES[0])]
    folders += [] if settings.claude_folder is None else [(settings.claude_folder, NOTES[1])]
    files = [Path(os.path.realpath(folder / name)) for folder, name in folders]
    outside = [file for file in files if not file.is_relative_to(workspace)]
    file = next((one for one in outside if one.is_file()), files[0])
    return (
        _read(NotesScope.USER, file)
        if file in outside
        else KeptNotes(NotesScope.USER, file, standing="not used, because agents could write there")
    )


def team_notes(settings: Settings, workspace: Path) -> KeptNotes:
    """Return the notes of the teams of a workspace."""
    mark = sha256(os.fsencode(workspace)).hexdigest()[:16]
    return _read(NotesScope.TEAM, settings.state / _FOLDER / f"{mark}.md")


def project_notes(settings: Settings, workspace: Path) -> KeptNotes:
    """Return the notes of a project that the current folder has, with whether they are trusted."""
    found = _survey(workspace, settings.state)
    notes = _notes_in(found)
    if notes is None:
        return KeptNotes(NotesScope.PROJECT, workspace / NOTES[0])
    how = Approval.TRUSTED if notes in found.consent.definitions else found.unused[notes.path]
    return KeptNotes(NotesScope.PROJECT, workspace / notes.path, notes.text, str(how))


def notes_in(scope: NotesScope, settings: Settings, workspace: Path) -> KeptNotes:
    """Return the notes of a scope."""
    read = {NotesScope.USER: user_notes, NotesScope.PROJECT: project_notes, NotesScope.TEAM: team_notes}
    return read[scope](settings, workspace)


def _read(scope: NotesScope, file: Path) -> KeptNotes:
    try:
        text = read_regular(file, _MOST_READ).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return KeptNotes(scope, file)
    except OSError as error:
        return KeptNotes(scope, file, standing=f"not used: {error.strerror}")
    return KeptNotes(scope, file, text)


# -- changes --------------------------------------------------------------------------------------


def add_note(scope: NotesScope, text: str, settings: Settings, workspace: Path) -> NoteAdded:
    """Append a note to the notes of a scope, or to a new file. Raises Refused if it cannot be written or has no room.

    The notes of a project stay trusted if they were: the approved bytes and this note are approved together.
    """
    kept = notes_in(scope, settings, workspace)
    line = f"- {text}\n".encode(errors="replace")
    if scope is NotesScope.PROJECT:
        return _add_to_project(line, settings.state, workspace)
    if kept.standing:
        raise Refused(f"{kept.file} is {kept.standing}", "Put your settings into a folder outside the workspace.")
    if kept.size + len(line) > kept.most:
        raise Refused(
            f"{kept.file} has {kept.size:,} bytes. Teams get at most {kept.most:,} of them, so the note was not added",
            f"Shorten it: /memory edit {scope}",
        )
    before = b"" if kept.text.endswith("\n") or not kept.text else b"\n"
    try:
        kept.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        append_file(kept.file, before + line)
    except OSError as error:
        raise Refused(f"The note cannot be saved in {kept.file}: {error.strerror}") from error
    return NoteAdded(str(kept.file), trusted=True)


def _add_to_project(line: bytes, state: Path, workspace: Path) -> NoteAdded:
    found = _survey(workspace, state)
    notes = _notes_in(found)
    path, before = (notes.path, notes.data) if notes else (NOTES[0], b"")
    added = (b"" if before.endswith(b"\n") or not before else b"\n") + line
    try:
        append_file(workspace / path, added)
    except OSError as error:
        raise Refused(f"The note cannot be saved in {path}: {error.strerror}") from error
    return NoteAdded(path, _approve(found, notes, Definition(path, before + added), state))


def write_notes(kept: KeptNotes, text: str, settings: Settings, workspace: Path) -> NoteAdded:
    """Replace notes by what the user wrote. `kept`: as they were shown. Raises Refused if they changed meanwhile.

    The notes of a project stay trusted if they were.
    """
    if notes_in(kept.scope, settings, workspace).text != kept.text:
        raise Refused(f"{kept.file} was changed while you edited it, so your text was not saved", "Edit it again.")
    data = text.encode(errors="replace")
    found = _survey(workspace, settings.state)
    try:
        _replace(kept.file, data)
    except OSError as error:
        raise Refused(f"{kept.file} cannot be saved: {error.strerror}") from error
    if kept.scope is not NotesScope.PROJECT:
        return NoteAdded(str(kept.file), trusted=True)
    path = kept.file.relative_to(workspace).as_posix()
    return NoteAdded(path, _approve(found, _notes_in(found), Definition(path, data), settings.state))


def _replace(file: Path, data: bytes) -> None:
    """Replace a file at once, so that a kill never leaves half of it. Its mode stays."""
    if file.is_symlink():
        raise Refused(f"{file} is a link, so it was not saved", "Edit the file that it leads to.")
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    with open_folder(file.parent) as folder:
        replace_file(folder, file.name, data)
        os.chmod(file.name, mode, dir_fd=folder)


def _survey(workspace: Path, state: Path) -> Survey:
    return survey(None if workspace_of(None) == workspace else workspace, state, reads=True)


def _notes_in(found: Survey) -> Definition | None:
    return next((one for one in (*found.consent.definitions, *found.fresh) if _is_notes(one)), None)


def _is_notes(definition: Definition) -> bool:
    return PurePosixPath(definition.path).name in NOTES


def _approve(found: Survey, before: Definition | None, after: Definition, state: Path) -> bool:
    """Approve the notes again if they were approved before. Return whether they are."""
    if not found.consent.trusted or before in found.fresh:
        return False
    # If somebody else changed the file meanwhile, it has other bytes, and is not approved.
    Trust(state).approve(found.workspace, Consent((after,), trusted=True))
    return True
