"""What most tests of the faces begin with: an environment, a team to look at, a provider to converse with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces.chat_program import ChatProgram, chat_program
from tests.faces.disk_teams import worked
from tests.faces.fake_app import Env


@pytest.fixture
def env(tmp_path: Path) -> Env:
    """An environment that nobody has configured, but for a key."""
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": None,
        "XDG_STATE_HOME": None,
        "ANTHROPIC_API_KEY": "sk-test",
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with a team that has done something in every stream."""
    folder = tmp_path / "work"
    folder.mkdir()
    return worked(folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatProgram]:
    """A place for conversations whose provider all tests of a module share."""
    with chat_program(tmp_path_factory.mktemp("held")) as place:
        yield place
