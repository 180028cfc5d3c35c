"""The ignored files that every tree has, as one file that can be sent.

The user lists them in `.worktreeinclude`. No other ignored file travels. The same files are always the same bytes, so
they are sent once.
"""

import io
import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from deskmate.errors import ToolError
from deskmate.fs.safe_files import read_up_to
from deskmate.workspace.trees.tree_places import INCLUDE, TreePlaces

_GIT = ".git"


def pack_included(places: TreePlaces, target: Path) -> bool:
    """Write the files that the user lists into one file. Return whether there are any. Raises ToolError."""
    found = False
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, fd in places.included():
            entry, data = tarfile.TarInfo(name), read_up_to(fd, os.fstat(fd).st_size)
            entry.size, entry.mode = len(data), os.fstat(fd).st_mode & 0o777
            archive.addfile(entry, io.BytesIO(data))
            found = True
    if not found:
        target.unlink()
    return found


def delete_included(root: Path) -> None:
    """Delete everything in a folder but its repository and its list of files."""
    for old in root.iterdir():
        if old.name in (_GIT, INCLUDE):
            continue
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()


def unpack_included(archive: Path, root: Path) -> None:
    """Put the files of an archive into a folder that has no others.

    Raises ToolError if the archive has anything but plain files inside of the folder.
    """
    try:
        with tarfile.open(archive, "r:") as found:
            for entry in found:
                _put(found, entry, root)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise ToolError(f"The ignored files that were sent cannot be used: {error}") from error


def _put(archive: tarfile.TarFile, entry: tarfile.TarInfo, root: Path) -> None:
    parts = PurePosixPath(entry.name).parts
    inside = bool(parts) and not entry.name.startswith("/") and ".." not in parts and "\0" not in entry.name
    if not entry.isreg() or not inside or _GIT in map(str.lower, parts) or entry.name == INCLUDE:
        raise ToolError(f"The ignored files that were sent have one that is not allowed: {entry.name[:200]}")
    source = archive.extractfile(entry)
    place = root.joinpath(*parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    if source is not None:
        # The folder had no file before, and an archive has no links. So nothing leads out of it.
        with place.open("xb") as copy:
            shutil.copyfileobj(source, copy)
        place.chmod(entry.mode & 0o777)
