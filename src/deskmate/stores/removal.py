"""Deleting the folders of a team.

Nothing outside the workspace is touched: folders are opened by descriptor, and links are not followed. Every function
blocks.
"""

import os
import secrets
import shutil
import stat
from contextlib import closing, suppress
from pathlib import Path

from deskmate.errors import StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores.archive import ARCHIVE
from deskmate.stores.jsonl_store import TASKS, TEAMS, keep_out_of_git

REMOVED = ".removed"
_IGNORE = ".gitignore"


def remove_team(workspace: Path, team: str, archived: tuple[str, ...] = ()) -> None:
    """Delete a team's folders and the given archive folders. Raises StoreUnavailable or UnsafeFolder.

    A kill before the end leaves either the team or folders, moved out of the way, that the next removal deletes.
    """
    files, mark = Files(), secrets.token_hex(8)
    try:
        with closing(PrivateFolder.of(workspace, (TEAMS, REMOVED), files, create=True)) as into:
            # The team's own folder goes last: until then it shows that there is more to remove.
            places = [*(((TEAMS, ARCHIVE), name) for name in archived), ((TASKS,), team), ((TEAMS,), team)]
            for number, (parts, name) in enumerate(places):
                with (
                    suppress(FileNotFoundError),
                    closing(PrivateFolder.of(workspace, parts, files, create=False)) as above,
                ):
                    files.move(name, above.fd, f"{mark}-{number}", into.fd)
            for name in os.listdir(into.fd):
                _delete(name, into.fd)
    except OSError as error:
        where = error.filename or workspace / TEAMS / team
        raise StoreUnavailable(f"Cannot remove {where}: {error.strerror}", "Fix that, then try again.") from error
    _remove_if_empty(workspace, files)


def _delete(name: str, folder: int) -> None:
    # Another process that removes a team right now may delete the same.
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _remove_if_empty(workspace: Path, files: Files) -> None:
    """Delete the folders of all teams if there is no team left, because a folder with them may count as a workspace."""
    with suppress(OSError), closing(PrivateFolder.of(workspace, (TEAMS,), files, create=False)) as teams:
        os.rmdir(REMOVED, dir_fd=teams.fd)
        with suppress(FileNotFoundError):
            os.rmdir(ARCHIVE, dir_fd=teams.fd)
    for top in (TASKS, TEAMS):
        with suppress(OSError), closing(PrivateFolder.of(workspace, (top,), files, create=False)) as folder:
            if os.listdir(folder.fd) == [_IGNORE]:
                os.unlink(_IGNORE, dir_fd=folder.fd)
                try:
                    os.rmdir(workspace / top)
                except OSError:
                    # Somebody began a team there meanwhile.
                    keep_out_of_git(folder)
