"""A stream file cut at every byte: whole records stay, a torn piece is fenced and reported, nothing merges (M4)."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.core.log.records import Damaged, Item, Record
from deskmate.errors import StoreCorrupt
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores.stream_file import StreamFile
from tests.chaos import letter, memory_folder, put
from tests.chaos.files import independent_reader

NAME = "bob_inbox.jsonl"
# A few long records first, then many short ones: every kind of cut, at a price that an ordinary run can pay.
BODIES = [letter(ordinal, "é\u2028" * 410) for ordinal in range(4)]
BODIES += [{"run": "r", "ord": ordinal} for ordinal in range(4, 200)]
NEW, NEXT = letter(1000, "after the cut", run="new"), letter(1001, "and one more", run="new")


@pytest.fixture
def folder() -> Iterator[PrivateFolder]:
    with memory_folder() as path:
        folder = PrivateFolder.of(path, ("team",), Files(), create=True)
        yield folder
        folder.close()


def fresh(folder: PrivateFolder) -> StreamFile:
    return StreamFile("mail/bob", folder, NAME)


def fill(folder: PrivateFolder) -> tuple[list[Item], list[int]]:
    """Write the 200 records; return them, and where each line ends."""
    stream = fresh(folder)
    items: list[Item] = []
    ends = []
    for body in BODIES:
        items.append(Record(put(stream, body), body))
        ends.append((folder.path / NAME).stat().st_size)
    return items, ends


def expected(items: list[Item], ends: list[int], cut: int, file: Path, highest: int) -> list[Item]:
    """Return what must stand in a file cut there, with numbers used up to `highest`, once two more were appended."""
    whole = bisect_right(ends, cut)
    begin = ends[whole - 1] if whole else 0
    kept = items[:whole]
    if whole < len(ends) and cut == ends[whole] - 1:
        kept = items[: whole + 1]
    elif cut > begin:
        reason = "an append that never finished, fenced by the next writer"
        kept = [*kept, Damaged(whole + 1, "torn", f"{file}:{whole + 1}", reason)]
    number, line = max(highest, len(kept)) + 1, len(kept) + 1
    if number > line:
        reason = f"{number - line} record(s) before number {number} are missing"
        kept = [*kept, Damaged(number - 1, "lost", f"{file}:{line}", reason)]
    return [*kept, Record(number, NEW), Record(number + 1, NEXT)]


@pytest.mark.behaviour("M4")
@pytest.mark.parametrize("share", range(4))
def test_a_file_cut_at_any_byte_keeps_every_whole_record_and_takes_new_ones(folder: PrivateFolder, share: int) -> None:
    items, ends = fill(folder)
    file = folder.path / NAME
    cuts, highest = 0, len(items)
    # From the end on: what the last round appended is cut off with the next byte.
    for cut in range(ends[-1] - share, -1, -4):
        os.truncate(file, cut)
        whole = bisect_right(ends, cut)
        stream = fresh(folder)
        after = max(0, whole - 1) if cut % 10 else 0
        assert stream.read(after, sync=True) == items[after:whole], f"cut at {cut}"
        if after == 0:
            with pytest.raises(StoreCorrupt):
                fresh(folder).read(whole + 1, sync=True)
        want = expected(items, ends, cut, file, highest)
        assert [put(stream, NEW), put(stream, NEXT)] == [item.number for item in want[-2:]], f"cut at {cut}"
        assert fresh(folder).read(0, sync=True) == want, f"cut at {cut}"
        cuts, highest = cuts + 1, want[-1].number
    assert cuts == len(range(ends[-1] - share, -1, -4)) > 4_000


@pytest.mark.behaviour("M4")
def test_another_reader_finds_the_same_records_after_a_cut(folder: PrivateFolder) -> None:
    items, ends = fill(folder)
    file = folder.path / NAME
    highest = len(items)
    for cut in range(ends[-1], -1, -97):
        os.truncate(file, cut)
        put(fresh(folder), NEW)
        put(fresh(folder), NEXT)
        want = [item for item in expected(items, ends, cut, file, highest) if isinstance(item, Record)]
        highest = want[-1].number
        found = independent_reader.look(file)
        assert [Record(record.number, record.body) for record in found.records] == want, f"cut at {cut}"
        assert found.tail == b""


@pytest.mark.behaviour("M4")
def test_a_writer_that_saw_the_file_whole_goes_on_from_the_cut(folder: PrivateFolder) -> None:
    items, ends = fill(folder)
    file = folder.path / NAME
    data, highest = file.read_bytes(), len(items)
    for cut in range(ends[-1], ends[-5], -1):
        file.write_bytes(data)
        stream = fresh(folder)
        assert stream.read(0, sync=True) == items
        os.truncate(file, cut)
        put(stream, NEW)
        put(stream, NEXT)
        want = expected(items, ends, cut, file, highest)
        assert fresh(folder).read(0, sync=True) == want, f"cut at {cut}"
        highest = want[-1].number
