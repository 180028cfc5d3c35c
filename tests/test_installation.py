"""How Deskmate was installed, read from files that installers leave, and the version that programs see."""

import json
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import deskmate
from deskmate.queries.installation import Installation

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_the_version_is_that_of_the_package() -> None:
    assert deskmate.__version__ == version("deskmate")
    assert deskmate.__version__ == tomllib.loads(PYPROJECT.read_text())["project"]["version"]


def origin(url: str, **more: object) -> str:
    return json.dumps({"url": url, **more})


@pytest.mark.parametrize(
    ("files", "direct_url", "command"),
    [
        ([], None, "pip install 'deskmate[all]'"),
        (["uv-receipt.toml"], None, "uv tool install 'deskmate[all]'"),
        (["pipx_metadata.json"], None, "pipx install --force 'deskmate[all]'"),
        ([], origin("file:///home/ada/a%20clone", dir_info={}), "pip install '/home/ada/a clone[all]'"),
        (
            ["uv-receipt.toml"],
            origin("file:///tmp/deskmate-0.2.0-py3-none-any.whl", archive_info={}),
            "uv tool install '/tmp/deskmate-0.2.0-py3-none-any.whl[all]'",
        ),
        (
            ["pipx_metadata.json"],
            origin("https://example.org/deskmate.git", vcs_info={"vcs": "git", "commit_id": "1"}),
            "pipx install --force 'deskmate[all] @ git+https://example.org/deskmate.git'",
        ),
        (
            [],
            origin("https://example.org/d.whl", archive_info={}),
            "pip install 'deskmate[all] @ https://example.org/d.whl'",
        ),
        ([], "not JSON", "pip install 'deskmate[all]'"),
    ],
)
def test_the_command_that_installs_everything_is_one_for_the_installer_and_its_source(
    tmp_path: Path, files: list[str], direct_url: str | None, command: str
) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert Installation(tmp_path, direct_url).command_for_all == command
