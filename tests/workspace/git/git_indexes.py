"""Indexes of git written by hand, as a command can write them: git itself would refuse their names."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

GITLINK, PROGRAM = 0o160000, 0o100755


@dataclass(frozen=True)
class Item:
    """An entry. `length`: what it says of its name. `cut`: of version 4, how much of the name before is dropped."""

    name: bytes
    mode: int = PROGRAM
    length: int | None = None
    cut: int | None = None
    blob: str = "1" * 40


def index_of(items: Sequence[Item], version: int = 2, parts: Sequence[tuple[bytes, bytes]] = ()) -> bytes:
    """Return an index; names of version 4 are written whole unless `cut` says otherwise.

    `parts`: what follows the entries, by kind; `<end>` is where those end.
    """
    out, before = struct.pack(">4sII", b"DIRC", version, len(items)), b""
    for item in items:
        length = min(len(item.name), 0xFFF) if item.length is None else item.length
        entry = struct.pack(">10I", *[0] * 6, item.mode, 0, 0, 0) + bytes.fromhex(item.blob) + struct.pack(">H", length)
        if version == 4:
            cut = len(before) if item.cut is None else item.cut
            entry += _varint(cut) + item.name + b"\0"
            before = before[: len(before) - cut] + item.name
        else:
            entry += item.name + b"\0" * (8 - (len(entry) + len(item.name)) % 8)
        out += entry
    end = len(out)
    for kind, data in parts:
        whole = data.replace(b"<end>", struct.pack(">I", end))
        out += kind + struct.pack(">I", len(whole)) + whole
    return out + hashlib.sha1(out).digest()


def _varint(value: int) -> bytes:
    out = [value & 0x7F]
    while value := value >> 7:
        value -= 1
        out.insert(0, 0x80 | (value & 0x7F))
    return bytes(out)
