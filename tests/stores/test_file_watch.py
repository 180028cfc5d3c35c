"""What the kernel's notices tell of files that come, grow and are put in place."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import PrivateFolder
from deskmate.stores.file_watch import Inotify

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's own")]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PrivateFolder]:
    found = PrivateFolder.of(tmp_path, ("team",), Files(), create=True)
    yield found
    found.close()


@pytest.fixture
def watch() -> Iterator[Inotify]:
    found = Inotify()
    yield found
    found.close()


def put(folder: PrivateFolder, name: str, text: str = "x") -> None:
    with (folder.path / name).open("a") as file:
        file.write(text)


async def told(watch: Inotify) -> set[object]:
    with anyio.fail_after(30):
        return set(await watch.wait())


async def test_a_file_is_told_of_when_it_appears_and_each_time_it_grows(folder: PrivateFolder, watch: Inotify) -> None:
    watch.add(folder, "inbox")
    put(folder, "inbox")
    assert await told(watch) == {(folder.path, "inbox")}
    put(folder, "inbox")
    assert await told(watch) == {(folder.path, "inbox")}


async def test_a_file_that_was_there_is_told_of_when_it_grows(folder: PrivateFolder, watch: Inotify) -> None:
    put(folder, "inbox")
    watch.add(folder, "inbox")
    put(folder, "inbox")
    assert await told(watch) == {(folder.path, "inbox")}


async def test_a_file_put_in_place_of_another_is_watched_in_its_stead(folder: PrivateFolder, watch: Inotify) -> None:
    put(folder, "inbox")
    watch.add(folder, "inbox")
    put(folder, "other", "restored")
    os.replace(folder.path / "other", folder.path / "inbox")
    while await told(watch) != {(folder.path, "inbox")}:
        pass
    put(folder, "inbox")
    assert await told(watch) == {(folder.path, "inbox")}


async def test_nobody_is_woken_by_what_is_written_to_other_files(folder: PrivateFolder, watch: Inotify) -> None:
    put(folder, "transcript")
    watch.add(folder, "inbox")
    put(folder, "transcript")
    put(folder, "inbox")
    # In the order of the writes: had the first been told of, it would stand here.
    assert await watch.wait() == [(folder.path, "inbox")]


async def test_after_more_than_the_kernel_keeps_every_file_counts_as_changed(
    folder: PrivateFolder, watch: Inotify
) -> None:
    put(folder, "noise")
    for name in ("inbox", "late", "noise"):
        watch.add(folder, name)
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with (folder.path / "noise").open("ab", buffering=0) as noise:
        for _ in range(most // 2 + 1):
            # In turns: the kernel keeps a notice that repeats the one before only once.
            noise.write(b"x")
            (folder.path / "other").touch()
            (folder.path / "other").unlink()
    put(folder, "late")
    found: set[object] = set()
    while (folder.path, "inbox") not in found:
        found |= await told(watch)
    put(folder, "late")
    assert await told(watch) == {(folder.path, "late")}
