"""Several records in one append, cut at every byte: the first few stay, a repeat adds the rest in order (M2, M4)."""

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.log.records import Item, Record, encode_together
from deskmate.errors import Conflict, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores.line_format import seal
from deskmate.stores.stream_file import StreamFile
from tests.chaos import letter, memory_folder, put
from tests.chaos.files import independent_reader

NAME = "bob_transcript.jsonl"
BEFORE, MEANWHILE, NEXT = letter(0, "before"), letter(1, "meanwhile", run="other"), letter(2, "next", run="other")
TOGETHER = [letter(10, "first"), letter(11, "second é\u2028"), letter(12, "third")]
LINES = encode_together(TOGETHER)
SIZES = [len(seal(line, number)) for number, line in enumerate(LINES.values(), start=2)]
CUTS = range(sum(SIZES))


class FullDisk(Files):
    """Take only so many bytes of the next write."""

    room: int | None = None

    def write(self, fd: int, data: bytes) -> int:
        if self.room is None:
            return super().write(fd, data)
        room, self.room = self.room, None
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, data[:room])


class TwoProcesses:
    """The folders of two processes in one workspace. The disk of the first one can be full."""

    def __init__(self, workspace: Path) -> None:
        self.file, self._full = workspace / "team" / NAME, FullDisk()
        self._first = PrivateFolder.of(workspace, ("team",), self._full, create=True)
        self._second = PrivateFolder.of(workspace, ("team",), Files(), create=True)

    def fresh(self) -> StreamFile:
        """Return the stream as a process that just started has it."""
        return StreamFile("log/bob", self._second, NAME)

    def cut(self, room: int, expect: int | None) -> StreamFile:
        """Append three records after one, with room for so many bytes. Return the stream of the process that failed."""
        self.file.unlink(missing_ok=True)
        stream = StreamFile("log/bob", self._first, NAME)
        assert put(stream, BEFORE) == 1
        self._full.room = room
        with pytest.raises(StoreUnavailable):
            stream.append(LINES, expect, sync=True)
        return stream

    def on_disk(self) -> list[dict[str, object]]:
        return independent_reader.look(self.file).bodies

    def close(self) -> None:
        self._first.close()
        self._second.close()


@pytest.fixture
def two() -> Iterator[TwoProcesses]:
    with memory_folder() as path, closing(TwoProcesses(path)) as two:
        yield two


def whole_before(room: int) -> int:
    """Return how many records are complete in so many bytes. A record may lack its line end."""
    return sum(room >= sum(SIZES[: count + 1]) - 1 for count in range(len(SIZES)))


def records(items: list[Item]) -> list[Record]:
    return [item for item in items if isinstance(item, Record)]


@pytest.mark.behaviour("M2", "M4")
@pytest.mark.parametrize("expect", [None, 1])
def test_a_repeat_after_any_cut_writes_the_rest_in_order_and_once(two: TwoProcesses, expect: int | None) -> None:
    for room in CUTS:
        stream = two.cut(room, expect)
        numbers = stream.append(LINES, expect, sync=True)
        assert numbers == sorted(set(numbers)), f"cut after {room} bytes"
        assert two.on_disk() == [BEFORE, *TOGETHER], f"cut after {room} bytes"
        found = records(two.fresh().read(1, sync=True))
        assert found == [Record(*pair) for pair in zip(numbers, TOGETHER, strict=True)], f"cut after {room} bytes"


@pytest.mark.behaviour("M4")
def test_a_process_that_was_killed_leaves_the_first_few_whole_and_nothing_else(two: TwoProcesses) -> None:
    for room in CUTS:
        two.cut(room, None)
        after = two.fresh()
        put(after, NEXT)
        want = [BEFORE, *TOGETHER[: whole_before(room)], NEXT]
        assert [one.body for one in records(after.read(0, sync=True))] == want, f"cut after {room} bytes"
        assert two.on_disk() == want, f"cut after {room} bytes"


@pytest.mark.behaviour("M2")
def test_the_rest_conflicts_with_what_another_process_wrote_meanwhile(two: TwoProcesses) -> None:
    for room in CUTS:
        stream, kept = two.cut(room, 1), whole_before(room)
        put(two.fresh(), MEANWHILE)
        if kept < len(TOGETHER):
            with pytest.raises(Conflict):
                stream.append(LINES, 1, sync=True)
        else:
            assert stream.append(LINES, 1, sync=True) == [2, 3, 4]
        assert two.on_disk() == [BEFORE, *TOGETHER[:kept], MEANWHILE], f"cut after {room} bytes"


@pytest.mark.behaviour("M2")
def test_without_an_expected_end_the_rest_follows_what_another_process_wrote(two: TwoProcesses) -> None:
    for room in CUTS:
        stream, kept = two.cut(room, None), whole_before(room)
        put(two.fresh(), MEANWHILE)
        stream.append(LINES, None, sync=True)
        want = [BEFORE, *TOGETHER[:kept], MEANWHILE, *TOGETHER[kept:]]
        assert two.on_disk() == want, f"cut after {room} bytes"
