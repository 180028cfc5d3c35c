"""NATS for tests: servers that all tests of a process share, and a space for each test.

To use it, import `nats_url` and the servers where a test asks for them.
"""

import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.trust.chosen_engine import close_engines
from tests.servers.needed import need_nats

_SPACES = count(1)


def new_servers(nodes: int) -> Iterator[NatsServers]:
    """Yield servers, and end them after that."""
    need_nats()
    with tempfile.TemporaryDirectory(prefix="dm-nats-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        servers = NatsServers(Path(folder), nodes)
        yield servers
        servers.close()


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServers]:
    yield from new_servers(1)


@pytest.fixture(scope="session")
def nats_cluster() -> Iterator[NatsServers]:
    yield from new_servers(3)


@pytest.fixture
def nats_url(nats_server: NatsServers) -> Iterator[str]:
    """The address of a space that only this test uses. Connections of this process to it end with the test."""
    yield f"{nats_server.url}&space={next(_SPACES)}"
    close_engines()
