"""Fixtures of the trees."""

from pathlib import Path

import pytest

from tests.workspace.trees.tree_repository import TreeRepository


@pytest.fixture
def repository(tmp_path: Path) -> TreeRepository:
    return TreeRepository(tmp_path / "work", tmp_path / "state")
