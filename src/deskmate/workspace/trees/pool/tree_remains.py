"""What a member left in its tree, taken out before the next member gets it.

Afterwards there are only files that the commit has, each with one name, ordinary permissions and no attributes. Git
then compares their content, byte by byte, and writes those that differ. Nothing that the member left is read or obeyed
before that: not its `.git`, not its settings, not its index.
"""

import os
import secrets
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_LINK = b"120000"
_PERMISSIONS = {b"100644": 0o666, b"100755": 0o777}
# Attributes that a member can set. Others are the system's, such as labels.
_ATTRIBUTES = ("user.", "system.posix_acl", "security.capability")

_Folders = dict[bytes, dict[bytes, bytes]]


def take_out(tree: bytes, listed: bytes, discard: Callable[[bytes], None]) -> None:
    """Discard everything in a tree that is not a plain file of a commit. Nobody may work there meanwhile.

    `listed`: the commit, as `git ls-tree -r -z` prints it. What it has and the tree has not is left to git.
    """
    folders, now, usual = _by_folder(listed), time.time(), _usual(tree)
    todo = [b""]
    while todo:
        name = todo.pop()
        path = os.path.join(tree, name) if name else tree
        with os.scandir(path) as entries:
            found = list(entries)
        for entry in found:
            below = os.path.join(name, entry.name) if name else entry.name
            if below in folders and _is_plain_folder(entry, usual):
                todo.append(below)
            elif not _is_plain_file(entry, folders[name].get(entry.name), now, usual):
                discard(entry.path)


def _by_folder(listed: bytes) -> _Folders:
    """Return the modes of the files in each folder, by name. The top has an empty name."""
    folders: _Folders = {b"": {}}
    for line in listed.split(b"\0"):
        if not line:
            continue
        facts, _, path = line.partition(b"\t")
        folder, _, name = path.rpartition(b"/")
        if folder not in folders:
            above = folder
            while above and above not in folders:
                folders[above] = {}
                above = above.rpartition(b"/")[0]
        folders[folder][name] = facts.partition(b" ")[0]
    return folders


def _usual(tree: bytes) -> int:
    """Return the permissions of a folder that is made now."""
    made = os.path.join(tree, b".deskmate-" + secrets.token_hex(4).encode())
    os.mkdir(made)
    try:
        return stat.S_IMODE(os.stat(made).st_mode)
    finally:
        os.rmdir(made)


def _is_plain_folder(entry: "os.DirEntry[bytes]", usual: int) -> bool:
    if not entry.is_dir(follow_symlinks=False) or not _is_ours(status := entry.stat(follow_symlinks=False)):
        return False
    if stat.S_IMODE(status.st_mode) != usual:
        os.chmod(entry.path, usual)
    return not has_attributes(entry.path)


def _is_plain_file(entry: "os.DirEntry[bytes]", mode: bytes | None, now: float, usual: int) -> bool:
    """Tell whether an entry can be the file that a commit has there. Its content is not looked at."""
    if mode is None:
        return False
    status = entry.stat(follow_symlinks=False)
    if status.st_nlink != 1 or not _is_ours(status) or status.st_mtime > now:
        return False
    if mode == _LINK:
        return stat.S_ISLNK(status.st_mode)
    as_made = stat.S_IMODE(status.st_mode) == _PERMISSIONS.get(mode, 0) & usual
    return stat.S_ISREG(status.st_mode) and as_made and not has_attributes(entry.path)


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid()


def has_attributes(path: bytes | Path) -> bool:
    """Tell whether a member has set extended attributes or access lists. Those of a folder pass to new files in it."""
    if sys.platform == "linux":
        # Some disks have none.
        with suppress(OSError):
            return any(name.startswith(_ATTRIBUTES) for name in os.listxattr(path, follow_symlinks=False))
    return False
