"""The token is in a file that only its user can read, or nowhere."""

import os
import stat
from pathlib import Path

import pytest

from deskmate.errors import BadSettings
from deskmate.faces.mcp.access_token import new_token, token_in

WORK = Path("/nowhere/work")


def test_a_missing_file_is_created_for_its_user_alone_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = token_in(file, WORK)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token_in(file, WORK) == token
    assert len(token) >= 43
    assert new_token() != token


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    token_in(file, WORK)
    file.chmod(mode)
    with pytest.raises(BadSettings, match="chmod 600"):
        token_in(file, WORK)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"short\n", b"x" * 600, b"with space " * 5, "é".encode() * 40, b"\0" * 40]
)
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(BadSettings):
        token_in(file, WORK)


def test_a_link_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    token_in(tmp_path / "token", WORK)
    (tmp_path / "link").symlink_to(tmp_path / "token")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "folder", "pipe", "nowhere/token"):
        with pytest.raises(BadSettings):
            token_in(tmp_path / name, WORK)


def test_a_file_in_the_workspace_is_refused_because_agents_could_read_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "away").symlink_to(tmp_path / "below")
    for file in (tmp_path / "token", tmp_path / "below/token", tmp_path / "away/token", tmp_path / "below/../token"):
        with pytest.raises(BadSettings):
            token_in(file, tmp_path)
        assert not file.exists()
