"""How a team is known to be the user's own.

Records tell who may do what, and anybody can commit records. So a team is worked in only where its folder holds a
signature, made with a key that never leaves the folder Deskmate keeps for itself. Looking at one needs none. Nor is one
worked in that git has files of: a pull writes over what git ignores without a word, and keeps the signature.
"""

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deskmate.core.policy.trusted_files import signature
from deskmate.errors import Refused, StoreUnavailable
from deskmate.stores.archive import BARE, SIGNATURE, small_file, teams_from
from deskmate.stores.jsonl_store import TASKS, TEAMS
from deskmate.trust.approvals import locked, own_folder
from deskmate.trust.folders import home_of
from deskmate.workspace.blob_folders import private_folder, replace_file
from deskmate.workspace.git.git_index import hash_size, names, read_index

KEY = "teams.key"
_KEY_BYTES = 32
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Signing:
    """The signatures of one user in one workspace. `state`: where the key is kept."""

    state: Path
    workspace: Path

    def signed(self, team: str) -> bool:
        """Tell whether this user began a team here, or took it for their own."""
        key, found = self._key(), small_file(self.workspace / TEAMS / team / SIGNATURE)
        return key is not None and secrets.compare_digest(found, self._made(key, team))

    def check(self, team: str) -> None:
        """Raise Refused unless a team, and the home that its lead came from, may be worked in."""
        # The team first: what it says of its home is not heard before.
        self._check(team)
        self._check_git(team)
        home = home_of(self.workspace, team)
        self._check(home)
        self._check_git(home)

    def _check(self, team: str) -> None:
        if not self.signed(team):
            raise Refused(
                f"team '{team}' was not begun by you here, or was moved or copied, "
                f"so nothing that stands in it is obeyed; look at it with: deskmate board {team}; "
                f"go on with it by: deskmate trust --team {team}"
            )

    def _check_git(self, team: str) -> None:
        if found := _in_git(Path(os.path.realpath(self.workspace)), team):
            raise Refused(
                f"git has {found!r}, so what stands in team '{team}' may be another's and is not obeyed; "
                f"look at it with: deskmate board {team}; begin another with: deskmate run; "
                "if all of it is yours: git rm -r --cached .teams .tasks"
            )

    def claim(self, team: str) -> None:
        """Sign a team that is about to be founded; raise Refused where something of another's stands in its folders.

        Before the first record, so that whoever is killed behind it left a team of this user's. That no signature can
        be kept is a warning.
        """
        if self.signed(team):
            return
        for top in (TEAMS, TASKS):
            if others := [name for name in _names(self.workspace / top / team) if not BARE.fullmatch(name)]:
                raise Refused(
                    f"{self.workspace / top / team} holds {min(others)}, which was not written by you here; "
                    "move that folder away, or choose another name"
                )
        try:
            self.sign(team)
        except StoreUnavailable as error:
            # The work itself does not depend on it.
            _LOG.warning("nobody can go on with team '%s' later, nor play in it from another process: %s", team, error)

    def sign(self, team: str) -> None:
        """Take a team for the user's own; raise StoreError where that cannot be kept."""
        key = self._key() or self._new_key()
        try:
            with private_folder(self.workspace, TEAMS, team) as folder:
                replace_file(folder, SIGNATURE, self._made(key, team))
        except OSError as error:
            raise StoreUnavailable(f"{self.workspace / TEAMS / team}: {error.strerror}; fix that") from error

    def revoke(self, team: str) -> bool:
        """Take a team for a stranger's from now on, and tell whether it was the user's; raise StoreError."""
        known = self.signed(team)
        try:
            with suppress(FileNotFoundError), private_folder(self.workspace, TEAMS, team) as folder:
                os.unlink(SIGNATURE, dir_fd=folder)
        except OSError as error:
            raise StoreUnavailable(f"{self.workspace / TEAMS / team}: {error.strerror}; fix that") from error
        return known

    def team_from(self, home: str) -> str | None:
        """Return the open team that a lead founded from its home, if there is one that this user began.

        Raises Refused where git has files of that.
        """
        found = next(filter(self.signed, teams_from(self.workspace, home)), None)
        if found is not None:
            self._check_git(found)
        return found

    def _made(self, key: bytes, team: str) -> bytes:
        return signature(key, os.fsencode(os.path.realpath(self.workspace)), team)

    def _key(self) -> bytes | None:
        """Return the user's key, None where there is none that is whole."""
        key = small_file(self.state / KEY)
        return key if len(key) == _KEY_BYTES else None

    def _new_key(self) -> bytes:
        """Make the user's key, unless somebody else just did."""
        with own_folder(self.state) as folder, locked(folder):
            if (key := self._key()) is None:
                key = secrets.token_bytes(_KEY_BYTES)
                replace_file(folder, KEY, key)
            return key


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error.strerror}; fix that, then try again") from error


def _in_git(workspace: Path, team: str) -> str | None:
    """Return a file of a team that stands in the index of a repository around it, as all does that a commit brings."""
    for top in (workspace, *workspace.parents):
        inner = workspace.relative_to(top)
        # On some disks a name is the same in capitals, and those come first in the index.
        folders = tuple(os.fsencode(inner / part).lower() + b"/" for part in (TASKS, TEAMS))
        wanted = tuple(folder + team.encode() + b"/" for folder in folders)
        for name in _names_in(top / ".git", wanted[-1] + b"\xff"):
            # A repository within bears the name of its folder.
            own = name.lower() + b"/"
            if own in folders or own.startswith(wanted):
                return os.fsdecode(name)
    return None


def _names_in(git: Path, last: bytes) -> Iterator[bytes]:
    """Yield the names up to `last` in the index of a repository; raise StoreUnavailable if they cannot be read."""
    link = small_file(git)
    if link.startswith(b"gitdir: "):
        git = git.parent / os.fsdecode(link.removeprefix(b"gitdir: ").rstrip(b"\n"))
    common = git.parent.parent if git.parent.name == "worktrees" else git
    try:
        if index := read_index(git):
            yield from names(index, hash_size(common), last)
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot tell which files git tracks: {git / 'index'} cannot be read: {error.strerror}. "
            f"Look at it, then remove it and run: git reset"
        ) from error
