"""A ground that a sandbox does not hide, and a sandbox that holds."""

from collections.abc import Iterator

import pytest

from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.workspaces import ground as grounds
from tests.workspaces.conftest import known_to_hold, open_folder
from tests.workspaces.ground import Ground


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A workspace with records, home and secrets around it; not in a temporary folder, which a sandbox hides."""
    with open_folder() as folder, grounds.ground(folder) as made:
        yield made


@pytest.fixture
def bubblewrap(ground: Ground) -> Sandbox:
    """A sandbox that holds."""
    return known_to_hold(find_sandbox(ground.state))
