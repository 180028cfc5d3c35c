"""What the user has approved of each workspace.

Faces show what is new and ask. Only exactly the bytes that were approved count. The bytes that are compared are the
bytes that are used: a file is not read twice.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deskmate.config import Settings
from deskmate.core.policy.trusted_files import (
    SETTINGS,
    Approval,
    Approved,
    Definition,
    counting,
    digests,
    read_trust,
    standing,
    write_trust,
)
from deskmate.core.values import frozen
from deskmate.errors import BadRecord, Refused, StoreUnavailable
from deskmate.fs.safe_files import file_lock, private_folder, read_up_to, regular_file, replace_file
from deskmate.trust.folders import current_folder, workspace_of
from deskmate.trust.project_files import definitions_at, definitions_in, seen_in

FILE = "trust.json"
LOCK = "trust.lock"
_MOST_BYTES = 16_000_000


@frozen
class Consent:
    """What of a workspace is used: definitions as read. `trusted`: whether the folder is, so its branch may be told."""

    definitions: tuple[Definition, ...] = ()
    trusted: bool = False

    @property
    def approved(self) -> dict[str, str] | None:
        """The same in the form that another process gets, None if the folder is not trusted."""
        return digests(self.definitions) if self.trusted else None

    def narrowed(self, settings: Settings) -> Settings:
        """Return settings as narrowed by the project. Raises BadSettings for a setting that a project may not have."""
        for one in self.definitions:
            if one.path == SETTINGS:
                # Import this only if there is such a file.
                from deskmate.config.project_settings import narrowed, read_project

                return narrowed(settings, read_project(one.data, one.path))
        return settings


NO_CONSENT = Consent()


@frozen
class Survey:
    """What was found in a workspace. `consent`: what was approved before, with these bytes.

    `unused`: the approval status of all else by path, None if the file was not opened. `fresh`: the same as read.
    `trouble`: why nothing counts as approved, or None.
    """

    workspace: Path
    consent: Consent
    unused: Mapping[str, Approval | None]
    fresh: tuple[Definition, ...] = ()
    trouble: BadRecord | None = None

    @property
    def whole(self) -> Consent:
        """The consent to everything that was read."""
        return Consent((*self.consent.definitions, *self.fresh), trusted=True)


def survey(folder: Path | None, state: Path, *, reads: bool) -> Survey:
    """Return what a workspace has. Without `reads`, nothing is opened in a workspace that was never trusted."""
    here = folder or current_folder()
    place, trouble = workspace_of(folder), None
    try:
        approved = Trust(state).approved(place)
    except BadRecord as error:
        approved, trouble = None, error
    if approved is None and not reads:
        return Survey(place, NO_CONSENT, dict.fromkeys(seen_in(place, here)), trouble=trouble)
    found = definitions_in(place, here)
    used = counting(found, approved or {})
    fresh = tuple(one for one in found if one not in used)
    unused = {one.path: standing(one, approved or {}) for one in fresh}
    return Survey(place, Consent(used, approved is not None), unused, fresh, trouble)


def consent_to(workspace: Path, approved: Approved | None) -> Consent:
    """Return the consent that another process passed on, as far as the files are still the same."""
    if approved is None:
        return NO_CONSENT
    return Consent(counting(definitions_at(workspace, approved), approved), trusted=True)


class Trust:
    """What was approved, by workspace. It is kept in Deskmate's state folder."""

    def __init__(self, state: Path) -> None:
        self.file = state / FILE
        self._state = state

    def all(self) -> dict[str, dict[str, str]]:
        """Return all approvals. Raises BadRecord if the file cannot be relied on."""
        try:
            with regular_file(self.file) as fd:
                found = os.fstat(fd)
                if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                    raise BadRecord("it must be owned by you and writable only by you")
                return read_trust(read_up_to(fd, _MOST_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (BadRecord, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise BadRecord(f"Ignoring {self.file}: {why}", "Delete it to reset trust.") from error

    def approved(self, workspace: Path) -> Approved | None:
        """Return what was approved of a workspace, None if it was never trusted. Raises BadRecord as `all` does.

        A workspace that contains this file has nothing approved, because its agents could write the file.
        """
        return None if self._is_within(workspace) else self.all().get(str(workspace))

    def approve(self, workspace: Path, consent: Consent) -> None:
        """Record that these bytes are approved. They replace earlier approvals of the same paths. Raises Refused."""
        if self._is_within(workspace):
            raise Refused(
                f"Cannot save that you trust this: {self.file} is in {workspace}, where agents can write",
                "To trust the files in one run only, add --trust.",
            )
        place, added = str(workspace), digests(consent.definitions)
        self._change(lambda known: {**known, place: {**known.get(place, {}), **added}})

    def revoke(self, workspace: Path) -> bool:
        """Forget what was approved of a workspace. Return whether anything was."""
        known = str(workspace) in self._known()
        self._change(lambda before: {place: of for place, of in before.items() if place != str(workspace)})
        return known

    def _is_within(self, workspace: Path) -> bool:
        return Path(os.path.realpath(self._state)).is_relative_to(workspace)

    def _known(self) -> dict[str, dict[str, str]]:
        try:
            return self.all()
        except BadRecord:
            # Do not keep what cannot be relied on.
            return {}

    def _change(self, change: Callable[[dict[str, dict[str, str]]], Mapping[str, Approved]]) -> None:
        # Locked: otherwise an approval that is revoked meanwhile could come back.
        with own_folder(self._state) as folder, file_lock(folder, LOCK):
            replace_file(folder, FILE, write_trust(change(self._known())))


@contextmanager
def own_folder(state: Path) -> Iterator[int]:
    """Open Deskmate's state folder, and create it if it is missing. Raises StoreUnavailable."""
    try:
        state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with private_folder(state.parent.resolve(), state.name) as folder:
            yield folder
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot use {state}: {error.strerror}", "Make it a folder that you can write to."
        ) from error
