"""The desk that the tests of tools sit at."""

import pytest

from tests.tools import MemoryWorkspace, PlainDesk


@pytest.fixture
def workspace() -> MemoryWorkspace:
    return MemoryWorkspace()


@pytest.fixture
def desk(workspace: MemoryWorkspace) -> PlainDesk:
    return PlainDesk(workspace)
