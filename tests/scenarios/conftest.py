"""A fresh folder to work in, and a home nobody has configured."""

from pathlib import Path

import pytest

from tests.scenarios.playing import Room


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Room.at(tmp_path / "work", home)
