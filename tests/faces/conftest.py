"""An environment that nobody has configured, but for a key."""

from pathlib import Path

import pytest

from tests.faces import Env


@pytest.fixture
def env(tmp_path: Path) -> Env:
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": None,
        "XDG_STATE_HOME": None,
        "ANTHROPIC_API_KEY": "sk-test",
    }
