"""A fresh folder to work in, and a home nobody has configured."""

from pathlib import Path

import pytest

from tests.scenarios.app_harness import AppHarness


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppHarness:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return AppHarness.at(tmp_path / "work", home)
