"""Git's index: the names in it, read without running git, which would obey the repository.

`app.signing` looks for records of a team in it, `git_watch` for repositories within the repository.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deskmate.workspaces.private import read_regular

MAX_BYTES = 256_000_000
# Of an entry: what comes before its mode and before its hash, how long a hash may be, the flag for two more bytes
# before its name, and the length of the name, as far as it is told.
_BEFORE_MODE, _BEFORE_HASH, _HASHES, _EXTENDED, _LENGTH = 24, 40, (20, 32), 0x4000, 0xFFF
_KIND, _GITLINK = 0xF000, 0xE000


def read_index(git: Path, name: str = "index") -> bytes:
    """Return an index in a folder of git, empty if there is none; raise OSError if it cannot be read."""
    try:
        return read_regular(git / name, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def names(index: bytes, last: bytes) -> Iterator[bytes]:
    """Yield the names in an index of version 2 to 4 up to `last`."""
    for size in _HASHES:
        for name, _ in _entries(index, size):
            if name > last:
                break
            yield name


def gitlinks(index: bytes) -> frozenset[bytes]:
    """Return where an index says that another repository is."""
    return frozenset(name for size in _HASHES for name, mode in _entries(index, size) if mode & _KIND == _GITLINK)


def _entries(index: bytes, size: int) -> Iterator[tuple[bytes, int]]:
    """Yield name and mode of each entry; none if the hashes have another size."""
    # Cut off, or of another size.
    with suppress(struct.error, ValueError, IndexError):
        _, version, entries = struct.unpack_from(">4sII", index)
        at, name = 12, b""
        for _ in range(entries):
            (mode,) = struct.unpack_from(">I", index, at + _BEFORE_MODE)
            (flags,) = struct.unpack_from(">H", index, at + _BEFORE_HASH + size)
            start, kept = at + _BEFORE_HASH + size + (4 if flags & _EXTENDED else 2), 0
            if version == 4:
                cut, start = _varint(index, start)
                kept = len(name) - cut
            end = index.index(b"\0", start)
            name = name[:kept] + index[start:end]
            if flags & _LENGTH != min(len(name), _LENGTH):
                return
            yield name, mode
            at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number as git writes it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
