"""A workspace with a secret beside it that nothing may reach."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.workspaces.levels import find_sandbox
from deskmate.workspaces.local import LocalWorkspace
from deskmate.workspaces.sandbox import Level, Sandbox

Make = Callable[..., LocalWorkspace]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, and beside it a folder with a secret."""
    for folder in ("ws", "outside"):
        (tmp_path / folder).mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"SECRET")
    return tmp_path / "ws"


@pytest.fixture
def sandbox() -> Sandbox | None:
    """None here: modules whose commands must behave the same in a sandbox have this in both ways."""
    return None


@pytest.fixture
def make(root: Path, sandbox: Sandbox | None) -> Make:
    """Make a workspace in which what does not end when asked is killed soon."""

    def make_one(**options: object) -> LocalWorkspace:
        chosen = {"grace_seconds": 0.3, "sandbox": sandbox, **options}
        return LocalWorkspace(root, "main", "lead", **chosen)  # type: ignore[arg-type]

    return make_one


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Sandbox:
    """A sandbox that holds; where the machine can have none, the test is skipped and says why."""
    found = find_sandbox(tmp_path / "state")
    if found.level is not Level.BUBBLEWRAP:
        pytest.skip(found.reason)
    return found


@pytest.fixture
def landlock(tmp_path: Path) -> Sandbox:
    """The second choice; where the machine can have none, the test is skipped and says why."""
    found = find_sandbox(tmp_path / "state", programs=[])
    if found.level is not Level.LANDLOCK:
        pytest.skip(found.reason)
    return found


@pytest.fixture
def workspace(make: Make) -> LocalWorkspace:
    return make()
