"""What one stream file keeps to when it was cut, mixed up or replaced behind the store's back."""

import cProfile
import os
import pstats
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deskmate.core.log.records import Damaged, Item, Json, Record, encode, encode_together
from deskmate.errors import Conflict
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import LOCK, PrivateFolder
from deskmate.stores.line_format import Position, seal, walk
from deskmate.stores.stream_file import StreamFile

NAME = "bob_inbox.jsonl"


class CountingFiles(Files):
    """Files that count their syncs."""

    def __init__(self) -> None:
        self.syncs = 0

    def sync(self, fd: int) -> None:
        self.syncs += 1
        super().sync(fd)


class ReplacingFiles(Files):
    """Files of a process that finds a copy in the stream's place once it has come to the lock."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def open(self, name: str, flags: int, folder: int) -> int:
        if name == LOCK:
            os.replace(shutil.copy(self._file, self._file.with_suffix(".copy")), self._file)
        return super().open(name, flags, folder)


class Processes:
    """Open the stream as if in another process each time: with nothing known but what the disk tells."""

    def __init__(self, workspace: Path, opened: ExitStack) -> None:
        self.file = workspace / "team" / NAME
        self._workspace, self._opened = workspace, opened

    def another(self, files: Files | None = None, name: str = NAME) -> StreamFile:
        folder = PrivateFolder.of(self._workspace, ("team",), files or Files(), create=True)
        self._opened.callback(folder.close)
        return StreamFile("mail/bob", folder, name)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with ExitStack() as opened:
        yield Processes(tmp_path, opened)


def letter(ordinal: int) -> Json:
    return {"type": "x", "run": "r", "ord": ordinal}


def put(stream: StreamFile, ordinal: int, expect: int | None = None, *, sync: bool = True) -> int:
    [number] = stream.append(encode_together([letter(ordinal)]), expect, sync=sync)
    return number


def fill(stream: StreamFile, count: int) -> list[Item]:
    return [Record(put(stream, ordinal), letter(ordinal)) for ordinal in range(1, count + 1)]


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def cut(file: Path, lines: int) -> None:
    os.truncate(file, len(b"".join(lines_of(file)[:lines])))


def missing(file: Path, line: int, number: int, count: int) -> Damaged:
    return Damaged(number - 1, "lost", f"{file}:{line}", f"{count} record(s) before number {number} are missing")


# -- numbers are never used twice -----------------------------------------------------------------------


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("same_process", [True, False])
def test_a_record_appended_to_a_cut_file_reaches_whoever_had_read_it_whole(
    processes: Processes, same_process: bool
) -> None:
    first = processes.another()
    old = fill(first, 10)
    cut(processes.file, 7)
    writer = first if same_process else processes.another()
    assert put(writer, 100) == 11
    assert processes.another().read(10, sync=True) == [Record(11, letter(100))]
    gap = missing(processes.file, 8, 11, 3)
    assert processes.another().read(0, sync=True) == [*old[:7], gap, Record(11, letter(100))]


@pytest.mark.behaviour("M5")
def test_a_record_appended_behind_swapped_lines_reaches_whoever_had_read_them_in_order(processes: Processes) -> None:
    fill(processes.another(), 5)
    lines = lines_of(processes.file)
    processes.file.unlink()
    processes.file.write_bytes(b"".join([*lines[:3], lines[4], lines[3]]))
    assert put(processes.another(), 100) == 6
    assert processes.another().read(5, sync=True) == [Record(6, letter(100))]


@pytest.mark.behaviour("M5")
def test_a_number_that_was_only_read_is_not_used_again_after_a_cut(processes: Processes) -> None:
    writer, reader = processes.another(), processes.another()
    fill(writer, 2)
    put(writer, 3, sync=False)
    assert len(reader.read(0, sync=True)) == 3
    cut(processes.file, 1)
    assert put(processes.another(), 100) == 4


@pytest.mark.behaviour("M5")
def test_a_number_read_from_bytes_that_an_earlier_sync_covered_is_not_used_again_after_a_cut(
    processes: Processes,
) -> None:
    one, two = processes.another(), processes.another()
    put(one, 1)
    put(two, 2, sync=False)
    one.settle()
    assert len(one.read(0, sync=True)) == 2
    cut(processes.file, 1)
    assert put(processes.another(), 100) == 3


@pytest.mark.behaviour("M5")
def test_a_torn_piece_behind_a_cut_is_fenced_and_the_numbers_go_on(processes: Processes) -> None:
    old = fill(processes.another(), 10)
    os.truncate(processes.file, processes.file.stat().st_size - len(lines_of(processes.file)[-1]) - 5)
    assert put(processes.another(), 100) == 11
    torn = Damaged(9, "torn", f"{processes.file}:9", "an append that never finished, fenced by the next writer")
    gap = missing(processes.file, 10, 11, 1)
    assert processes.another().read(0, sync=True) == [*old[:8], torn, gap, Record(11, letter(100))]


@pytest.mark.behaviour("M2")
def test_an_append_expects_the_last_number_a_reader_sees_across_a_gap(processes: Processes) -> None:
    fill(processes.another(), 10)
    cut(processes.file, 7)
    reader = processes.another()
    assert reader.read(0, sync=True)[-1].number == 7
    assert put(processes.another(), 100, expect=7) == 11
    assert reader.read(7, sync=True)[-1].number == 11
    with pytest.raises(Conflict):
        put(processes.another(), 101, expect=7)
    assert put(processes.another(), 101, expect=11) == 12


@pytest.mark.behaviour("M1")
def test_a_new_stream_begins_at_one_even_where_the_disk_gives_it_the_place_of_another(processes: Processes) -> None:
    fill(processes.another(), 3)
    other = "eve_inbox.jsonl"
    processes.file.rename(processes.file.with_name(other))
    os.truncate(processes.file.with_name(other), 0)
    assert put(processes.another(name=other), 1) == 1


# -- what is appended stays -----------------------------------------------------------------------------


@pytest.mark.behaviour("M1")
def test_an_append_that_brings_a_cut_file_back_to_its_old_length_is_synced(processes: Processes) -> None:
    fill(processes.another(), 3)
    cut(processes.file, 2)
    files = CountingFiles()
    put(processes.another(files), 9)
    assert files.syncs == 1


@pytest.mark.behaviour("M1")
def test_an_append_where_this_process_had_synced_a_torn_tail_is_synced(processes: Processes) -> None:
    files = CountingFiles()
    stream = processes.another(files)
    fill(stream, 2)
    whole = processes.file.stat().st_size
    with processes.file.open("ab") as file:
        file.write(b"x" * 500)
    stream.settle()
    os.truncate(processes.file, whole)
    files.syncs = 0
    put(stream, 9)
    assert files.syncs == 1


@pytest.mark.behaviour("M1")
def test_a_record_goes_to_the_file_that_was_put_in_place_while_its_writer_waited(processes: Processes) -> None:
    old = fill(processes.another(), 1)
    assert put(processes.another(ReplacingFiles(processes.file)), 2) == 2
    assert processes.another().read(0, sync=True) == [*old, Record(2, letter(2))]


# -- lines of its own -------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [1, 2], [3], [5, 1], [2, 2]], ids=str)
def test_where_lines_that_were_just_written_end_is_known_without_a_walk(before: list[int]) -> None:
    """`before`: the numbers of the lines before them, some of which are out of their place."""
    start = Position()
    for line in walk(start, b"".join(seal(encode(letter(number)), number) for number in before)):
        start = line.end
    numbers = range(start.last + 1, start.last + 4)
    data = b"".join(seal(encode(letter(number)), number) for number in numbers)
    assert start.after(len(data), numbers[-1]) == list(walk(start, data))[-1].end


# -- lines put in by hand -------------------------------------------------------------------------------


def calls_to_walk(lines: int) -> int:
    """Return how many calls it takes to walk over a file whose last half also stands at its beginning."""
    sealed = [seal(encode(letter(number)), number) for number in range(1, lines + 1)]
    data = b"".join([*sealed[:10], *sealed[lines // 2 :], *sealed[10:]])
    profile = cProfile.Profile()
    profile.runcall(lambda: list(walk(Position(), data)))
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_the_work_to_walk_over_lines_ahead_of_their_turn_grows_with_the_lines_only() -> None:
    assert calls_to_walk(800) < 3 * calls_to_walk(400)


def test_a_line_ahead_of_its_turn_is_seen_to_stray_over_an_old_line_put_in_behind_it() -> None:
    sealed = {number: seal(encode(letter(number)), number) for number in range(1, 6)}
    data = b"".join(sealed[number] for number in (1, 2, 3, 5, 1, 4))
    assert [line.number for line in walk(Position(), data)] == [1, 2, 3, None, None, 4]


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("number", [10**12, 10**15 - 1, 10**18 - 2, 10**18 - 1])
def test_a_line_with_an_absurd_number_is_no_record_and_spoils_none_behind_it(processes: Processes, number: int) -> None:
    old = fill(processes.another(), 1)
    with processes.file.open("ab") as file:
        file.write(seal(b'{"run":"h","ord":1}', number))
    assert [put(processes.another(), ordinal) for ordinal in (2, 3)] == [3, 4]
    reason = f"a record out of its place (number {number})"
    assert processes.another().read(0, sync=True) == [
        *old,
        Damaged(2, "lost", f"{processes.file}:2", reason),
        Record(3, letter(2)),
        Record(4, letter(3)),
    ]


@pytest.mark.behaviour("M5")
def test_leaps_that_were_cut_away_again_leave_numbers_that_can_be_read(processes: Processes) -> None:
    stream = processes.another()
    old = fill(stream, 1)
    with processes.file.open("ab") as file:
        for leap in (1, 2, 3):
            file.write(seal(b'{"run":"h","ord":1}', leap * 10**9))
    stream.read(0, sync=True)
    cut(processes.file, 1)
    numbers = [put(stream, 2), put(processes.another(), 3)]
    found = [item for item in processes.another().read(0, sync=True) if isinstance(item, Record)]
    assert found == [*old, Record(numbers[0], letter(2)), Record(numbers[1], letter(3))]


# -- what is known without the disk ---------------------------------------------------------------------


def test_a_glance_shows_what_this_process_walked_over_last(processes: Processes) -> None:
    stream, reader = processes.another(), processes.another()
    old = fill(stream, 3)
    assert [stream.glance(after, sync=True) for after in (3, 2, 1)] == [[], old[2:], None]
    assert reader.glance(0, sync=True) is None
    assert reader.read(0, sync=True) == reader.glance(0, sync=True) == old
    assert (stream.known_last(), reader.known_last()) == (3, 3)


def append_elsewhere(processes: Processes) -> None:
    put(processes.another(), 100)


def replace_by_copy(processes: Processes) -> None:
    os.replace(shutil.copy(processes.file, processes.file.with_suffix(".copy")), processes.file)


def cut_last(processes: Processes) -> None:
    cut(processes.file, 2)


@pytest.mark.parametrize("change", [append_elsewhere, replace_by_copy, cut_last])
def test_a_glance_at_a_file_that_others_changed_shows_nothing_old(
    processes: Processes, change: Callable[[Processes], None]
) -> None:
    stream = processes.another()
    fill(stream, 3)
    change(processes)
    assert (stream.glance(2, sync=False), stream.glance(3, sync=False), stream.known_last()) == (None, None, None)


def test_a_glance_at_a_file_that_is_gone_shows_nothing_old(processes: Processes) -> None:
    stream = processes.another()
    fill(stream, 3)
    processes.file.unlink()
    assert (stream.glance(2, sync=False), stream.known_last()) == (None, stream.last())


def test_a_glance_shows_nothing_that_a_power_loss_could_remove(processes: Processes) -> None:
    stream = processes.another()
    put(stream, 1, sync=False)
    assert (stream.glance(0, sync=True), stream.glance(0, sync=False)) == (None, [Record(1, letter(1))])
    stream.settle()
    assert stream.glance(0, sync=True) == [Record(1, letter(1))]
