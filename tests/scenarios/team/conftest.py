"""A stage for each way in which teammates can be launched."""

from pathlib import Path

import pytest

from tests.scenarios.team.stage import Stage

LAUNCHERS = ("inline", "process")


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stage(launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    home, place = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    place.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CONFIG_HOME", "DESKMATE_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    return Stage(place, launcher, monkeypatch)
