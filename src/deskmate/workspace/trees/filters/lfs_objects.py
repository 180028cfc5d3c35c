"""The content of large files that Git LFS keeps beside git's objects, taken out of a member's tree with its commits.

A commit has only a pointer: a small text with the hash of the content. Without this, the content would be in the tree
of the member alone.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from deskmate.errors import ToolError
from deskmate.fs.disk_calls import Files
from deskmate.workspace.paths import resolved
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.workspace_files import opened

_OBJECTS = "lfs/objects"
# Pointers are smaller than this, and all that is read of other files.
_POINTER_BYTES = 1024
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\n")
_MOST_BYTES = 2_000_000_000
_CHUNK = 1 << 20


def take_large_files(git: GitProgram, tree: Path, commit: str, known: str) -> None:
    """Copy the content of large files that a commit adds, and another one does not have, into the repository.

    Content that the tree does not have is left out. Raises ToolError if it is too large or not what its name says.
    """
    if not (tree / ".git" / _OBJECTS).is_dir():
        return
    room = _MOST_BYTES
    for oid in _pointers(git, commit, known):
        name = f"{_OBJECTS}/{oid[:2]}/{oid[2:4]}/{oid}"
        target = git.folder / name
        if target.exists():
            continue
        # A member that removed it has only hurt itself.
        with suppress(FileNotFoundError), resolved(tree, f".git/{name}") as place, opened(place) as fd:
            room -= os.fstat(fd).st_size
            if room < 0:
                raise ToolError(
                    f"Your large files have more than {_MOST_BYTES // 1_000_000:,} MB. Commit fewer of them."
                )
            with open(os.dup(fd), "rb") as source:
                _copy(source, target, oid)


def has_large_files(git: GitProgram, commit: str, known: str) -> bool:
    """Tell whether a commit adds large files, which another one does not have, with content in the repository."""
    objects = git.folder / _OBJECTS
    if not objects.is_dir():
        return False
    return any((objects / oid[:2] / oid[2:4] / oid).exists() for oid in _pointers(git, commit, known))


def _pointers(git: GitProgram, commit: str, known: str) -> Iterator[str]:
    listed = git.run("rev-list", "--objects", commit, f"^{known}")[1].splitlines()
    ids = "".join(f"{line.partition(' ')[0]}\n" for line in listed)
    sizes = git.run("cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)", text=ids)[1].splitlines()
    small = [words[2] for line in sizes if (words := line.split())[0] == "blob" and int(words[1]) < _POINTER_BYTES]
    given = "".join(f"{blob}\n" for blob in small).encode()
    # The answers follow each other. Only their beginning can be a pointer, and what looks like one does no harm.
    for found in _POINTER.finditer(git.data("cat-file", "--batch", given=given)):
        yield found[1].decode()


def _copy(source: IO[bytes], target: Path, oid: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".deskmate-{secrets.token_hex(4)}")
    made = hashlib.sha256()
    try:
        with unfinished.open("xb") as copy:
            while chunk := source.read(_CHUNK):
                made.update(chunk)
                copy.write(chunk)
            copy.flush()
            Files().sync(copy.fileno())
        if made.hexdigest() != oid:
            raise ToolError(f"The large file {oid[:12]} in your tree is damaged. Add the file again with git add.")
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
