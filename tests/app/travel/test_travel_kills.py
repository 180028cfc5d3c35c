"""A machine that is killed at any step of a journey of code, on either side, and the process that goes on."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.core.log.names import BOARD, CODE
from deskmate.core.log.records import Item, Json, Record
from deskmate.core.travel.payload_chunks import next_chunk
from deskmate.stores.memory_store import MemoryStore
from tests.app.travel.travel_desk import Host, LeadMachine, complete, found, git

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("travel")]


class Killed(Exception):
    """The process is gone: nothing after this happens."""


class DeadlyStore:
    """The store as one process sees it, which is killed before or after one of its appends."""

    def __init__(self, store: MemoryStore, deaths: Iterator[bool]) -> None:
        self._store, self._deaths = store, deaths
        self.hold, self.changed = store.hold, store.changed

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        self._die()
        numbers = await self._store.append(stream, *records, expect=expect, sync=sync)
        self._die()
        return numbers

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Any:
        if stream.startswith("chunks/"):
            self._die()
        return await self._store.read(stream, after, sync=sync)

    async def decide(self, stream: str, after: int, make: Any, *, sync: bool = True) -> Any:
        return await self._store.decide(stream, after, make, sync=sync)

    def _die(self) -> None:
        if next(self._deaths):
            raise Killed


def at_step(step: int) -> Iterator[bool]:
    """Yield whether the process is killed now: once, at one step. Later lives get further."""
    number = 0
    while True:
        number += 1
        yield number == step


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    small = partial(next_chunk, chunk_bytes=60, chunks_a_stream=4)
    monkeypatch.setattr("deskmate.runtime.travel.payload_travel.next_chunk", small)


def sent(store: MemoryStore) -> dict[str, int]:
    """Return how many bytes of each file the store has."""
    found = dict[str, int]()
    for stream, items in store._streams.items():
        if stream.startswith("chunks/"):
            name = stream.partition("/")[2].partition("-")[0]
            found[name] = found.get(name, 0) + sum(len(str(item.body["data"])) * 3 // 4 for item in items)
    return found


def noise(number: int) -> str:
    """Return text that packs badly."""
    return "".join(chr(33 + (index * index * number) % 89) for index in range(3000))


async def test_a_member_that_is_killed_at_any_step_delivers_its_work_once(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead = LeadMachine(tmp_path / "lead", store)
    (lead.root / "noise.txt").write_text(noise(7))
    killed = 0
    async with lead.running():
        for life in range(200):
            host = Host(tmp_path / "one", DeadlyStore(store, at_step(2 + life // 3)))
            try:
                root, tree = await host.tree("ann")
                (root / "ann.txt").write_text(noise(11))
                await tree.offer("Work of ann\n")
                break
            except Killed:
                killed += 1
        host = Host(tmp_path / "one", store)
        _, tree = await host.tree("ann")
        assert (await complete(host, "ann", tree)).merged
    assert killed > 10
    assert lead.files()["ann.txt"] == noise(11)
    bundles = [body for body in await bodies(store, "code/ann") if body["type"] == "bundle_sent"]
    assert len(bundles) == 1, "it is sent once"
    for body in (*bundles, *(body for body in await bodies(store, CODE) if body["type"] == "bundle_sent")):
        assert abs(sent(store)[body["payload"]["sha256"]] - body["payload"]["size"]) <= 2


async def bodies(store: MemoryStore, stream: str) -> list[Any]:
    items: list[Item] = list(await store.read(stream))
    return [item.body for item in items if isinstance(item, Record)]


async def test_a_lead_that_is_killed_at_any_step_sends_and_merges_once(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    root = LeadMachine(tmp_path / "lead", store).root
    (root / "noise.txt").write_text(noise(7))
    killed, done = 0, anyio.Event()

    async def member() -> None:
        host = Host(tmp_path / "one", store)
        folder, tree = await host.tree("ann")
        (folder / "ann.txt").write_text(noise(11))
        assert (await complete(host, "ann", tree)).merged
        assert (folder / "noise.txt").read_text() == noise(7)
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(member)
        for life in range(200):
            lead = LeadMachine(tmp_path / "lead", DeadlyStore(store, at_step(2 + life // 3)))
            try:
                async with lead.running():
                    await done.wait()
                    break
            except Killed:
                killed += 1
    assert killed > 10
    lead = LeadMachine(tmp_path / "lead", store)
    assert lead.files()["ann.txt"] == noise(11)
    assert git(root, "rev-list", "--merges", "--count", "deskmate/main") == "1"
    assert [body["type"] for body in await bodies(store, BOARD)].count("task_completed") == 1
    assert git(root, "fsck", "--no-dangling") == ""
    for body in await bodies(store, CODE):
        if body["type"] == "bundle_sent":
            assert abs(sent(store)[body["payload"]["sha256"]] - body["payload"]["size"]) <= 2
