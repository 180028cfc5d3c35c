"""NATS keeps the promises of every store, on one server and on three."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from deskmate.ports import Store
from deskmate.stores.engines.nats.nats_engine import NatsEngine
from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.testing.store_contract import StoreContract
from tests.servers.nats_nodes import nats_cluster, nats_server, nats_url

__all__ = ["nats_cluster", "nats_server", "nats_url"]
_SPACES = count(1)


class TestNatsStore(StoreContract):
    """Each handle has a connection of its own, as in another process."""

    @pytest.fixture
    def address(self, nats_url: str) -> str:
        return nats_url

    @pytest.fixture
    def opened(self, address: str, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        engines: list[NatsEngine] = []

        def another() -> Store:
            engines.append(NatsEngine(address, tmp_path))
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


@pytest.mark.soak
class TestNatsStoreOnThreeServers(TestNatsStore):
    """Each record is on three servers before an append returns."""

    @pytest.fixture
    def address(self, nats_cluster: NatsServers) -> str:
        return f"{nats_cluster.url}&space=cluster-{next(_SPACES)}"
