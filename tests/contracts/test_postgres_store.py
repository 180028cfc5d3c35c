"""PostgreSQL keeps the promises of every store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.ports import Store
from deskmate.stores.engines.postgres.postgres_engine import PostgresEngine
from deskmate.testing.store_contract import StoreContract
from tests.servers.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


class TestPostgresStore(StoreContract):
    """Each handle has connections of its own, as in another process."""

    @pytest.fixture
    def opened(self, postgres_url: str, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        engines: list[PostgresEngine] = []

        def another() -> Store:
            engines.append(PostgresEngine(postgres_url, tmp_path))
            return engines[-1].open("team", create=True)

        yield another
        for engine in engines:
            engine.close()

    @pytest.fixture
    def store(self, opened: Callable[[], Store]) -> Store:
        return opened()

    @pytest.fixture
    def again(self, opened: Callable[[], Store]) -> Callable[[], Store]:
        return opened


class TestPostgresStoreInOneProcess(TestPostgresStore):
    """All handles share the connections of one engine."""

    @pytest.fixture
    def opened(self, postgres_url: str, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        engine = PostgresEngine(postgres_url, tmp_path)
        yield lambda: engine.open("team", create=True)
        engine.close()
