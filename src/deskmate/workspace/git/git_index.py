"""The names in git's index.

Git trusts the names in an index: `git restore .` writes to each of them, also to `../x` or into `.git`. `git_watch`
above looks for such names and for repositories within the repository, `app.signing` for records of a team. Nothing
here is more lenient than git: an index that cannot be read to its end raises OSError.
"""

import errno
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from deskmate.workspace.blob_folders import read_regular
from deskmate.workspace.paths import plain

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
# Of names between zeros: what each has that must be looked at in parts, unless it is odd in other than plain letters.
_ODD = re.compile(rb"[\0/\\](?:[\0/]|\.\.?[/\0]|(?i:\.git[ .:/\\\0]|git~))")
_AT_ONCE = 1000
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
    links, unsafe, nameless, end = set[bytes](), None, False, _HEADER.size
    entries = _entries(index, size)
    while unsafe is None and (some := list(islice(entries, _AT_ONCE))):
        end = some[-1][2]
        if len(links) < _MAX_GITLINKS:
            links.update(name for name, mode, _ in some if mode & _KIND == _GITLINK)
        # With a sparse index, a folder that is not checked out is an entry, and ends so.
        found = [name.removesuffix(b"/") if mode & _KIND == _FOLDER else name for name, mode, _ in some]
        if _is_odd(b"\0".join(found)):
            nameless |= b"" in found
            unsafe = next((name for name in found if name and _is_odd(name) and is_unsafe(name)), None)
    parts = _extensions(index, end, size) if unsafe is None else ()
    bases = {data[:size] for kind, data in parts if kind == b"link"}
    shared = frozenset(f"sharedindex.{base.hex()}" for base in bases if any(base))
    # In an index that continues in another, an entry without a name changes one of that.
    if unsafe is None and nameless and not shared:
        unsafe = b""
    return Contents(frozenset(links), unsafe, shared)


def _is_odd(names: bytes) -> bool:
    return not names.isascii() or _ODD.search(b"\0%b\0" % names) is not None


def is_unsafe(name: bytes) -> bool:
    """Tell whether a name leads out of a checkout or into a folder of git, on any disk. Git adds no such name."""
    text = name.decode(errors="replace")
    if not {"", ".", ".."}.isdisjoint(text.split("/")):
        return True
    # The second is what Windows calls a folder of that name.
    return any(plain(part) in (".git", "git~1") for part in _SEPARATORS.split(text))


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
    found = [
        struct.unpack_from(">II", data, at)
        for kind, data in _extensions(index, end, size)
        if kind == b"IEOT"
        for at in range(4, len(data) - 7, 8)
    ]
    if len(blocks := dict(found)) < len(found):
        raise _unreadable("its blocks do not fit its entries")
    return blocks


def _extensions(index: bytes, at: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield what follows the entries: the kind and the data of each part."""
    while at <= len(index) - size - 8:
        kind, length = struct.unpack_from(">4sI", index, at)
        yield kind, index[at + 8 : at + 8 + length]
        at += 8 + length
