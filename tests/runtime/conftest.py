"""A team of a lead, alice and bob, over each store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.ports import Store
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from tests.runtime.team_process import TeamProcess

Open = Callable[[], Store]


@pytest.fixture
def open_on_disk(tmp_path: Path) -> Iterator[Open]:
    """Lend a function that opens one more handle on the same files, as another process would."""
    stores: list[JsonlStore] = []

    def another() -> Store:
        stores.append(JsonlStore.open(tmp_path, "team", create=True))
        return stores[-1]

    yield another
    for store in stores:
        store.close()


@pytest.fixture(params=["memory", "jsonl"])
def open_store(request: pytest.FixtureRequest) -> Open:
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    opened: Open = request.getfixturevalue("open_on_disk")
    return opened


async def _founded(open_: Open) -> TeamProcess:
    process = TeamProcess(open_, FakeClock())
    await process.roster.found("team")
    await process.join("alice", "bob")
    return process


@pytest.fixture
async def team(open_store: Open) -> TeamProcess:
    """The first process of the team; `another` returns one beside it."""
    return await _founded(open_store)


@pytest.fixture
async def team_on_disk(open_on_disk: Open) -> TeamProcess:
    return await _founded(open_on_disk)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the team on disk keeps its mail."""
    return tmp_path / ".teams" / "team"


@pytest.fixture
def board_file(tmp_path: Path) -> Path:
    return tmp_path / ".tasks" / "team" / "board.jsonl"
