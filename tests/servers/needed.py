"""Servers that must be installed for some tests."""

import os

import pytest

from deskmate.testing.servers import nats_servers, postgres_server
from deskmate.testing.servers.nats_servers import nats_program
from deskmate.testing.servers.postgres_server import postgres_programs


def need_postgres() -> None:
    """Skip a test if PostgreSQL is not installed. In CI, fail it."""
    need(postgres_programs(), "PostgreSQL", postgres_server.INSTALL)


def need_nats() -> None:
    """Skip a test if nats-server is not installed or too old. In CI, fail it."""
    need(nats_program(), "nats-server 2.12 or later", nats_servers.INSTALL)


def need(program: object, name: str, install: str) -> None:
    """Skip a test if a program was not found. In CI, fail it."""
    if program is None:
        missing = f"{name} is not installed. To install it, run: {install}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
