"""The desk that the tests of tools sit at."""

import pytest

from tests.tools import MemoryWorkspace, PlainDesk
from tests.tools.teams import Desks


@pytest.fixture
def workspace() -> MemoryWorkspace:
    return MemoryWorkspace()


@pytest.fixture
def desk(workspace: MemoryWorkspace) -> PlainDesk:
    return PlainDesk(workspace)


@pytest.fixture
async def desks() -> Desks:
    """A lead, alice and bob, and an empty board."""
    desks = Desks()
    await desks.open("alice", "bob")
    return desks
