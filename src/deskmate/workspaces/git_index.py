"""Git's index: the names in it, read without running git, which would obey the repository.

Git trusts the names in an index: `git restore .` writes to each of them, also to `../x` or into `.git`. `git_watch`
above looks for such names and for repositories within the repository, `app.signing` for records of a team. Nothing
here is more lenient than git: an index that cannot be read to its end raises OSError.
"""

import errno
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deskmate.workspaces.paths import plain
from deskmate.workspaces.private import read_regular

MAX_BYTES = 256_000_000
# No file has a longer name. In version 4 an entry repeats the name before it, so that a small file can mean very much.
_MAX_NAME, _MAX_NAMES, _MAX_GITLINKS, _MAX_CONFIG = 4096, 500_000_000, 1000, 1_000_000
# Of an entry: what comes before its mode and before its hash, the flag for two more bytes before its name, and the
# length of the name, as far as it is told.
_BEFORE_MODE, _BEFORE_HASH, _EXTENDED, _LENGTH = 24, 40, 0x4000, 0xFFF
_KIND, _FOLDER, _GITLINK = 0xF000, 0x4000, 0xE000
_SHA1, _SHA256 = 20, 32
_HEADER = struct.Struct(">4sII")
_IS_SHA256 = re.compile(rb"objectformat\s*=\s*\"?sha256", re.IGNORECASE)
# What every name has that must be looked at in parts; nearly no other has it.
_ODD = re.compile(rb"\A/?\Z|\A/|//|/\Z|(?:\A|/)\.\.?(?:/|\Z)|(?i:\.git(?:[ .:/\\]|\Z)|git~)|[^\x01-\x7f]")
_SEPARATORS = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class Contents:
    """What matters of an index. `unsafe`: a name that git must not write to. `shared`: the files it continues in."""

    gitlinks: frozenset[bytes]
    unsafe: bytes | None
    shared: frozenset[str]


def read_index(git: Path, name: str = "index", most: int = MAX_BYTES) -> bytes:
    """Return an index in a folder of git, nothing if there is none; raise OSError if it cannot be read."""
    try:
        return read_regular(git / name, most)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def hash_size(common: Path) -> int:
    """Return how long the hashes of a repository are, by the settings in its folder."""
    try:
        return _SHA256 if _IS_SHA256.search(read_regular(common / "config", _MAX_CONFIG)) else _SHA1
    except FileNotFoundError:
        return _SHA1


def names(index: bytes, size: int, last: bytes) -> Iterator[bytes]:
    """Yield the names in an index up to `last`; raise OSError if they cannot be read."""
    for name, _, _ in _entries(index, size):
        if name > last:
            break
        yield name


def contents(index: bytes, size: int) -> Contents:
    """Return what matters of an index; raise OSError unless it can be read to its end."""
    links, unsafe, nameless, end, is_odd = set[bytes](), None, False, _HEADER.size, _ODD.search
    if not index:
        return Contents(frozenset(), None, frozenset())
    for name, mode, end in _entries(index, size):
        if mode & _KIND == _GITLINK and len(links) < _MAX_GITLINKS:
            links.add(name)
        if unsafe is None and is_odd(name):
            nameless |= not name
            unsafe = name if name and _is_unsafe_entry(name, mode) else None
    shared = frozenset(
        f"sharedindex.{data[:size].hex()}" for kind, data in _extensions(index, end, size) if kind == b"link"
    )
    # In an index that continues in another, an entry without a name changes one of that.
    return Contents(frozenset(links), b"" if nameless and not shared else unsafe, shared)


def _is_unsafe_entry(name: bytes, mode: int) -> bool:
    # With a sparse index, a folder that is not checked out is an entry, and ends so.
    return is_unsafe(name.removesuffix(b"/") if mode & _KIND == _FOLDER else name)


def is_unsafe(name: bytes) -> bool:
    """Tell whether a name leads out of a checkout or into a folder of git, on any disk. Git adds no such name."""
    text = name.decode(errors="replace")
    if not {"", ".", ".."}.isdisjoint(text.split("/")):
        return True
    return any(plain(part) == ".git" or _is_short(part) for part in _SEPARATORS.split(text))


def _is_short(part: str) -> bool:
    # As Windows calls a folder whose name has a dot first.
    return plain(part) == "git~1"


def _entries(index: bytes, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name and mode of each entry, and where it ends, as git reads them with hashes of this size."""
    if not index:
        return
    if len(index) < _HEADER.size or index[:4] != b"DIRC":
        raise _unreadable("it is no index")
    _, version, count = _HEADER.unpack_from(index)
    if version not in (2, 3, 4):
        raise _unreadable(f"its version is {version}")
    fields = struct.Struct(f">I{_BEFORE_HASH - _BEFORE_MODE - 4 + size}xH").unpack_from
    to_name, at, name, total, find = _BEFORE_HASH + size + 2, _HEADER.size, b"", 0, index.find
    blocks = _blocks(index, size)
    for number in range(count):
        try:
            mode, flags = fields(index, at + _BEFORE_MODE)
            start, kept = at + to_name + (2 if flags & _EXTENDED else 0), 0
            if version == 4:
                cut, start = _varint(index, start)
                kept = len(name) - cut
                if kept < 0 and number:
                    raise _unreadable("a name in it is cut wrongly")
        except (struct.error, IndexError):
            raise _unreadable("it is cut off") from None
        if blocks and at in blocks and (kept > 0 or number + blocks.pop(at) > count):
            raise _unreadable("its blocks do not fit its entries")
        end = find(b"\0", start)
        name = (name[:kept] if kept > 0 else b"") + index[start:end]
        total += len(name)
        if end < 0:
            raise _unreadable("it is cut off")
        if len(name) > _MAX_NAME or total > _MAX_NAMES:
            raise _unreadable("its names are too long")
        # Git takes as many bytes as the entry says, whatever they are, and all up to the zero if it says the most.
        if (length := flags & _LENGTH) != len(name) and length != _LENGTH:
            raise _unreadable("a name in it is not as long as it says")
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
        yield name, mode, at
    if blocks or (_marked_end(index, size) or at) != at or at + size > len(index):
        raise _unreadable("its entries do not end where it says")


def _unreadable(why: str) -> OSError:
    return OSError(errno.EINVAL, why)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number as git writes it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
        if value > _MAX_NAMES:
            raise _unreadable("a number in it is too large")
    return value, at + 1


def _marked_end(index: bytes, size: int) -> int | None:
    """Return where an index says that its entries end; git believes it, and reads from there."""
    at = len(index) - size - 12 - size
    if at < _HEADER.size or index[at : at + 8] != b"EOIE" + (4 + size).to_bytes(4):
        return None
    return int.from_bytes(index[at + 8 : at + 12])


def _blocks(index: bytes, size: int) -> dict[int, int]:
    """Return where the blocks of a long index begin, which git reads at once, and how many entries each has."""
    if (end := _marked_end(index, size)) is None:
        return {}
    found = dict[int, int]()
    for kind, data in _extensions(index, end, size):
        if kind == b"IEOT":
            found |= (struct.unpack_from(">II", data, at) for at in range(4, len(data) - 7, 8))
    return found


def _extensions(index: bytes, at: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield what follows the entries: the kind and the data of each part."""
    while at <= len(index) - size - 8:
        kind, length = struct.unpack_from(">4sI", index, at)
        yield kind, index[at + 8 : at + 8 + length]
        at += 8 + length
