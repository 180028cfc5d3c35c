"""Every store keeps the same promises."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.ports import Store
from deskmate.stores.file_watch import FileWatch, Inotify, Notify
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    def again(self, store: MemoryStore) -> Callable[[], Store]:
        return lambda: store


class TestJsonlStore(StoreContract):
    watch: Callable[[], FileWatch] = Inotify

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], JsonlStore]]:
        stores: list[JsonlStore] = []

        def another() -> JsonlStore:
            stores.append(JsonlStore.open(tmp_path, "team", create=True, watch=type(self).watch))
            return stores[-1]

        yield another
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, opened: Callable[[], JsonlStore]) -> JsonlStore:
        return opened()

    @pytest.fixture
    def again(self, opened: Callable[[], JsonlStore]) -> Callable[[], Store]:
        return opened


class TestJsonlStoreWithWatchfiles(TestJsonlStore):
    watch = Notify
