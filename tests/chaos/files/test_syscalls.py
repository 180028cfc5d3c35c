"""A process killed, or answered with an error, at every system call that writes: nothing lost, nothing doubled.

strace watches a child that appends and reads; the independent reader looks at what is left, a second store
finishes the work (M1, M2, M4).
"""

import errno
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from deskmate.core.log.records import Record
from deskmate.errors import StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.stores.jsonl_store import JsonlStore
from tests.chaos import letter, memory_folder
from tests.chaos.files import independent_reader
from tests.chaos.files.writer_process import LATER, PLAN, Ended, Writers

FILES = {
    "mail/bob": ".teams/team/bob_inbox.jsonl",
    "board": ".tasks/team/board.jsonl",
    "roster": ".teams/team/roster.jsonl",
}
# What a store touches while it is opened, and while it works. strace counts calls per thread, the second is done by
# another one, and so each kind gets its own count. A call on a name in a folder is one on the folder.
PATHS = {
    "opening": ("", ".teams", ".teams/.gitignore", ".tasks", ".tasks/.gitignore"),
    "working": (
        *(".teams/team", ".teams/team/.lock", ".teams/team/bob.seat", ".tasks/team", ".tasks/team/.lock"),
        *FILES.values(),
    ),
}
ALL = tuple((stream, ordinal) for stream, ordinals in (*PLAN, LATER) for ordinal in ordinals)
TORN = b" <torn>"
HARD_STOP = 200


@pytest.fixture(scope="module")
def strace() -> str:
    found = shutil.which("strace")
    if found is None and os.environ.get("CI"):
        pytest.fail("strace is not installed; install it where every test must run")
    if found is None:
        pytest.skip("strace is not installed: no faults injected into system calls")
    return found


@pytest.fixture(scope="module")
def writers(strace: str) -> Iterator[Writers]:
    with memory_folder() as folder, Writers(strace, folder) as writers:
        yield writers


@pytest.fixture
def workspace() -> Iterator[Path]:
    with memory_folder() as path:
        yield path


@dataclass(frozen=True)
class Fault:
    """What happens to which call on which paths; on any where there are none."""

    call: str
    what: str
    paths: tuple[str, ...] = PATHS["opening"] + PATHS["working"]


def run_child(writers: Writers, workspace: Path, fault: Fault, when: str) -> Ended:
    paths = [word for path in fault.paths for word in ("-P", str(workspace / path))]
    return writers.run(
        workspace, ["-e", f"trace={fault.call}", "-e", f"inject={fault.call}:{fault.what}:when={when}", *paths]
    )


def check_left(workspace: Path, ended: Ended) -> None:
    """Compare what the child said with what the independent reader finds."""
    for stream, file in FILES.items():
        found = independent_reader.look(workspace / file)
        assert found.numbers == sorted(set(found.numbers))
        assert all(line.endswith(TORN) for _, line in found.bad)
        contents = Counter(body["content"] for body in found.bodies)
        assert set(contents) <= {f"{stream}-{ordinal}" for other, ordinal in ALL if other == stream}
        assert not contents or max(contents.values()) == 1
        # None without those before it, also of records that were appended together.
        assert list(contents) == [f"{stream}-{ordinal}" for ordinal in range(1, len(contents) + 1)]
        numbers = {record.body["content"]: record.number for record in found.records}
        for ordinal, number in ((said[1], said[2]) for said in ended.said if said[0] == stream):
            assert numbers[f"{stream}-{ordinal}"] == int(number)
        for said in ended.said:
            if said[:2] == ["read", stream]:
                assert list(map(int, said[2:])) == found.numbers[: len(said) - 2]


async def finish(workspace: Path) -> None:
    """Do what the child left undone as its successor would: look, then append what is not there."""
    store = JsonlStore.open(workspace, "team", create=True)
    for ordinal, (stream, number) in enumerate(ALL):
        content = f"{stream}-{number}"
        found = await store.read(stream)
        if not any(getattr(item, "body", {}).get("content") == content for item in found):
            await store.append(stream, letter(ordinal, content, run="successor"))
    store.close()
    for stream, file in FILES.items():
        contents = independent_reader.look(workspace / file)
        assert contents.numbers == sorted(set(contents.numbers))
        assert contents.tail == b""
        assert sorted(body["content"] for body in contents.bodies) == sorted(
            f"{stream}-{ordinal}" for other, ordinal in ALL if other == stream
        )


async def check_every_point(writers: Writers, workspace: Path, fault: Fault) -> int:
    """Inject at the first, second, ... such call until there are no more; return how many there were."""
    for point in count(1):
        assert point < HARD_STOP
        ended = run_child(writers, workspace, fault, str(point))
        try:
            if not ended.fired or "error=" in fault.what:
                # One error is no reason to give up.
                assert ended.code == 0, ended.errors
                assert len(ended.said) == len(ALL) + len(FILES) + 1
            else:
                assert ended.code == -signal.SIGKILL
            check_left(workspace, ended)
            await finish(workspace)
        except AssertionError as error:
            error.add_note(f"call number {point} of {fault}")
            raise
        for folder in workspace.iterdir():
            shutil.rmtree(folder)
        if not ended.fired:
            break
    return point - 1


@pytest.mark.anyio
@pytest.mark.behaviour("M1", "M2", "M4")
@pytest.mark.parametrize(
    ("call", "during", "least"),
    [
        ("openat", "opening", 10),
        ("openat", "working", 8),
        ("flock", "working", 10),
        ("write", "opening", 2),
        ("write", "working", 4),
        ("fdatasync", "working", 4),
        ("fsync", "opening", 6),
        ("fsync", "working", 2),
        ("mkdirat", "opening", 4),
        ("ftruncate", "working", 1),
        ("pwrite64", "working", 1),
    ],
)
async def test_a_process_killed_at_any_call_loses_and_doubles_nothing(
    writers: Writers,
    workspace: Path,
    call: str,
    during: str,
    least: int,
    record_property: Callable[[str, object], None],
) -> None:
    points = await check_every_point(writers, workspace, Fault(call, "signal=KILL", PATHS[during]))
    record_property("points", points)
    assert points >= least


@pytest.mark.anyio
@pytest.mark.behaviour("M1", "M2", "M4")
@pytest.mark.parametrize(
    ("call", "error", "least"),
    [
        ("openat", "EMFILE", 10),
        ("flock", "EINTR", 10),
        ("write", "ENOSPC", 4),
        ("write", "EIO", 4),
        ("fdatasync", "EIO", 4),
        ("fdatasync", "ENOSPC", 4),
        ("fsync", "EIO", 6),
        ("mkdirat", "ENOSPC", 4),
        ("ftruncate", "EIO", 1),
        ("pwrite64", "ENOSPC", 1),
    ],
)
async def test_a_call_that_fails_once_is_survived_by_trying_the_same_again(
    writers: Writers, workspace: Path, call: str, error: str, least: int, record_property: Callable[[str, object], None]
) -> None:
    points = await check_every_point(writers, workspace, Fault(call, f"error={error}"))
    record_property("points", points)
    assert points >= least


@pytest.mark.anyio
@pytest.mark.behaviour("M1", "M4")
@pytest.mark.parametrize(
    ("call", "error"), [("write", "ENOSPC"), ("fdatasync", "EIO"), ("fsync", "EIO"), ("openat", "EMFILE")]
)
@pytest.mark.parametrize("first", [1, 2])
async def test_a_call_that_fails_for_ever_ends_in_our_error_and_leaves_nothing_half_done(
    writers: Writers, workspace: Path, call: str, error: str, first: int
) -> None:
    ended = run_child(writers, workspace, Fault(call, f"error={error}"), f"{first}+")
    assert ended.fired
    assert ended.code == 3, ended.errors
    check_left(workspace, ended)
    await finish(workspace)


@pytest.mark.anyio
@pytest.mark.behaviour("M1")
async def test_a_note_that_finds_no_room_on_the_disk_holds_up_no_mail(writers: Writers, workspace: Path) -> None:
    ended = run_child(writers, workspace, Fault("pwrite64", "error=ENOSPC"), "1+")
    assert ended.fired
    assert len(ended.said) == len(ALL) + len(FILES)
    check_left(workspace, ended)


class FailingOpens(Files):
    """Have no descriptor to spare for one of many opens."""

    def __init__(self, failing: int) -> None:
        self.left = failing

    def open(self, name: str, flags: int, folder: int) -> int:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().open(name, flags, folder)


class ReadOnly(Files):
    """Write nothing, like a disk mounted to be looked at."""

    def open(self, name: str, flags: int, folder: int) -> int:
        if flags & (os.O_CREAT | os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return super().open(name, flags, folder)


@pytest.mark.anyio
async def test_a_disk_that_cannot_be_written_can_be_read(workspace: Path) -> None:
    writer = JsonlStore.open(workspace, "team", create=True)
    await writer.append("mail/bob", letter(1))
    writer.close()
    (workspace / ".teams/team/.lock").unlink()
    reader = JsonlStore.open(workspace, "team", files=ReadOnly())
    assert await reader.read("mail/bob") == [Record(1, letter(1))]
    with pytest.raises(StoreUnavailable, match=os.strerror(errno.EROFS)):
        await reader.append("mail/bob", letter(2))
    reader.close()


@pytest.mark.anyio
async def test_a_failed_open_leaves_no_descriptor_behind(workspace: Path) -> None:
    assert not await fails(workspace, "warm", failing=0)
    before = sorted(os.listdir("/proc/self/fd"))
    assert [await fails(workspace, f"team-{failing}", failing) for failing in range(1, 5)] == [True, True, True, False]
    assert sorted(os.listdir("/proc/self/fd")) == before


async def fails(workspace: Path, team: str, failing: int) -> bool:
    """Append to a new team; tell whether its n-th open after the folders made that fail."""
    JsonlStore.open(workspace, team, create=True).close()
    store = JsonlStore.open(workspace, team, files=FailingOpens(failing))
    try:
        await store.append("mail/bob", letter(failing))
    except StoreUnavailable:
        return True
    finally:
        store.close()
    return False
