"""One line: record, number, checksum, damage.

Every line takes one number. A line that is not a record, or repeats a number, takes the next, so damage shifts nothing
after it. Readers and writers both use this rule, so they never disagree about the end. A new line gets a number above
every number ever seen, also on misplaced lines. Skipped numbers are reported missing. There is no I/O here:
`stream_file` does the reading and writing.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from sys import intern
from typing import NamedTuple
from zlib import crc32

from deskmate.core.log.records import KEPT_KEYS, Damaged, Item, Record, Stamp, decode, stamp
from deskmate.core.values import frozen
from deskmate.errors import BadRecord

TORN = b" <torn>"
_SEAL = re.compile(rb',"n":([1-9][0-9]{0,17}),"crc":"([0-9a-f]{8})"\}\Z')
_SEAL_BYTES = 64
# A number further ahead than this is not accepted: it would use up the digits of a seal.
_LEAP = 10**9


@frozen
class Position:
    """A place between two lines: the offset in the file, and the state of the numbers there."""

    offset: int = 0
    line: int = 0
    good: int = 0
    bad: int = 0
    top: int = 0

    @property
    def last(self) -> int:
        """The number of the last line before this place."""
        return self.good + self.bad

    @property
    def highest(self) -> int:
        """The highest number before this place, including misplaced lines."""
        return max(self.last, self.top)

    def after(self, size: int, number: int) -> "Position":
        """Return the position after lines of so many bytes that have the next numbers, up to this one.

        A walk over them would come to the same.
        """
        return Position(self.offset + size, self.line + number - self.last, number, 0, max(self.top, number))


@frozen
class Walked:
    """The lines between two positions, as somebody walked over them. Others mostly want the same."""

    start: Position
    end: Position
    data: bytes


class StoredLine(NamedTuple):
    """One complete line: its bytes, its number (None: not a record), how many records are missing before it.

    The other fields are the position after it. They are not a `Position`, because most lines are only walked over.
    """

    raw: bytes
    number: int | None
    missing: int
    offset: int
    line: int
    good: int
    bad: int
    top: int

    @property
    def end(self) -> Position:
        """The position after this line."""
        return Position(*self[3:])


def seal(body: bytes, number: int) -> bytes:
    """Return the line for an encoded record, including its newline."""
    head = body[:-1] + b',"n":%d' % number
    return b'%b,"crc":"%08x"}\n' % (head, crc32(head))


def unseal(raw: bytes) -> int | None:
    """Return the number of a line, or None if its checksum is wrong."""
    # A position below zero is the beginning.
    found = _SEAL.search(raw, len(raw) - _SEAL_BYTES)
    if found and crc32(raw[: found.end(1)]) == int(found[2], 16):
        return int(found[1])
    return None


def stamp_of(raw: bytes) -> Stamp | None:
    """Return the stamp of a line, or None if it is not a record with one."""
    try:
        return stamp(decode(raw))
    except BadRecord:
        return None


def next_number(end: Position, seen: int) -> int:
    """Return the number for a line after `end`: above all before it, and above `seen` as far as readers accept it."""
    return min(max(end.highest, seen) + 1, end.highest + _LEAP)


def walk(start: Position, data: bytes) -> Iterator[StoredLine]:
    """Yield the complete lines of `data`, which begins at `start`."""
    begin, line, good, bad, top = 0, start.line, start.good, start.bad, start.top
    later = _Later(data)
    while (end := data.find(b"\n", begin)) >= 0:
        raw = data[begin:end]
        begin, line, missing = end + 1, line + 1, 0
        number, due = unseal(raw), good + bad + 1
        if number == due:
            # Nearly every line. What follows would come to the same, more slowly.
            good, bad, top = due, 0, due if due > top else top
            yield StoredLine(raw, number, missing, start.offset + begin, line, good, bad, top)
            continue
        if number is not None and number > max(good + bad, top) + _LEAP:
            number = None
        top = max(top, number or 0)
        ahead = number is not None and number > good + bad + 1
        if number is not None and good < number and not (ahead and later.skipped(number, good, begin)):
            missing = max(0, number - good - bad - 1)
            good, bad = number, 0
        else:
            number, bad = None, bad + 1
        yield StoredLine(raw, number, missing, start.offset + begin, line, good, bad, top)


class _Later:
    """The numbers still to come. They are read only when a line is ahead of its turn."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left: list[tuple[int, int]] | None = None

    def skipped(self, number: int, good: int, begin: int) -> bool:
        """Return whether a line was moved here from further on. Then some numbers that it skips are after `begin`.

        Neither `good` nor `begin` may decrease from one call to the next.
        """
        if self._left is None:
            self._left = self._from(begin)
        while self._left and (self._left[-1][0] <= good or self._left[-1][1] < begin):
            self._left.pop()
        return bool(self._left) and self._left[-1][0] < number

    def _from(self, begin: int) -> list[tuple[int, int]]:
        """Return each number from `begin` on and its last offset, with the smallest number at the end."""
        found: dict[int, int] = {}
        for raw in self._data[begin:].split(b"\n"):
            if (number := unseal(raw)) is not None:
                found[number] = begin
            begin += len(raw) + 1
        return sorted(found.items(), reverse=True)


def items(start: Position, data: bytes, after: int, file: str) -> list[Item]:
    """Return the items in `data` after the number `after`, including damage."""
    found = Items(after, file)
    for line in walk(start, data):
        found.add(line)
    return found.above()


class Items:
    """The items after the number `after`, including damage, collected line by line."""

    def __init__(self, after: int, file: str) -> None:
        self._after, self._file = after, file
        self._found: list[Item] = []
        self._doubtful = 0

    def add(self, line: StoredLine) -> None:
        """Add the next line."""
        if line.number is None:
            self._found.append(_damaged(line, self._file))
            self._doubtful += 1
            return
        if line.missing:
            self._found.append(_missing(line, self._file))
        if self._doubtful:
            _settle(self._found, self._doubtful, line.number)
            self._doubtful = 0
        if line.number > self._after:
            self._found.append(_item(line, self._file))

    def above(self) -> list[Item]:
        """Return what was found."""
        return [item for item in self._found if item.number > self._after]


def _settle(found: list[Item], doubtful: int, number: int) -> None:
    """Keep numbers from decreasing: lines added by hand get at most the number of the record after them."""
    for index in range(len(found) - doubtful, len(found)):
        item = found[index]
        if isinstance(item, Damaged) and item.number > number:
            found[index] = replace(item, number=number)


def _item(line: StoredLine, file: str) -> Item:
    assert line.number is not None
    try:
        body = decode(line.raw)
    except BadRecord as error:
        return Damaged(line.number, "lost", f"{file}:{line.line}", str(error))
    # Python's JSON makes a new string for each key in each line. Interned, thousands of records share them.
    return Record(line.number, {intern(key): value for key, value in body.items() if key not in KEPT_KEYS})


def _missing(line: StoredLine, file: str) -> Damaged:
    assert line.number is not None
    reason = f"{line.missing} record(s) before number {line.number} are missing"
    return Damaged(line.number - 1, "lost", f"{file}:{line.line}", reason)


def _damaged(line: StoredLine, file: str) -> Damaged:
    where = f"{file}:{line.line}"
    if line.raw.endswith(TORN):
        return Damaged(line.end.last, "torn", where, "an append that never finished, fenced by the next writer")
    if (number := unseal(line.raw)) is not None:
        return Damaged(line.end.last, "lost", where, f"a record out of its place (number {number})")
    return Damaged(line.end.last, "lost", where, "not a record, or its checksum is wrong")
