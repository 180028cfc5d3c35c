"""What the file store promises when it is closed, cancelled, forked, or waited for by several."""

import asyncio
import fcntl
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from deskmate.errors import Held, StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.fs.worker_threads import WorkerThreads
from deskmate.stores.file_watch import Changed
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.wakeups import Place, Wakeups
from deskmate.testing.store_contract import record

pytestmark = pytest.mark.anyio

ENOUGH_SECONDS = 30
NEVER_SECONDS = 3600
SCAN_SECONDS = 0.1
Eventually = Callable[[Callable[[], bool]], None]


@contextmanager
def frozen_writer(lock: Path) -> Iterator[None]:
    """Hold a folder's lock as a writer does that was stopped in between."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


def told_by_child(work: Callable[[], str]) -> str:
    """Return what `work` returns in a forked child, nothing if that hangs."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            signal.alarm(ENOUGH_SECONDS)
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    try:
        return os.read(reader, 1000).decode()
    finally:
        os.close(reader)


# -- closed ---------------------------------------------------------------------------------------


async def test_a_closed_store_refuses_and_writes_into_no_other_team(tmp_path: Path) -> None:
    closed = JsonlStore.open(tmp_path, "a", create=True)
    await closed.append("mail/x", record())
    closed.close()
    closed.close()
    JsonlStore.open(tmp_path, "b", create=True)
    for refused in (closed.append("mail/x", record()), closed.read("mail/x"), closed.changed({"mail/x": 0})):
        with pytest.raises(StoreUnavailable, match="closed"):
            await refused
    with pytest.raises(StoreUnavailable, match="closed"):
        async with closed.hold("lead", "me"):
            pass
    assert not list((tmp_path / ".teams/b").iterdir())


async def test_a_closed_folder_opens_nothing_in_the_folder_that_got_its_number(tmp_path: Path) -> None:
    closed = PrivateFolder.of(tmp_path, ("a",), Files(), create=True)
    inner = closed.below("inner")
    closed.close()
    closed.close()
    other = PrivateFolder.of(tmp_path, ("b",), Files(), create=True)
    for folder in (closed, inner):
        with pytest.raises(OSError, match="Bad file descriptor"):
            folder.open("x", os.O_RDWR | os.O_CREAT)
    other.close()
    assert not list((tmp_path / "b").iterdir())


async def test_closing_waits_for_the_work_in_hand(eventually: Eventually) -> None:
    beside, done = WorkerThreads(), []

    def work() -> None:
        eventually(lambda: beside.closed)
        done.append("done")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beside.run, work)
        await anyio.wait_all_tasks_blocked()
        beside.close()
        assert done == ["done"]


class SlowSync(Files):
    """Files whose syncs last until they are let go."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self.began, self.ended, self._wait = threading.Event(), 0, wait

    def sync(self, fd: int) -> None:
        self.began.set()
        self._wait()
        super().sync(fd)
        self.ended += 1


async def test_closing_waits_for_a_late_sync_that_has_begun(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, eventually: Eventually
) -> None:
    files = SlowSync(lambda: eventually(lambda: store._threads.closed))
    store = JsonlStore.open(tmp_path, "team", create=True, files=files)
    for name in ("a", "b", "c"):
        await store.append(f"log/{name}", record(), sync=False)
    assert await anyio.to_thread.run_sync(files.began.wait, ENOUGH_SECONDS)
    store.close()
    assert (files.ended, caplog.messages) == (3, [])


async def test_a_stream_that_cannot_be_synced_late_does_not_keep_a_store_from_closing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("log/a", record(), sync=False)
    file = tmp_path / ".teams/team/a_transcript.jsonl"
    file.unlink()
    file.mkdir()
    store.close()
    assert [message for message in caplog.messages if "Cannot write log/a to disk yet" in message]
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.read("log/a")


# -- cancelled ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "end"), [(None, asyncio.CancelledError), (0, TimeoutError)])
async def test_an_append_cancelled_by_asyncio_itself_ends_with_its_thread(
    tmp_path: Path, seconds: float | None, end: type[BaseException]
) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    await store.append("mail/bob", record())
    ended = []

    async def append() -> None:
        try:
            async with asyncio.timeout(seconds):
                await store.append("mail/bob", record())
        finally:
            ended.append(len((tmp_path / ".teams/team/bob_inbox.jsonl").read_bytes().splitlines()))

    with frozen_writer(tmp_path / ".teams/team/.lock"):
        task = asyncio.ensure_future(append())
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()
            if seconds is None:
                task.cancel()
        assert not task.done()
    with anyio.fail_after(ENOUGH_SECONDS), pytest.raises(end):
        await task
    assert ended == [2]


async def test_an_error_of_cancelled_work_is_not_complained_of() -> None:
    beside, go, complaints = WorkerThreads(), threading.Event(), []

    def work() -> None:
        go.wait(ENOUGH_SECONDS)
        raise OSError

    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    task = asyncio.ensure_future(beside.run(work))
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    beside.close()
    asyncio.get_running_loop().set_exception_handler(None)
    assert complaints == []


# -- the bell -------------------------------------------------------------------------------------


class Batches:
    """A watch that tells what it is handed."""

    def __init__(self) -> None:
        self.send, self._receive = anyio.create_memory_object_stream[list[Changed]](10)

    def add(self, folder: PrivateFolder, name: str) -> None:
        pass

    async def wait(self) -> list[Changed]:
        return await self._receive.receive()

    def close(self) -> None:
        self.send.close()
        self._receive.close()


@asynccontextmanager
async def batches() -> AsyncIterator[Batches]:
    watch = Batches()
    with anyio.fail_after(ENOUGH_SECONDS):
        yield watch
    watch.close()


def place(name: str) -> Place:
    return Path("/team"), name


async def wait_for(wakeups: Wakeups, name: str) -> None:
    with wakeups.waiting([place(name)]) as waiter:
        assert await wakeups.wait(waiter, NEVER_SECONDS) == {place(name)}


async def test_when_one_batch_wakes_listener_and_heir_a_third_still_hears() -> None:
    async with batches() as watch, anyio.create_task_group() as tasks:
        wakeups = Wakeups(watch, lambda _: None)
        for name in ("a", "b", "c"):
            tasks.start_soon(wait_for, wakeups, name)
            await anyio.wait_all_tasks_blocked()
        await watch.send.send([place("a"), place("b")])
        await anyio.wait_all_tasks_blocked()
        await watch.send.send([place("c")])


async def test_a_ring_in_the_same_process_wakes_the_listener() -> None:
    async with batches() as watch, anyio.create_task_group() as tasks:
        wakeups = Wakeups(watch, lambda _: None)
        tasks.start_soon(wait_for, wakeups, "a")
        await anyio.wait_all_tasks_blocked()
        wakeups.ring(place("a"))


async def test_a_ring_at_the_moment_the_watch_tells_loses_nothing() -> None:
    async with batches() as watch, anyio.create_task_group() as tasks:
        wakeups = Wakeups(watch, lambda _: None)
        for name in ("a", "b"):
            tasks.start_soon(wait_for, wakeups, name)
            await anyio.wait_all_tasks_blocked()
        watch.send.send_nowait([place("b")])
        wakeups.ring(place("a"))


async def test_however_much_the_watch_tells_of_one_place_another_is_looked_at_in_time() -> None:
    looks = {place(name): 0 for name in ("a", "b")}

    async def keep_telling(watch: Batches) -> None:
        while True:
            await watch.send.send([place("a")])

    async def wait_on(wakeups: Wakeups) -> None:
        with wakeups.waiting([place("b")]) as waiter:
            # At first it is new, and said to have changed.
            await wakeups.wait(waiter, SCAN_SECONDS)
            looks[place("b")] += 1
            assert await wakeups.wait(waiter, SCAN_SECONDS) == {place("b")}

    async with batches() as watch, anyio.create_task_group() as tasks:
        tasks.start_soon(keep_telling, watch)
        await wait_on(Wakeups(watch, looks.__getitem__))
        tasks.cancel_scope.cancel()


async def test_what_has_not_changed_is_not_rung_by_the_scan() -> None:
    looked = anyio.Event()
    scans, woken = 0, 0

    def look(_: Place) -> int:
        nonlocal scans
        scans += 1
        if scans == 3:
            looked.set()
        return 0

    async def wait_on(wakeups: Wakeups) -> None:
        nonlocal woken
        with wakeups.waiting([place("a")]) as waiter:
            while True:
                await wakeups.wait(waiter, SCAN_SECONDS)
                woken += 1

    async with batches() as watch, anyio.create_task_group() as tasks:
        tasks.start_soon(wait_on, Wakeups(watch, look))
        await looked.wait()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert woken == 1


# -- forked ---------------------------------------------------------------------------------------


def test_a_forked_child_is_refused_at_once_and_may_close(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    anyio.run(store.append, "board", record())

    async def use() -> str:
        try:
            await store.append("board", record())
        except StoreUnavailable as error:
            store.close()
            return str(error)
        return "appended"

    assert "fork" in told_by_child(lambda: anyio.run(use))
    anyio.run(store.append, "board", record())
    assert len(anyio.run(store.read, "board")) == 2


def test_a_child_forked_while_the_lock_is_held_can_close_the_folder(tmp_path: Path) -> None:
    folder = PrivateFolder.of(tmp_path, ("team",), Files(), create=True)

    def close() -> str:
        folder.close()
        return "closed"

    with folder.locked():
        assert told_by_child(close) == "closed"


def test_a_child_that_closes_its_parents_lock_keeps_its_own_of_the_same_number(tmp_path: Path) -> None:
    folder = PrivateFolder.of(tmp_path, ("team",), Files(), create=True)
    inherited = folder.open_lock("old")
    number = inherited.fd

    def close() -> str:
        own = {lock.fd: lock for lock in (folder.open_lock("new") for _ in range(number))}
        inherited.close()
        os.fstat(own[number].fd)
        return "kept"

    assert told_by_child(close) == "kept"
    os.fstat(inherited.fd)


# -- seats ----------------------------------------------------------------------------------------


async def test_whoever_got_the_seat_in_line_is_named_though_its_loop_is_busy(
    tmp_path: Path, eventually: Eventually
) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    note = tmp_path / ".teams/team/lead.seat"

    with anyio.fail_after(ENOUGH_SECONDS):
        async with anyio.create_task_group() as tasks:
            async with store.hold("lead", "first"):
                tasks.start_soon(second, store)
                await in_line(store)
            # On the event loop, on purpose: it runs nothing else until the note stands there.
            eventually(lambda: note.read_text() == "second")


async def test_a_forked_copy_of_the_pipe_does_not_keep_the_line_waiting(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    reader, writer = os.pipe()

    child = 0
    try:
        with anyio.fail_after(ENOUGH_SECONDS):
            async with anyio.create_task_group() as tasks, store.hold("lead", "first"):
                tasks.start_soon(second, store)
                await in_line(store)
                if (child := os.fork()) == 0:
                    os.close(writer)
                    os.read(reader, 1)
                    os._exit(0)
    finally:
        os.close(writer)
        os.close(reader)
        os.waitpid(child, 0)


async def second(store: JsonlStore) -> None:
    async with store.hold("lead", "second", wait=True):
        pass


async def in_line(store: JsonlStore) -> None:
    """Return once all earlier callers wait in line. They were asked in order, so their answers came first."""
    await anyio.wait_all_tasks_blocked()
    with pytest.raises(Held):
        async with store.hold("lead", "third"):
            pass
    await anyio.wait_all_tasks_blocked()


# -- folders --------------------------------------------------------------------------------------


class Where(Files):
    """Files that note which threads sync folders."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def sync_folder(self, fd: int) -> None:
        self.threads.add(threading.get_ident())
        super().sync_folder(fd)


async def test_reading_makes_no_folder(tmp_path: Path) -> None:
    store = JsonlStore.open(tmp_path, "team", create=True)
    assert await store.read("log/lead:3.0") == []
    assert not list((tmp_path / ".teams/team").iterdir())
    await JsonlStore.open(tmp_path, "team").append("log/lead:3.0", record())
    assert len(await store.read("log/lead:3.0")) == 1


async def test_no_folder_is_made_on_the_event_loop(tmp_path: Path) -> None:
    files = Where()
    store = JsonlStore.open(tmp_path, "team", create=True, files=files)
    files.threads.clear()
    await store.append("log/lead:3.0", record())
    await store.changed({"mail/lead:3.0": 1})
    async with store.hold("calls/0", "me"):
        pass
    assert files.threads
    assert threading.get_ident() not in files.threads


async def test_the_first_reader_of_a_process_does_not_wait_for_a_frozen_writer(tmp_path: Path) -> None:
    writer, reader = JsonlStore.open(tmp_path, "team", create=True), JsonlStore.open(tmp_path, "team")
    await writer.append("board", record(), sync=False)
    with frozen_writer(tmp_path / ".tasks/team/.lock"):
        read = asyncio.ensure_future(reader.read("board"))
        await asyncio.wait([read], timeout=ENOUGH_SECONDS)
        assert read.done()
    assert len(await read) == 1
