"""The names in git's index.

Git trusts the names in an index: `git restore .` writes to each of them, also to `../x` or into `.git`. Nothing here is
more lenient than git: an index that cannot be read to its end raises OSError.
"""

import errno
import re
import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.fs.safe_files import read_regular
from deskmate.workspace.paths import plain

MAX_BYTES = 256_000_000
# No file has a longer name. In version 4 an entry reuses the previous name, so a small file can expand to a lot.
_MAX_NAME, _MAX_NAMES, _MAX_GITLINKS, _MAX_CONFIG = 4096, 500_000_000, 1000, 1_000_000
# Offsets in an entry: its mode, its hash. Then the flag for two more bytes before its name, and the mask for the length
# of the name, as far as that is stored.
_BEFORE_MODE, _BEFORE_HASH, _EXTENDED, _LENGTH = 24, 40, 0x4000, 0xFFF
_KIND, _FOLDER, _GITLINK = 0xF000, 0x4000, 0xE000
_SHA1, _SHA256 = 20, 32
_HEADER = struct.Struct(">4sII")
_IS_SHA256 = re.compile(rb"objectformat\s*=\s*\"?sha256", re.IGNORECASE)
# In names joined by zeros: signs that a name must be checked part by part. Names that are not ASCII always are.
_ODD = re.compile(rb"[\0/\\](?:[\0/]|\.\.?[/\0]|(?i:\.git[ .:/\\\0]|git~))")
_AT_ONCE = 1000
_SEPARATORS = re.compile(r"[/\\]")


@frozen
class Contents:
    """What matters in an index. `unsafe`: a name that git must not write to. `shared`: the files it continues in."""

    gitlinks: frozenset[bytes]
    unsafe: bytes | None
    shared: frozenset[str]


def read_index(git: Path, name: str = "index", most: int = MAX_BYTES) -> bytes:
    """Return an index in a git folder, empty if there is none. Raises OSError if it cannot be read."""
    try:
        return read_regular(git / name, most)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def hash_size(common: Path) -> int:
    """Return how long the hashes of a repository are, according to its settings."""
    try:
        return _SHA256 if _IS_SHA256.search(read_regular(common / "config", _MAX_CONFIG)) else _SHA1
    except FileNotFoundError:
        return _SHA1


def names(index: bytes, size: int, last: bytes) -> Iterator[bytes]:
    """Yield the names in an index up to `last`. Raises OSError if they cannot be read."""
    for name, _, _ in _entries(index, size):
        if name > last:
            break
        yield name


def contents(index: bytes, size: int) -> Contents:
    """Return what matters in an index. Raises OSError unless it can be read to its end."""
    links, unsafe, nameless, end = set[bytes](), None, False, _HEADER.size
    entries = _entries(index, size)
    while unsafe is None and (some := list(islice(entries, _AT_ONCE))):
        end = some[-1][2]
        if len(links) < _MAX_GITLINKS:
            links.update(name for name, mode, _ in some if mode & _KIND == _GITLINK)
        # In a sparse index, a folder that is not checked out is an entry that ends with a slash.
        found = [name.removesuffix(b"/") if mode & _KIND == _FOLDER else name for name, mode, _ in some]
        if _is_odd(b"\0".join(found)):
            nameless |= b"" in found
            unsafe = next((name for name in found if name and _is_odd(name) and is_unsafe(name)), None)
    parts = _extensions(index, end, size) if unsafe is None else ()
    bases = {data[:size] for kind, data in parts if kind == b"link"}
    shared = frozenset(f"sharedindex.{base.hex()}" for base in bases if any(base))
    # In a split index, an entry without a name changes one of the shared file.
    if unsafe is None and nameless and not shared:
        unsafe = b""
    return Contents(frozenset(links), unsafe, shared)


def _is_odd(names: bytes) -> bool:
    return not names.isascii() or _ODD.search(b"\0%b\0" % names) is not None


def is_unsafe(name: bytes) -> bool:
    """Tell whether a name leads out of a checkout or into a git folder, on any disk. Git never adds such a name."""
    text = name.decode(errors="replace")
    if not {"", ".", ".."}.isdisjoint(text.split("/")):
        return True
    # The second is the short name of such a folder on Windows.
    return any(plain(part) in (".git", "git~1") for part in _SEPARATORS.split(text))


def _entries(index: bytes, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name, the mode and the end offset of each entry, as git reads them with hashes of this size."""
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
        # Git reads as many bytes as the entry says, or up to the zero if it has the maximum.
        if (length := flags & _LENGTH) != len(name) and length != _LENGTH:
            raise _unreadable("a name in it is not as long as it says")
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
        yield name, mode, at
    if blocks or (_marked_end(index, size) or at) != at or at + size > len(index):
        raise _unreadable("its entries do not end where it says")


def _unreadable(why: str) -> OSError:
    return OSError(errno.EINVAL, why)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in git's encoding, and the offset after it."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
        if value > _MAX_NAMES:
            raise _unreadable("a number in it is too large")
    return value, at + 1


def _marked_end(index: bytes, size: int) -> int | None:
    """Return where an index says that its entries end, or None. Git trusts this and reads on from there."""
    at = len(index) - size - 12 - size
    if at < _HEADER.size or index[at : at + 8] != b"EOIE" + (4 + size).to_bytes(4):
        return None
    return int.from_bytes(index[at + 8 : at + 12])


def _blocks(index: bytes, size: int) -> dict[int, int]:
    """Return the blocks of a long index, which git reads in parallel: offset → number of entries."""
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
    """Yield the kind and the data of each extension after the entries."""
    while at <= len(index) - size - 8:
        kind, length = struct.unpack_from(">4sI", index, at)
        yield kind, index[at + 8 : at + 8 + length]
        at += 8 + length
