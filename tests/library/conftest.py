from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a team find neither the settings nor the keys of the person who runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DESKMATE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder that a team works in."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder
