"""What the file store promises beyond every store."""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.records import Damaged, Decision, Record
from deskmate.errors import BadName, StoreCorrupt, StoreUnavailable, UnsafeFolder
from deskmate.fs.disk_calls import Files
from deskmate.stores import jsonl_store
from deskmate.stores.file_watch import Changed
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing.store_contract import record

pytestmark = pytest.mark.anyio


class DeafWatch:
    """A watch that never hears anything."""

    def add(self, folder: object, name: str) -> None:
        pass

    async def wait(self) -> list[Changed]:
        await anyio.sleep_forever()
        raise AssertionError("woken")

    def close(self) -> None:
        pass


@pytest.mark.behaviour("M7")
async def test_the_scan_finds_what_no_watch_told(tmp_path: Path) -> None:
    hearer = JsonlStore.open(tmp_path, "team", create=True, watch=DeafWatch)
    writer = JsonlStore.open(tmp_path, "team")
    with anyio.fail_after(jsonl_store.NET_SECONDS * 5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hearer.changed, {"mail/bob": 0})
            await anyio.wait_all_tasks_blocked()
            await writer.append("mail/bob", record())


@pytest.mark.behaviour("M7")
async def test_the_scan_finds_what_someone_else_in_this_process_has_read_meanwhile(tmp_path: Path) -> None:
    hearer = JsonlStore.open(tmp_path, "team", create=True, watch=DeafWatch)
    writer = JsonlStore.open(tmp_path, "team")
    with anyio.fail_after(jsonl_store.NET_SECONDS * 5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hearer.changed, {"board": 0, "mail/bob": 0})
            tasks.start_soon(hearer.changed, {"mail/bob": 0})
            await anyio.wait_all_tasks_blocked()
            await writer.append("mail/bob", record())
            assert len(await hearer.read("mail/bob")) == 1


class NoWatch(DeafWatch):
    """A watch that the system has none of to spare."""

    def add(self, folder: object, name: str) -> None:
        raise OSError(24, "Too many open files")


@pytest.mark.behaviour("M7")
async def test_without_a_watch_to_spare_the_scan_still_finds_what_was_written(tmp_path: Path) -> None:
    hearer, writer = (JsonlStore.open(tmp_path, "team", create=True, watch=NoWatch) for _ in range(2))
    with anyio.fail_after(jsonl_store.NET_SECONDS * 5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hearer.changed, {"mail/bob": 0})
            await anyio.wait_all_tasks_blocked()
            await writer.append("mail/bob", record())


async def test_a_team_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFolder, match="There are no teams yet"):
        JsonlStore.open(tmp_path, "docs")
    JsonlStore.open(tmp_path, "shop", create=True).close()
    with pytest.raises(UnsafeFolder, match="Teams there: shop"):
        JsonlStore.open(tmp_path, "docs")


@pytest.mark.parametrize("team", ["", "..", "a/b", "Team", ".archive", "a" * 65])
async def test_a_bad_team_name_makes_no_folder(tmp_path: Path, team: str) -> None:
    with pytest.raises(BadName):
        JsonlStore.open(tmp_path, team, create=True)
    assert list(tmp_path.iterdir()) == []


async def test_a_workspace_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFolder, match="nowhere does not exist"):
        JsonlStore.open(tmp_path / "nowhere", "team", create=True)
    (tmp_path / "file").touch()
    with pytest.raises(UnsafeFolder, match="file is not a folder"):
        JsonlStore.open(str(tmp_path / "file"), "team", create=True)


async def test_half_a_team_is_not_called_a_team(tmp_path: Path) -> None:
    JsonlStore.open(tmp_path, "team", create=True).close()
    (tmp_path / ".tasks/team").rmdir()
    with pytest.raises(UnsafeFolder, match=r"\.tasks/team is missing, and team 'team' cannot continue without it"):
        JsonlStore.open(tmp_path, "team")


async def test_folders_and_files_are_private_and_git_does_not_see_them(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("mail/bob", record())
    await store.append("board", record())
    async with store.hold("calls/0", "x"), store.hold("bob", "x"):
        pass
    await store.append("log/lead:1.0", record())
    store.close()
    made = [path for top in (".teams", ".tasks") for path in (tmp_path / top).rglob("*")]
    assert len(made) > 10
    for path in made:
        assert path.stat().st_mode & 0o077 == 0, path
    seen = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"], check=True, capture_output=True
    )
    assert seen.stdout == b""


async def test_a_folder_left_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    JsonlStore.open(tmp_path, "team", create=True).close()
    (tmp_path / ".teams/team").chmod(0o777)
    JsonlStore.open(tmp_path, "team").close()
    assert (tmp_path / ".teams/team").stat().st_mode & 0o777 == 0o700


async def test_a_store_carried_through_a_fork_refuses_to_write(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("board", record())
    file = store._file("board")
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            file.append({("r", 1): b'{"run":"r","ord":1}'}, None, sync=False)
        except StoreUnavailable as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert b"fork" in os.read(reader, 1000)
    os.close(reader)
    assert len(await store.read("board")) == 1


class Failing(Files):
    """Files on which the named call fails once."""

    def __init__(self, call: str, *, after: bool) -> None:
        self.call, self.after, self.left = call, after, 1

    def _fail(self, call: str) -> bool:
        if call == self.call and self.left:
            self.left -= 1
            return True
        return False

    def write(self, fd: int, data: bytes) -> int:
        if self._fail("write"):
            if self.after:
                return super().write(fd, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        if self._fail("sync"):
            raise OSError(5, "Input/output error")
        super().sync(fd)


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize(("call", "after"), [("write", False), ("write", True), ("sync", False)])
async def test_an_append_in_doubt_is_recognised_when_it_is_repeated(tmp_path: Path, call: str, after: bool) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("board", record("before"))
    store._file("board").folder.files = Failing(call, after=after)
    body = record("once")
    with pytest.raises(StoreUnavailable):
        await store.append("board", body, expect=1)
    other = JsonlStore.open(tmp_path, "team")
    [later] = await other.append("mail/bob", record())
    assert later == 1
    [number] = await store.append("board", body, expect=1)
    assert [item for item in await store.read("board", 1) if isinstance(item, Record)] == [Record(number, body)]
    assert await store.append("board", record("after"), expect=number) == [number + 1]


@pytest.mark.behaviour("M2")
async def test_a_repeat_is_found_behind_what_others_wrote_meanwhile(tmp_path: Path) -> None:
    store, other = JsonlStore.open(tmp_path, "team", create=True), JsonlStore.open(tmp_path, "team")
    store._file("mail/bob").folder.files = Failing("sync", after=False)
    body = record("once")
    with pytest.raises(StoreUnavailable):
        await store.append("mail/bob", body)
    await other.append("mail/bob", record("meanwhile"))
    assert await store.append("mail/bob", body) == [1]
    assert len(await store.read("mail/bob")) == 2


class Rewrites(Failing):
    """Files that count what is written again after a failed sync."""

    rewritten = b""

    def rewrite(self, fd: int, data: bytes, offset: int) -> int:
        self.rewritten += data
        return super().rewrite(fd, data, offset)


async def test_after_a_failed_sync_the_same_bytes_are_written_again(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("board", record("safe"))
    files = Rewrites("sync", after=False)
    store._file("board").folder.files = files
    with pytest.raises(StoreUnavailable):
        await store.append("board", record("in doubt"))
    lines = (tmp_path / ".tasks/team/board.jsonl").read_bytes().splitlines(keepends=True)
    assert files.rewritten == lines[1]
    await store.append("board", record("after"))
    lines = (tmp_path / ".tasks/team/board.jsonl").read_bytes().splitlines(keepends=True)
    assert files.rewritten.endswith(lines[1] + lines[2])
    assert [line.count(b"in doubt") for line in lines] == [0, 1, 0]


async def test_a_whole_line_without_its_end_becomes_a_record_of_its_own(tmp_path: Path) -> None:
    """Its writer died between the last byte and the line end. A writer that expects the one before must read again."""
    store = JsonlStore.open(tmp_path, "team", create=True)
    bodies = [record(index) for index in range(3)]
    for body in bodies[:2]:
        await store.append("board", body)
    path = tmp_path / ".tasks/team/board.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    fresh = JsonlStore.open(tmp_path, "team")
    assert [item.number for item in await fresh.read("board")] == [1]
    assert await fresh.append("board", bodies[2]) == [3]
    assert list(await fresh.read("board")) == [Record(n + 1, body) for n, body in enumerate(bodies)]


async def test_a_file_put_in_the_place_of_another_is_read_afresh(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    for index in range(5):
        await store.append("board", record(index))
    path = tmp_path / ".tasks/team/board.jsonl"
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)
    assert await store.append("board", record(5), expect=5) == [6]
    assert [item.number for item in await store.read("board", 3)] == [4, 5, 6]


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("damage", ["cut", "emptied", "deleted"])
async def test_a_stream_cut_below_what_was_read_is_damage(tmp_path: Path, damage: str) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    for index in range(5):
        await store.append("mail/bob", record(index))
    assert len(await store.read("mail/bob")) == 5
    path = tmp_path / ".teams/team/bob_inbox.jsonl"
    if damage == "deleted":
        path.unlink()
    else:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:2] if damage == "cut" else []))
    for handle in (store, JsonlStore.open(tmp_path, "team")):
        with anyio.fail_after(20):
            await handle.changed({"mail/bob": 5})
        with pytest.raises(StoreCorrupt, match="5 was read"):
            await handle.read("mail/bob", 5)


@pytest.mark.behaviour("M5")
async def test_lines_put_in_by_hand_are_reported_and_hide_nothing(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    bodies = [record(index) for index in range(4)]
    for body in bodies:
        await store.append("mail/bob", body)
    path = tmp_path / ".teams/team/bob_inbox.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"# a note\n", b"\n", b"third\n", *lines[2:], b"last words\n"]))
    fresh = JsonlStore.open(tmp_path, "team")
    found = list(await fresh.read("mail/bob"))
    assert [item for item in found if isinstance(item, Record)] == [Record(n + 1, b) for n, b in enumerate(bodies)]
    damaged = [item for item in found if isinstance(item, Damaged)]
    assert [(item.number, item.where.rpartition(":")[2]) for item in damaged] == [
        (3, "3"),
        (3, "4"),
        (3, "5"),
        (5, "8"),
    ]
    assert await fresh.append("mail/bob", record("next")) == [6]
    assert [item.number for item in await fresh.read("mail/bob", 5)] == [6]


@pytest.mark.behaviour("M5")
@pytest.mark.parametrize("copied", [1, 3])
async def test_later_lines_copied_to_an_earlier_place_hide_nothing(tmp_path: Path, copied: int) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    bodies = [record(index) for index in range(40)]
    for body in bodies:
        await store.append("mail/bob", body)
    path = tmp_path / ".teams/team/bob_inbox.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:5], *lines[30 : 30 + copied], *lines[5:]]))
    fresh = JsonlStore.open(tmp_path, "team")
    found = list(await fresh.read("mail/bob"))
    assert [item for item in found if isinstance(item, Record)] == [Record(n + 1, b) for n, b in enumerate(bodies)]
    assert len(found) == 40 + copied
    assert await fresh.append("mail/bob", record("next")) == [41]


class Counting(Files):
    """Files that count their syncs."""

    def __init__(self) -> None:
        self.syncs = 0

    def sync(self, fd: int) -> None:
        self.syncs += 1
        super().sync(fd)


async def test_a_late_sync_comes_by_itself_and_closing_does_not_wait_for_it(
    tmp_path: Path, eventually: Callable[[Callable[[], bool]], object]
) -> None:
    files = Counting()
    store = JsonlStore.open(tmp_path, "team", create=True, files=files)
    await store.append("log/bob", record(), sync=False)
    assert files.syncs == 0
    eventually(lambda: files.syncs == 1)
    await store.append("log/bob", record(), sync=False)
    store.close()
    assert files.syncs == 2


class Threads(Files):
    """The real system calls, with the threads that wrote. `seconds`: how long a write takes."""

    def __init__(self, seconds: float = 0) -> None:
        self.writers: list[bool] = []
        self.seconds = seconds

    def write(self, fd: int, data: bytes) -> int:
        self.writers.append(threading.current_thread() is threading.main_thread())
        time.sleep(self.seconds)
        return super().write(fd, data)


@pytest.mark.behaviour("M1")
async def test_an_append_without_a_sync_uses_a_thread_only_if_it_would_wait_or_the_disk_is_slow(tmp_path: Path) -> None:
    files = Threads()
    with (
        closing(JsonlStore.open(tmp_path, "team", create=True, files=files)) as store,
        closing(JsonlStore.open(tmp_path, "team")) as other,
    ):
        files.writers.clear()
        await store.append("spend", record())
        await store.append("spend", record(), sync=False)
        assert files.writers == [False, True]
        async with anyio.create_task_group() as tasks:
            with other._team.locked():
                tasks.start_soon(partial(store.append, "spend", record(), sync=False))
                await anyio.wait_all_tasks_blocked()
                assert len(files.writers) == 2
        files.seconds = 0.05
        for _ in range(2):
            await store.append("spend", record(), sync=False)
        assert files.writers[2:] == [False, True, False]
        assert len(await store.read("spend")) == 5


class Opened(Files):
    """The real system calls, with the names of the files that were opened."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def open(self, name: str, flags: int, folder: int) -> int:
        self.names.append(name)
        return super().open(name, flags, folder)


async def test_a_decision_to_append_nothing_opens_no_file_that_is_as_it_was_left(tmp_path: Path) -> None:
    files, appended = Opened(), record()
    with (
        closing(JsonlStore.open(tmp_path, "team", create=True, files=files)) as store,
        closing(JsonlStore.open(tmp_path, "team")) as other,
    ):
        files.names.clear()
        assert await store.decide("log/bob", 0, lambda found: Decision(None, len(found))) == (None, 0)
        assert files.names == []
        assert await store.decide("log/bob", 0, lambda found: Decision(appended, len(found))) == (1, 0)
        files.names.clear()
        assert await store.decide("log/bob", 0, lambda found: Decision(None, len(found))) == (None, 1)
        assert files.names == []
        await other.append("log/bob", record())
        assert await store.decide("log/bob", 0, lambda found: Decision(None, len(found))) == (None, 2)
        assert files.names


async def test_who_only_peeks_syncs_nothing(tmp_path: Path) -> None:
    files = Counting()
    store = JsonlStore.open(tmp_path, "team", create=True, files=files)
    await store.append("spend", record(), sync=False)
    assert len(await store.read("spend", sync=False)) == 1
    assert files.syncs == 0
    assert len(await store.read("spend")) == 1
    assert files.syncs == 1


async def test_a_record_is_synced_once_however_many_read_it(tmp_path: Path) -> None:
    counted = [Counting() for _ in range(4)]
    stores = [JsonlStore.open(tmp_path, "team", create=True, files=files) for files in counted]
    for _ in range(10):
        await stores[0].append("board", record())
        for store in stores:
            await store.read("board")
    assert [files.syncs for files in counted] == [10, 0, 0, 0]


@pytest.mark.behaviour("M5")
async def test_a_loss_is_told_once_in_words_and_what_never_finished_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("mail/bob", record())
    path = tmp_path / ".teams/team/bob_inbox.jsonl"
    path.write_bytes(path.read_bytes() + b"garbage\n" + b'{"type"')
    await store.append("mail/bob", record())
    for _ in range(2):
        assert len(await store.read("mail/bob")) == 4
        await store.decide("mail/bob", 0, lambda found: Decision(None, None))
    why = "not a record, or its checksum is wrong"
    assert caplog.messages == [f"Record 2 of mail/bob is lost ({path}:2: {why}). See: deskmate doctor team"]
