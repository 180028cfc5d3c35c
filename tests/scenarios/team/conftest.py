"""A runner of scenarios for each way in which teammates can be launched."""

from pathlib import Path

import pytest

from tests.scenarios.team.team_runner import TeamRunner

# An agent does the same in a process of its own as in the process of its lead. The story, mail, resuming, founding and
# the end of a run show that in `make test`. The others show it in a soak, because each process costs half a second.
LAUNCHERS = ("inline", pytest.param("process", marks=pytest.mark.soak))


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def runner(launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TeamRunner:
    """Run scenarios in this test's own folder. Commands that the test starts itself have its home, too."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("XDG_CONFIG_HOME", "DESKMATE_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    return TeamRunner(tmp_path, launcher, monkeypatch)
