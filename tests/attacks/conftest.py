"""A ground that a sandbox does not hide, and a sandbox that holds."""

import os
from collections.abc import Iterator

import pytest

from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.workspace.conftest import known_to_hold, open_folder
from tests.workspace.escapes import escape_ground as grounds
from tests.workspace.escapes.escape_ground import Ground


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A workspace with records, home and secrets around it; not in a temporary folder, which a sandbox hides."""
    with open_folder() as folder, grounds.ground(folder) as made:
        yield made


@pytest.fixture
def bubblewrap(ground: Ground) -> Sandbox:
    """A sandbox that holds."""
    return known_to_hold(find_sandbox(ground.state, environ=os.environ))
