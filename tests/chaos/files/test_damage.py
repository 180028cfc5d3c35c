"""Files damaged at rest: what is whole is delivered, what is not is reported, and the stream goes on (M5)."""

import random
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from deskmate.core.log.records import Damaged, Item, Record
from deskmate.errors import StoreCorrupt
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores.stream_file import StreamFile
from tests.chaos import TIMES, letter, memory_folder, put
from tests.chaos.files import independent_reader
from tests.chaos.files.mutations import MUTATIONS, Mutation, duplicate_lines_behind, put_in_a_garbage_line

NAME = "bob_inbox.jsonl"
RECORDS = 30
FILES_PER_MUTATION = -(-(100_000 if TIMES > 1 else 5_000) // len(MUTATIONS))
NEW, NEXT = letter(1000, "after the damage", run="new"), letter(1001, "and one more", run="new")


@pytest.fixture
def folder() -> Iterator[PrivateFolder]:
    with memory_folder() as path:
        folder = PrivateFolder.of(path, ("team",), Files(), create=True)
        yield folder
        folder.close()


def fresh(folder: PrivateFolder, name: str = NAME) -> StreamFile:
    return StreamFile("mail/bob", folder, name)


def written(folder: PrivateFolder, name: str, run: str) -> bytes:
    """Return the bytes of a stream with records of many lengths."""
    stream = fresh(folder, name)
    for ordinal in range(RECORDS):
        put(stream, letter(ordinal, "ü\u2029" * (ordinal * 7 % 40), run))
    return (folder.path / name).read_bytes()


def check(folder: PrivateFolder, data: bytes) -> None:
    """Damage the file to `data`; raise where anything is lost in silence or the stream does not go on."""
    file = folder.path / NAME
    file.write_bytes(data)
    before = fresh(folder).read(0, sync=True)
    whole, bad = in_place(file)
    assert [item for item in before if isinstance(item, Record)] == whole
    assert bad <= {line_of(item, file) for item in before if isinstance(item, Damaged)}
    check_numbers(before)
    check_end(folder, before)
    check_going_on(folder, before)


def in_place(file: Path) -> tuple[list[Record], set[int]]:
    """Return the whole records in their place, and the lines that are none of them.

    In its place is what comes after lower numbers only, and is not ahead of its turn while what it skips still follows.
    """
    contents = independent_reader.look(file)
    bad = {line for line, _ in contents.bad}
    whole: list[Record] = []
    last_line = 0
    for index, found in enumerate(contents.records):
        last = whole[-1].number if whole else 0
        ahead = found.number > last + found.line - last_line
        if found.number <= last or (ahead and skips_what_follows(found.number, last, contents.records[index + 1 :])):
            bad.add(found.line)
        else:
            whole.append(Record(found.number, found.body))
            last_line = found.line
    check_nothing_in_order_is_left_out(whole, [found.number for found in contents.records])
    return whole, bad


def skips_what_follows(number: int, last: int, rest: Sequence[independent_reader.Found]) -> bool:
    return any(last < later.number < number for later in rest)


def check_nothing_in_order_is_left_out(whole: list[Record], numbers: list[int]) -> None:
    """Whatever is above all before it and below all behind it is delivered, whatever the rule says of the rest."""
    delivered = {record.number for record in whole}
    for index, number in enumerate(numbers):
        if all(other < number for other in numbers[:index]) and all(other > number for other in numbers[index + 1 :]):
            assert number in delivered


def line_of(damaged: Damaged, file: Path) -> int:
    path, _, line = damaged.where.rpartition(":")
    assert path == str(file)
    return int(line)


def check_numbers(items: list[Item]) -> None:
    """Every number is a record, or damage stands where it is missing; numbers never fall."""
    numbers = [0, *(item.number for item in items)]
    assert numbers == sorted(numbers)
    records = [0, *(index for index, item in enumerate(items, 1) if isinstance(item, Record))]
    for one, two in pairwise(records):
        between = [number for number in numbers[one + 1 : two] if number > numbers[one]]
        assert numbers[two] == numbers[one] + 1 or between, f"{numbers[one]} to {numbers[two]} unreported"


def check_end(folder: PrivateFolder, items: list[Item]) -> None:
    """A reader that has read all records is told if the stream now ends before them."""
    last = items[-1].number if items else 0
    if last < RECORDS:
        with pytest.raises(StoreCorrupt):
            fresh(folder).read(RECORDS, sync=True)
    else:
        assert fresh(folder).read(last, sync=True) == []


def check_going_on(folder: PrivateFolder, before: list[Item]) -> None:
    stream = fresh(folder)
    numbers = [put(stream, NEW), put(fresh(folder), NEXT)]
    added = [Record(numbers[0], NEW), Record(numbers[1], NEXT)]
    after = fresh(folder).read(0, sync=True)
    assert after[: len(before)] == before
    assert after[-2:] == added
    # A tail without a line end counts now: a whole record, or a torn piece. So do numbers used before, if missing.
    assert len(after) - len(before) in (2, 3, 4)
    check_numbers(after)
    assert numbers[0] > max([RECORDS, *(item.number for item in after[:-2])])
    assert stream.read(numbers[0] - 1, sync=True) == added
    assert in_place(folder.path / NAME)[0] == [item for item in after if isinstance(item, Record)]


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_damaged_file_loses_nothing_in_silence_and_takes_new_records(
    folder: PrivateFolder, mutation: Mutation
) -> None:
    data, other = written(folder, NAME, "r"), written(folder, "other.jsonl", "other")
    for seed in range(FILES_PER_MUTATION):
        damaged = mutation(data, random.Random(seed), other)
        try:
            check(folder, damaged)
        except Exception as error:
            error.add_note(f"{mutation.__name__} with seed {seed}")
            raise


@pytest.mark.behaviour("M5")
def test_a_file_damaged_many_times_over_loses_nothing_in_silence(folder: PrivateFolder) -> None:
    data, other = written(folder, NAME, "r"), written(folder, "other.jsonl", "other")
    for seed in range(500 * TIMES):
        chance = random.Random(seed)
        damaged = data
        for mutation in chance.choices(MUTATIONS, k=chance.randint(2, 5)):
            damaged = mutation(damaged, chance, other) if damaged.count(b"\n") > 2 else damaged
        try:
            check(folder, damaged)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("mutation", [duplicate_lines_behind, put_in_a_garbage_line])
def test_lines_added_by_hand_take_no_record_away(folder: PrivateFolder, mutation: Mutation) -> None:
    data = written(folder, NAME, "r")
    want = fresh(folder).read(0, sync=True)
    for seed in range(200):
        (folder.path / NAME).write_bytes(mutation(data, random.Random(seed), b""))
        found = fresh(folder).read(0, sync=True)
        assert [item for item in found if isinstance(item, Record)] == want, f"seed {seed}"
        assert any(isinstance(item, Damaged) and item.kind == "lost" for item in found), f"seed {seed}"


def test_the_check_sees_a_record_dropped_without_a_word() -> None:
    items: list[Item] = [Record(1, letter(1)), Record(3, letter(3))]
    with pytest.raises(AssertionError, match="1 to 3 unreported"):
        check_numbers(items)


# -- JSON that is odd, under a checksum that holds ------------------------------------------------------

REFUSED = {
    "nested 100,000 lists deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested 100,000 objects deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "never closed": b'{"a":' + b"[" * 100_000 + b"}",
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":Infinity}',
    "minus Infinity": b'{"a":[-Infinity]}',
    "a number of 5,000 digits": b'{"a":' + b"9" * 5_000 + b"}",
    "invalid UTF-8": b'{"a":"\xff\xfe"}',
    "cut UTF-8": b'{"a":"\xe2\x80"}',
    "overlong UTF-8": b'{"a":"\xc0\xaf"}',
    "a list": b'[{"a":1}',
    "a list of pairs": b'["a",1}',
    "two values": b'{"a":1}{"b":2}',
    "a trailing comma": b'{"a":1,}',
    "single quotes": b"{'a':1}",
    "a comment": b'{"a":1/* no */}',
    "a bare word": b'{"a":nil}',
    "a bare key": b"{a:1}",
    "a control character": b'{"a":"\x00\x1f"}',
    "a bad escape": b'{"a":"\\x"}',
    "a leading zero": b'{"a":012}',
    "a hexadecimal number": b'{"a":0x1}',
    "no value": b'{"a":}',
    "only zeros": bytes(100) + b"}",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "an unfinished string": b'{"a":"b}',
}
KEPT = {
    "a key twice": b'{"a":1,"a":2}',
    "its own number and checksum": b'{"n":7,"crc":"x"}',
    "an empty key": b'{"":0}',
    "a byte order mark inside": '{"a":"\ufeff"}'.encode(),
    "line ends of other kinds": '{"a":"\u2028\u2029\x85\x0b"}'.replace("\x0b", "\\u000b").encode(),
    "an escaped lone surrogate": b'{"a":"\\ud800"}',
    "an escaped NUL": b'{"a":"\\u0000"}',
    "4,000 digits": b'{"a":' + b"9" * 4_000 + b"}",
    "a tiny number": b'{"a":1e-999}',
    "spaces": b' \t{ "a" : 1 }',
    "300 KiB": b'{"a":"' + b"x" * 300_000 + b'"}',
}


def sealed(body: bytes, number: int) -> bytes:
    head = body[:-1] + b',"n":%d' % number
    return head + b',"crc":"%08x"}\n' % zlib.crc32(head)


def read_between(folder: PrivateFolder, body: bytes) -> list[Item]:
    """Return what is read where `body` stands between two good records, after one more was appended."""
    one, three = (sealed(b'{"run":"r","ord":%d}' % number, number) for number in (1, 3))
    (folder.path / NAME).write_bytes(one + sealed(body, 2) + three)
    assert put(fresh(folder), NEW) == 4
    return fresh(folder).read(0, sync=True)


def good(number: int) -> Record:
    return Record(number, {"run": "r", "ord": number})


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("name", REFUSED)
def test_a_sealed_line_that_is_no_json_object_is_reported_and_its_neighbours_delivered(
    folder: PrivateFolder, name: str
) -> None:
    one, two, three, new = read_between(folder, REFUSED[name])
    assert isinstance(two, Damaged)
    assert (two.number, two.kind, two.where) == (2, "lost", f"{folder.path / NAME}:2")
    assert [one, three, new] == [good(1), good(3), Record(4, NEW)]


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("name", KEPT)
def test_odd_but_sound_json_is_delivered(folder: PrivateFolder, name: str) -> None:
    one, two, three, new = read_between(folder, KEPT[name])
    assert isinstance(two, Record)
    assert "n" not in two.body
    assert "crc" not in two.body
    assert [one, three, new] == [good(1), good(3), Record(4, NEW)]
