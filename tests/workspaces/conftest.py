"""A workspace with a secret beside it that nothing may reach."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.workspaces.local import LocalWorkspace

Make = Callable[..., LocalWorkspace]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, and beside it a folder with a secret."""
    for folder in ("ws", "outside"):
        (tmp_path / folder).mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"SECRET")
    return tmp_path / "ws"


@pytest.fixture
def make(root: Path) -> Make:
    """Make a workspace in which what does not end when asked is killed soon."""

    def make_one(**options: object) -> LocalWorkspace:
        return LocalWorkspace(root, "main", "lead", **{"grace_seconds": 0.3, **options})  # type: ignore[arg-type]

    return make_one


@pytest.fixture
def workspace(make: Make) -> LocalWorkspace:
    return make()
