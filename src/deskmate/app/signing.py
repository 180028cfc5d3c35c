"""Signing: how a team is known to be one that this user began in this very folder.

Records tell who may do what, and anybody can commit records. So a team is worked in only where its folder holds a
signature, made with a key that never leaves the folder Deskmate keeps for itself. Looking at one needs none.
"""

import logging
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from deskmate.app.places import home_of
from deskmate.app.trusting import locked, own_folder
from deskmate.core.names import LEAD
from deskmate.core.trust import signature
from deskmate.errors import Refused, StoreUnavailable
from deskmate.stores.archive import teams_from
from deskmate.stores.folders import LOCK
from deskmate.stores.jsonl import TASKS, TEAMS
from deskmate.workspaces.private import private_folder, replace_file

KEY, SIGNATURE = "teams.key", "signature"
_KEY_BYTES, _MOST_BYTES = 32, 4096
# Made by whoever sits down and signs, before anything is said; drafts of a signature among it.
_BARE = re.compile(rf"{re.escape(LOCK)}|{LEAD}\.seat|{SIGNATURE}|\.[0-9a-f]{{16}}")
_LOG = logging.getLogger(__name__)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Signing:
    """The signatures of one user in one workspace. `state`: where the key is kept."""

    state: Path
    workspace: Path

    def signed(self, team: str) -> bool:
        """Tell whether this user began a team here, or took it for their own."""
        key, found = self._key(), _content(self.workspace / TEAMS / team / SIGNATURE)
        return key is not None and secrets.compare_digest(found, self._made(key, team))

    def check(self, team: str) -> None:
        """Raise Refused unless a team, and the home that its lead came from, may be worked in."""
        # The team first: what it says of its home is not heard before.
        self._check(team)
        self._check(home_of(self.workspace, team))

    def _check(self, team: str) -> None:
        if not self.signed(team):
            raise Refused(
                f"team '{team}' was not begun by you here, or was moved or copied, "
                f"so nothing that stands in it is obeyed; look at it with: deskmate board {team}; "
                f"go on with it by: deskmate trust --team {team}"
            )

    def claim(self, team: str) -> None:
        """Sign a team that is about to be founded; raise Refused where something of another's stands in its folders.

        Before the first record, so that whoever is killed behind it left a team of this user's. That no signature can
        be kept is a warning.
        """
        if self.signed(team):
            return
        for top in (TEAMS, TASKS):
            if others := [name for name in _names(self.workspace / top / team) if not _BARE.fullmatch(name)]:
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
            raise StoreUnavailable(f"{self.workspace / TEAMS / team}: {error.strerror}; mend that") from error

    def team_from(self, home: str) -> str | None:
        """Return the open team that a lead founded from its home, if there is one that this user began."""
        return next(filter(self.signed, teams_from(self.workspace, home)), None)

    def _made(self, key: bytes, team: str) -> bytes:
        return signature(key, os.fsencode(os.path.realpath(self.workspace)), team)

    def _key(self) -> bytes | None:
        """Return the user's key, None where there is none that is whole."""
        key = _content(self.state / KEY)
        return key if len(key) == _KEY_BYTES else None

    def _new_key(self) -> bytes:
        """Make the user's key, unless somebody else just did."""
        with own_folder(self.state) as folder, locked(folder):
            if (key := self._key()) is None:
                key = secrets.token_bytes(_KEY_BYTES)
                replace_file(folder, KEY, key)
            return key


def _content(file: Path) -> bytes:
    """Return what is in a small file, nothing where there is none."""
    try:
        with open(os.open(file, _READ), "rb") as opened:
            return opened.read(_MOST_BYTES)
    except OSError:
        return b""


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error.strerror}; mend that, then try again") from error
