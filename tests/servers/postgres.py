"""PostgreSQL for tests: one server for all of them, and a space for each.

To use it, import `postgres_url` where a test asks for it.
"""

import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from deskmate.testing.servers.postgres_server import PostgresServer
from deskmate.trust.chosen_engine import close_engines
from tests.servers.needed import need_postgres


def new_server(*options: str) -> Iterator[PostgresServer]:
    """Yield a server, and end it after that."""
    # A short path: sockets have at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="dm-pg-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        server = PostgresServer(Path(folder), *options)
        yield server
        server.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    need_postgres()
    yield from new_server()


_SPACES = count(1)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a space that only this test uses. Connections of this process to it end with the test."""
    yield f"{postgres_server.url}&space={next(_SPACES)}"
    close_engines()
