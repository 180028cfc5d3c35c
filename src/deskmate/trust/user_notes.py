"""Notes that the user adds while talking to a team.

They go into the notes of the project, which every new team reads. `approvals` decides whether those count.
"""

from pathlib import Path, PurePosixPath

from deskmate.core.policy.trusted_files import NOTES, Definition
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.fs.safe_files import append_file
from deskmate.trust.approvals import Consent, Survey, Trust, survey
from deskmate.trust.folders import workspace_of


@frozen
class NoteAdded:
    """Where a note was added. `trusted`: the file counts with it. Otherwise the user is asked at the next start."""

    path: str
    trusted: bool


def add_note(workspace: Path, text: str, state: Path) -> NoteAdded:
    """Append a note to the notes that teams started here read, or to a new file at the top of the workspace.

    The file stays trusted if it was: the approved bytes and this note are approved together. Raises Refused if it
    cannot be written.
    """
    found = survey(None if workspace_of(None) == workspace else workspace, state, reads=True)
    notes = next((one for one in (*found.consent.definitions, *found.fresh) if _is_notes(one)), None)
    path, before = (notes.path, notes.data) if notes else (NOTES[0], b"")
    added = (b"" if before.endswith(b"\n") or not before else b"\n") + f"- {text}\n".encode()
    try:
        append_file(workspace / path, added)
    except OSError as error:
        raise Refused(f"The note cannot be saved in {path}: {error.strerror}") from error
    return NoteAdded(path, _approve(found, notes, Definition(path, before + added), state))


def _is_notes(definition: Definition) -> bool:
    return PurePosixPath(definition.path).name in NOTES


def _approve(found: Survey, before: Definition | None, after: Definition, state: Path) -> bool:
    """Approve the notes again if they were approved before. Return whether they are."""
    if not found.consent.trusted or before in found.fresh:
        return False
    # If somebody else changed the file meanwhile, it has other bytes, and is not approved.
    Trust(state).approve(found.workspace, Consent((after,), trusted=True))
    return True
