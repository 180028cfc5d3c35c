"""Power loss at any moment: what was acknowledged or read once stands for ever, with the same number (M1, M2)."""

import fcntl
import logging
import os
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from deskmate.core.log.records import Item, Json, Record, stamp
from deskmate.errors import Conflict, StoreUnavailable
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing.fake_disk import LosingFiles
from tests.chaos import TIMES, letter, memory_folder
from tests.chaos.files import independent_reader

STREAMS = {
    "mail/bob": ".teams/team/bob_inbox.jsonl",
    "board": ".tasks/team/board.jsonl",
    "log/bob": ".teams/team/bob_transcript.jsonl",
    "mail/bob:1.0": ".teams/team/subagents/bob-1.0_inbox.jsonl",
}
LIVES = 5
WORLDS = 50 * TIMES


class Broken(AssertionError):
    """A promise of the store did not hold."""


class Machine:
    """One machine and all that its users were ever told."""

    def __init__(
        self, root: Path, seed: int, disk: type[LosingFiles] = LosingFiles, store: type[JsonlStore] = JsonlStore
    ) -> None:
        self.root, self.chance, self.store = root, random.Random(seed), store
        self.files = disk(root, self.chance, page=64, short_writes=0.05, failed_syncs=0.05)
        self.stores: list[JsonlStore] = []
        self.acknowledged: dict[str, dict[int, Json]] = {stream: {} for stream in STREAMS}
        self.read: dict[str, Sequence[Item]] = dict.fromkeys(STREAMS, ())
        self.ordinal = 0

    async def live(self) -> None:
        """Start the machine, let its users work, lose power."""
        for _ in range(self.chance.randint(1, 3)):
            self.stores.append(self.opened())
        for _ in range(self.chance.randint(3, 14)):
            await self.chance.choice([self.append, self.append, self.look])()
        self.files = self.files.lose()
        for store in self.stores:
            store.close()
        self.stores = []

    def opened(self) -> JsonlStore:
        """Open a store as another process would: where the folders are there, maybe without making them."""
        while True:
            create = not (self.root / ".tasks/team").exists() or self.chance.random() < 0.5
            with suppress(StoreUnavailable):
                return self.store.open(self.root, "team", create=create, files=self.files)

    async def append(self) -> None:
        """Append one to three records; after an error try the same again, or give up."""
        store, stream = self.chance.choice(self.stores), self.chance.choice(list(STREAMS))
        bodies = [
            self.letter("x" * self.chance.choice([0, 3, 40, 200])) for _ in range(self.chance.choice([1, 1, 2, 3]))
        ]
        sync = self.chance.random() < 0.6
        known = self.read[stream]
        expect = self.chance.choice([None, None, known[-1].number if known else 0])
        while True:
            try:
                numbers = await store.append(stream, *bodies, expect=expect, sync=sync)
            except Conflict:
                return
            except StoreUnavailable:
                if self.chance.random() < 0.4:
                    return
            else:
                if sync:
                    self.acknowledged[stream].update(zip(numbers, bodies, strict=True))
                if numbers != sorted(set(numbers)):
                    raise Broken(f"{stream}: records that were appended together have the numbers {numbers}")
                return

    def letter(self, content: str = "") -> dict[str, object]:
        """Return a record that was never appended."""
        self.ordinal += 1
        return letter(self.ordinal, content)

    async def look(self) -> None:
        """Read one stream as someone who knows all that was ever read from it."""
        store, stream = self.chance.choice(self.stores), self.chance.choice(list(STREAMS))
        try:
            found = await store.read(stream)
        except StoreUnavailable:
            return
        self.compare(stream, found)
        self.read[stream] = found

    def compare(self, stream: str, found: Sequence[Item]) -> None:
        known = self.read[stream]
        if list(found[: len(known)]) != list(known):
            raise Broken(f"{stream}: once read {known}, now {found}")
        bodies = {item.number: item.body for item in found if isinstance(item, Record)}
        for number, body in self.acknowledged[stream].items():
            if bodies.get(number) != body:
                raise Broken(f"{stream}: {number} was acknowledged as {body}, now {bodies.get(number)}")
        stamps = [stamp(body) for body in bodies.values()]
        if len(stamps) != len(set(stamps)):
            raise Broken(f"{stream}: a record stands there twice: {stamps}")

    async def check(self) -> None:
        """After power loss: compare everything, append to everything."""
        store = self.store.open(self.root, "team", create=True)
        for stream, file in STREAMS.items():
            found = await store.read(stream)
            self.compare(stream, found)
            self.read[stream] = found
            whole = {
                (record.number, stamp(record.body)) for record in independent_reader.look(self.root / file).records
            }
            if not whole >= {(item.number, stamp(item.body)) for item in found if isinstance(item, Record)}:
                raise Broken(f"{stream}: another reader does not find {found}")
            body = self.letter()
            [number] = await store.append(stream, body)
            self.acknowledged[stream][number] = body
            self.compare(stream, await store.read(stream))
        store.close()
        self.files = type(self.files)(self.root, self.chance, page=64, short_writes=0.05, failed_syncs=0.05)


async def run(seeds: range, disk: type[LosingFiles] = LosingFiles, store: type[JsonlStore] = JsonlStore) -> None:
    """Let each seed's world live and lose power several times; raise Broken with its seed."""
    for seed in seeds:
        with memory_folder() as root:
            world = Machine(root, seed, disk, store)
            try:
                for _ in range(LIVES):
                    await world.live()
                    await world.check()
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "deskmate")


@pytest.mark.anyio
@pytest.mark.behaviour("M1", "M2")
@pytest.mark.parametrize("share", range(8))
async def test_no_power_loss_takes_back_what_was_acknowledged_or_read(share: int) -> None:
    await run(range(share * WORLDS, (share + 1) * WORLDS))


@pytest.mark.anyio
@pytest.mark.behaviour("M1")
@pytest.mark.parametrize("seed", range(20))
async def test_folders_whose_maker_died_before_a_sync_outlive_power_loss(seed: int) -> None:
    with memory_folder() as root:
        files = LosingFiles(root, random.Random(seed))
        for folder in (".teams/team", ".tasks/team"):
            (root / folder).mkdir(parents=True)
        store = JsonlStore.open(root, "team", files=files)
        await store.append("board", letter(1))
        files.lose()
        store.close()
        store = JsonlStore.open(root, "team")
        assert await store.read("board") == [Record(1, letter(1))]
        store.close()


# -- the test itself catches broken disks and stores ----------------------------------------------------


class ForgetsFiles(LosingFiles):
    """Say that a file is synced, do nothing."""

    def sync(self, fd: int) -> None:
        pass


class ForgetsFolders(LosingFiles):
    """Say that a folder is synced, do nothing."""

    def sync_folder(self, folder: int) -> None:
        pass


class KeepsDropped(LosingFiles):
    """Say that the bytes of a failed sync were written again, do nothing."""

    def rewrite(self, fd: int, data: bytes, offset: int) -> int:
        return len(data)


class LetsReadersTrust(LosingFiles):
    """Sync for writers alone: readers return what they found as it is."""

    def sync(self, fd: int) -> None:
        if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            super().sync(fd)


class NeverRetries(JsonlStore):
    """Append a record again after an error as if it were a new one."""

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        self._file(stream)._doubts.clear()
        return await super().append(stream, *records, expect=expect, sync=sync)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("disk", "store"),
    [
        (ForgetsFiles, JsonlStore),
        (ForgetsFolders, JsonlStore),
        (KeepsDropped, JsonlStore),
        (LetsReadersTrust, JsonlStore),
        (LosingFiles, NeverRetries),
    ],
)
async def test_a_disk_or_store_that_breaks_its_word_is_caught(disk: type[LosingFiles], store: type[JsonlStore]) -> None:
    with pytest.raises(Broken):
        await run(range(1000), disk, store)


# -- the disk ---------------------------------------------------------------------------------------------


def left_after(seed: int, *, sync: bool, sync_folder: bool) -> dict[str, bytes]:
    """Replace a synced file by a renamed one, lose power; return the files left."""
    with memory_folder() as root:
        (root / "kept").write_bytes(b"old")
        files = LosingFiles(root, random.Random(seed))
        folder = os.open(root, os.O_RDONLY)
        fd = files.open("new", os.O_RDWR | os.O_CREAT | os.O_APPEND, folder)
        files.write(fd, b"new")
        if sync:
            files.sync(fd)
        files.rename("new", "kept", folder)
        if sync_folder:
            files.sync_folder(folder)
        os.close(fd)
        os.close(folder)
        files.lose()
        return {path.name: path.read_bytes() for path in root.iterdir()}


def test_a_synced_rename_of_a_synced_file_outlives_power_loss() -> None:
    assert all(left_after(seed, sync=True, sync_folder=True) == {"kept": b"new"} for seed in range(50))


def test_an_unsynced_rename_is_kept_or_undone() -> None:
    found = [left_after(seed, sync=True, sync_folder=False) for seed in range(50)]
    for possible in ({"kept": b"new"}, {"kept": b"old"}, {"kept": b"old", "new": b"new"}):
        assert possible in found
    assert all(left["kept"] in (b"old", b"new") for left in found)


def test_an_unsynced_file_may_hold_anything() -> None:
    found = [left_after(seed, sync=False, sync_folder=True)["kept"] for seed in range(200)]
    assert {b"new", b"", bytes(3), b"n"} <= set(found)


def test_a_disk_without_power_answers_nobody() -> None:
    with memory_folder() as root:
        files = LosingFiles(root, random.Random(0))
        files.lose()
        folder = os.open(root, os.O_RDONLY)
        with pytest.raises(OSError, match="the power is gone"):
            files.open("new", os.O_RDWR | os.O_CREAT, folder)
        os.close(folder)
        assert list(root.iterdir()) == []
