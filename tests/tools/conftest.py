"""The desk that the tests of tools sit at."""

import pytest

from tests.tools.board_team import BoardTeam
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk


@pytest.fixture
def workspace() -> MemoryWorkspace:
    return MemoryWorkspace()


@pytest.fixture
def desk(workspace: MemoryWorkspace) -> ToolDesk:
    return ToolDesk(workspace)


@pytest.fixture
async def desks() -> BoardTeam:
    """A lead, alice and bob, and an empty board."""
    desks = BoardTeam()
    await desks.open("alice", "bob")
    return desks
