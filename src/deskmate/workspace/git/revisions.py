"""Which commit a folder is at."""

import contextlib
import os
import re
from pathlib import Path

from deskmate.fs.safe_files import read_regular
from deskmate.workspace.git.repositories import GIT, HEAD, is_repository, named_by

_MAX_REF, _MAX_PACKED = 4096, 16_000_000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = re.compile(r"ref: (refs/[^\0\n]+)")


def head_commit(root: Path) -> str | None:
    """Return the full hash of the commit that a folder is at, or None if there is none or it is unknown."""
    checkout = next((found for folder in (root, *root.parents) if (found := _checkout(folder / GIT))), None)
    if checkout is None:
        return None
    head = _text(checkout / HEAD, _MAX_REF).strip()
    branch = _BRANCH.fullmatch(head)
    return _at(checkout, branch[1]) if branch else _commit(head)


def status_words(git: str) -> list[str]:
    """Return the command that prints what is not committed. It may run what the repository names, so confine it."""
    status = ["status", "--porcelain", "--ignore-submodules=dirty"]
    # The whole repository except our own folders, which hide themselves from git after a team has started.
    where = ["--", ":/", ":(exclude).teams", ":(exclude).tasks"]
    return [git, "--no-optional-locks", "-c", "core.fsmonitor=false", *status, *where]


def _checkout(git: Path) -> Path | None:
    return git if is_repository(git) else named_by(git)


def has_branches(checkout: Path, folder: str) -> bool:
    """Tell whether a repository has branches in a folder, such as `refs/heads/deskmate`."""
    common = _common(checkout)
    with contextlib.suppress(OSError):
        if os.listdir(common / folder):
            return True
    return f" {folder}/" in _text(common / "packed-refs", _MAX_PACKED)


def _common(checkout: Path) -> Path:
    """Return the folder with the branches. A worktree keeps its own HEAD, and branches in the common folder."""
    beside = _text(checkout / "commondir", _MAX_REF).strip()
    return Path(os.path.realpath(checkout / beside)) if beside else checkout


def _at(checkout: Path, branch: str) -> str | None:
    """Return the commit that a branch is at."""
    if ".." in branch.split("/"):
        return None
    common = _common(checkout)
    packed = _text(common / "packed-refs", _MAX_PACKED).splitlines()
    found = (line.partition(" ")[0] for line in packed if line.endswith(f" {branch}"))
    return _commit(_text(common / branch, _MAX_REF).strip()) or _commit(next(found, ""))


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _text(file: Path, most: int) -> str:
    """Return the text of a file, empty if it cannot be read."""
    try:
        return os.fsdecode(read_regular(file, most))
    except OSError:
        return ""
