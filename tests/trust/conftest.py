"""A workspace, and the settings of its user."""

from pathlib import Path

import pytest

from deskmate.config import Settings, load


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "w"
    place.mkdir()
    return place


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"HOME": str(tmp_path.resolve() / "home"), "ANTHROPIC_API_KEY": "sk-test"}, {})
