"""The token that clients must send over HTTP."""

import os
import re
import secrets
from pathlib import Path

from deskmate.errors import BadSettings, SystemProblem
from deskmate.fs.safe_files import create_file, read_up_to, regular_file

_LEAST, _MOST = 32, 512


def new_token() -> str:
    """Return a random token of 43 characters."""
    return secrets.token_urlsafe(32)


def token_in(path: Path, workspace: Path) -> str:
    """Return the token in a file that only this user can read. Creates the file if it is missing.

    Raises BadSettings for a file that others can read, or without a usable token, and for one in the workspace, where
    members of the team could read it.
    """
    if path.absolute().parent.resolve().is_relative_to(workspace.resolve()):
        raise BadSettings(
            f"{path} is in the workspace, where agents could read the token",
            "Name a file elsewhere, such as ~/.config/deskmate/mcp.token",
        )
    try:
        with os.fdopen(create_file(path), "w") as file:
            token = new_token()
            file.write(f"{token}\n")
            return token
    except FileExistsError:
        pass
    except OSError as error:
        raise BadSettings(f"Cannot create {path}: {error.strerror}", "Name a file in an existing folder.") from error
    return _read(path)


def _read(path: Path) -> str:
    try:
        with regular_file(path) as fd:
            status = os.fstat(fd)
            data = read_up_to(fd, _MOST + 1)
    except (OSError, SystemProblem) as error:
        raise BadSettings(f"Cannot read {path}: {error.strerror}", "Name a regular file that you own.") from error
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise BadSettings(f"Others can read or own {path}", f"Make it yours alone: chmod 600 {path}")
    token = data.decode("ascii", "replace").strip()
    if not re.fullmatch(rf"[A-Za-z0-9._~+/=-]{{{_LEAST},{_MOST}}}", token):
        raise BadSettings(
            f"{path} does not contain a token of {_LEAST} to {_MOST} letters and digits",
            "Delete it to get a new one.",
        )
    return token
