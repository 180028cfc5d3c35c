"""A second reader of stream files, after the format's description alone: it shares no code with the product.

A line is a JSON object whose last two keys are `n`, its number, and `crc`, the CRC-32 of all bytes before `,"crc":`
as eight hexadecimal digits. Lines end with a line feed byte and nothing else.
"""

import binascii
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Found:
    """A complete line with a checksum that holds."""

    line: int
    number: int
    body: dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """All that stands in a stream file: whole records, lines that are none, and what follows the last line end."""

    records: list[Found]
    bad: list[tuple[int, bytes]]
    tail: bytes

    @property
    def numbers(self) -> list[int]:
        """The numbers of all whole records, as they stand."""
        return [found.number for found in self.records]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all whole records, as they stand."""
        return [found.body for found in self.records]


def look(path: Path) -> Contents:
    """Read a stream file; a missing one is empty."""
    data = path.read_bytes() if path.exists() else b""
    *lines, tail = data.split(b"\n")
    contents = Contents([], [], tail)
    for index, line in enumerate(lines, start=1):
        found = parse(index, line)
        if found is None:
            contents.bad.append((index, line))
        else:
            contents.records.append(found)
    return contents


def parse(index: int, line: bytes) -> Found | None:
    """Return the record in a line, nothing where the line is none."""
    head, _, _ = line.rpartition(b',"crc":')
    if line != head + b',"crc":"%08x"}' % binascii.crc32(head):
        return None
    try:
        body = json.loads(line)
        del body["crc"]
        return Found(index, body.pop("n"), body)
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
