"""How a team is known to be the user's own.

Records say who may do what, and anybody can commit records. So a team only runs if its folder has a signature, made
with a key that never leaves Deskmate's state folder. Viewing a team needs no signature. A team with files in git does
not run either: a pull silently overwrites files that git ignores, and keeps the signature.
"""

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deskmate.core.policy.trusted_files import signature
from deskmate.core.values import frozen
from deskmate.errors import Refused, StoreUnavailable
from deskmate.fs.safe_files import file_lock, private_folder, replace_file, small_file
from deskmate.stores.archive import BARE, SIGNATURE
from deskmate.stores.engines.engine import teams_from
from deskmate.stores.jsonl_store import TASKS, TEAMS
from deskmate.trust.approvals import LOCK, own_folder
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import home_of
from deskmate.workspace.blobs import BLOBS
from deskmate.workspace.git.git_index import hash_size, names, read_index

KEY = "teams.key"
_KEY_BYTES = 32
_LOG = logging.getLogger(__name__)


@frozen
class Signing:
    """The signatures of one user in one workspace. `state`: where the key is kept."""

    state: Path
    workspace: Path

    def signed(self, team: str) -> bool:
        """Return whether this user began a team here, or has trusted it. Teams of a shared engine are trusted."""
        if engine_at(self.workspace).shared:
            return True
        key, found = self._key(), small_file(self.workspace / TEAMS / team / SIGNATURE)
        return key is not None and secrets.compare_digest(found, self._made(key, team))

    def check(self, team: str) -> None:
        """Raise Refused unless a team and its lead's first team may run."""
        # The team first: what it says about the first team does not count before.
        self._check(team)
        self._check_git(team)
        home = home_of(self.workspace, team)
        self._check(home)
        self._check_git(home)

    def _check(self, team: str) -> None:
        if not self.signed(team):
            raise Refused(
                f"You did not start team '{team}' here, or it was moved or copied, so it cannot run",
                f"To inspect it, run: deskmate board {team}\nTo trust it, run: deskmate trust --team {team}",
            )

    def _check_git(self, team: str) -> None:
        if engine_at(self.workspace).shared:
            return
        if found := _in_git(Path(os.path.realpath(self.workspace)), team):
            raise Refused(
                f"git tracks {found!r}, so team '{team}' may come from someone else, and it cannot run",
                f'To inspect it, run: deskmate board {team}\nTo start another team, run: deskmate run "GOAL"\n'
                "If all of it is yours, run: git rm -r --cached .teams .tasks",
            )

    def claim(self, team: str, *, has_blobs: bool = False) -> None:
        """Sign a team that is about to be created. Raises Refused if its folders contain files of somebody else.

        Call it before the first record, so that a kill after it leaves a team of this user. If the signature cannot be
        written, that is a warning. `has_blobs`: whether blobs may be there, because the team was on a server before.
        """
        if self.signed(team):
            return
        for top in (TEAMS, TASKS):
            names = [name for name in _names(self.workspace / top / team) if not (has_blobs and name == BLOBS)]
            if others := [name for name in names if not BARE.fullmatch(name)]:
                raise Refused(
                    f"{self.workspace / top / team} contains {min(others)}, which you did not write here",
                    "Move that folder elsewhere, or choose another name.",
                )
        try:
            self.sign(team)
        except StoreUnavailable as error:
            # The work itself does not depend on the signature.
            _LOG.warning("Team '%s' cannot be continued later: %s", team, error)

    def sign(self, team: str) -> None:
        """Sign a team as the user's own. Raises StoreError if the signature cannot be written."""
        key = self._key() or self._new_key()
        try:
            with private_folder(self.workspace, TEAMS, team) as folder:
                replace_file(folder, SIGNATURE, self._made(key, team))
        except OSError as error:
            raise StoreUnavailable.of(self.workspace / TEAMS / team, error) from error

    def revoke(self, team: str) -> bool:
        """Remove the signature of a team. Return whether it was the user's own.

        Raises StoreError, or Refused for a team of a shared engine.
        """
        if engine_at(self.workspace).shared:
            raise Refused(
                f"Team '{team}' is on a server, and all teams there are trusted",
                "To stop using them, unset the setting `store` and DESKMATE_STORE.",
            )
        known = self.signed(team)
        try:
            with suppress(FileNotFoundError), private_folder(self.workspace, TEAMS, team) as folder:
                os.unlink(SIGNATURE, dir_fd=folder)
        except OSError as error:
            raise StoreUnavailable.of(self.workspace / TEAMS / team, error) from error
        return known

    def team_from(self, home: str) -> str | None:
        """Return the open team that a lead created from its first team, if this user began it.

        Raises Refused if git has files of it.
        """
        found = next(filter(self.signed, teams_from(engine_at(self.workspace), home)), None)
        if found is not None:
            self._check_git(found)
        return found

    def _made(self, key: bytes, team: str) -> bytes:
        return signature(key, os.fsencode(os.path.realpath(self.workspace)), team)

    def _key(self) -> bytes | None:
        """Return the user's key, or None if there is no complete one."""
        key = small_file(self.state / KEY)
        return key if len(key) == _KEY_BYTES else None

    def _new_key(self) -> bytes:
        """Create the user's key, unless another process just did."""
        with own_folder(self.state) as folder, file_lock(folder, LOCK):
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
        raise StoreUnavailable.of(folder, error) from error


def _in_git(workspace: Path, team: str) -> str | None:
    """Return a file of a team that is in the index of a repository around it, as every committed file is."""
    for top in (workspace, *workspace.parents):
        inner = workspace.relative_to(top)
        # Some disks ignore case, and capitals come first in the index.
        folders = tuple(os.fsencode(inner / part).lower() + b"/" for part in (TASKS, TEAMS))
        wanted = tuple(folder + team.encode() + b"/" for folder in folders)
        for name in _names_in(top / ".git", wanted[-1] + b"\xff"):
            # A nested repository has the name of its folder.
            own = name.lower() + b"/"
            if own in folders or own.startswith(wanted):
                return os.fsdecode(name)
    return None


def _names_in(git: Path, last: bytes) -> Iterator[bytes]:
    """Yield the names up to `last` in the index of a repository. Raises StoreUnavailable if it cannot be read."""
    link = small_file(git)
    if link.startswith(b"gitdir: "):
        git = git.parent / os.fsdecode(link.removeprefix(b"gitdir: ").rstrip(b"\n"))
    common = git.parent.parent if git.parent.name == "worktrees" else git
    try:
        if index := read_index(git):
            yield from names(index, hash_size(common), last)
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot tell which files git tracks, because {git / 'index'} cannot be read: {error.strerror}",
            "Inspect the file, then remove it and run: git reset",
        ) from error
