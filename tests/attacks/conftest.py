"""A ground that a sandbox does not hide, and a sandbox that holds."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.workspaces.levels import find_sandbox
from deskmate.workspaces.sandbox import Level, Sandbox
from tests.workspaces import ground as grounds
from tests.workspaces.ground import Ground


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A workspace with records, home and secrets around it; not in a temporary folder, which a sandbox hides."""
    parent = grounds.ROOT / ".bench"
    parent.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="attacks-", dir=parent))
    with grounds.ground(folder) as made:
        yield made
    shutil.rmtree(folder)
    # It stays while somebody else is at work in it.
    with contextlib.suppress(OSError):
        parent.rmdir()


@pytest.fixture
def bubblewrap(ground: Ground) -> Sandbox:
    """A sandbox that holds; where the machine can have none, the test is skipped and says why."""
    found = find_sandbox(ground.state)
    if found.level is Level.NONE:
        pytest.skip(found.reason)
    return found
