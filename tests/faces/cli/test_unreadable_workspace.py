"""Workspaces that are out of order as a whole: may not be read, or hold a file where a folder should be."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces.disk_teams import at, founded
from tests.faces.fake_app import Env, environment

NOBODY = 65534
COMMANDS = [["run", "go"], ["resume"], ["resume", "main"], ["--plain", "--team", "main", "go on"], ["teams"], ["board"]]


@pytest.fixture
def place() -> Iterator[Path]:
    """A workspace with a team that an ordinary user has and may not read; also where root tests."""
    # Not below a folder of the user who tests: the other one must get there.
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        founded(place, "main")
        if os.geteuid() == 0:
            for path in (place, *place.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        (place / ".teams").chmod(0)
        yield place
        (place / ".teams").chmod(0o700)


@pytest.fixture(scope="module")
def ordinary_user() -> list[str]:
    """What to put before a command so that an ordinary user runs it. Root may read everything."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may read everything, and there is no setpriv")
    other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    # An interpreter below the home of root, for example of pyenv, is closed to others.
    probe = subprocess.run([*other, sys.executable, "-c", "import deskmate"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"an ordinary user cannot run {sys.executable}")
    return other


@pytest.mark.parametrize("command", COMMANDS)
def test_teams_that_may_not_be_read_are_told_alike_by_every_command(
    place: Path, ordinary_user: list[str], command: list[str]
) -> None:
    ended = subprocess.run(
        [*ordinary_user, sys.executable, "-m", "deskmate", "-C", str(place), *command],
        env=environment(place, ANTHROPIC_API_KEY="sk-test"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 3
    assert f"deskmate: Cannot use {place}/.teams: Permission denied\n" in ended.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_teams_that_are_a_file_are_told_alike_by_every_command(tmp_path: Path, env: Env, command: list[str]) -> None:
    (tmp_path / ".teams").write_text("x")
    ended = at(tmp_path, *command, env=env)
    assert ended.code == 3
    assert f"deskmate: Cannot use {tmp_path}/.teams: Not a directory\n" in ended.stderr


@pytest.mark.parametrize("others", [[], ["main"]])
def test_a_file_that_bears_the_name_of_a_team_is_told(tmp_path: Path, env: Env, others: list[str]) -> None:
    (tmp_path / ".teams").mkdir(mode=0o700)
    (tmp_path / ".teams/web").write_text("x")
    for name in others:
        founded(tmp_path, name)
    words = f"{tmp_path}/.teams/web is not a folder, but a link or a file"
    for command in (["teams"], ["board", "web"], ["resume", "web"]):
        ended = at(tmp_path, *command, env=env)
        assert (ended.code, words in ended.stderr) == (3, True)
    ended = at(tmp_path, "doctor", env=env)
    assert (ended.code, ended.stdout.count("web: "), f"bad   team         web: {words}" in ended.stdout) == (1, 2, True)


def test_a_team_without_its_board_is_told_what_is_missing(tmp_path: Path, env: Env) -> None:
    founded(tmp_path, "main")
    shutil.rmtree(tmp_path / ".tasks/main")
    for command in (["resume"], ["send", "lead", "hi"]):
        ended = at(tmp_path, *command, env=env)
        assert ended.code == 3
        assert f"deskmate: {tmp_path}/.tasks/main is missing" in ended.stderr
